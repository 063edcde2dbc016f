"""What may be changed about a thing, as JSON: what a caller wrote and the region kept, with the region's truth on top.

A thing that no Resource Manager made (``forewarn vm create``) has such a document too, made up on the spot. A change is
laid over this document, and the views are made from it.
"""

from __future__ import annotations

from forewarn.core.commands import KeepResource
from forewarn.core.deciding.fleet import domains_of
from forewarn.core.region import ScaleSet, Scope, Vm, fold
from forewarn.core.specs import Orchestration, ScaleInRule, ScaleSetSpec, ScopeKind, UpgradeMode, VmSpec
from forewarn.web import arm_ids
from forewarn.web.documents.whereabouts import computer_name_of, location_of
from forewarn.web.resource_manager import keeping
from forewarn.web.resource_manager.call import ArmDesk
from forewarn.web.resource_manager.compute import finding, particulars
from forewarn.web.resource_manager.compute.event_settings import Notices, shown_policy, shown_profile
from forewarn.web.resource_manager.compute.merging import merge
from forewarn.web.resource_manager.compute.schema import Object
from forewarn.wire.times import format_iso_duration

_FIRST_ETAG = '"1"'


def kept(desk: ArmDesk, resource_id: str) -> Object | None:
    """What a caller wrote."""
    found = desk.plane.region.resources.get(fold(resource_id))
    return None if found is None else keeping.read(found)


def keep(resource_id: str, kind: str, document: Object, owner: str) -> KeepResource:
    """Keep a document, with id, name and type as lists show them, until its ``owner`` is deleted."""
    name = resource_id.rpartition("/")[2]
    return keeping.keep({**document, "id": resource_id, "name": name, "type": kind}, owner)


def keep_model(
    desk: ArmDesk, kind: str, group: str, name: str, document: Object, base: Object | None, owner: str
) -> KeepResource:
    """Remember what a caller wrote of a VM or a scale set, under the ETag that follows that of ``base``."""
    document["etag"] = next_etag(base or {})
    resource_id = arm_ids.resource_id(arm_ids.group_id(desk.subscription, group), kind, name)
    return keep(resource_id, kind, document, owner)


def next_etag(document: Object) -> str:
    """Each change of a model counts one up."""
    number = str(document.get("etag", "")).strip('"')
    return f'"{int(number) + 1}"' if number.isdecimal() else _FIRST_ETAG


# Virtual machines


def of_vm(desk: ArmDesk, vm: Vm) -> Object:
    region = desk.plane.region
    document = merge(_made_up_vm(desk, vm), kept(desk, arm_ids.vm_id(desk.subscription, vm)) or {})
    properties = _with_spec(document.get("properties", {}), vm.spec)
    properties["hardwareProfile"] = {**properties.get("hardwareProfile", {}), "vmSize": vm.spec.size}
    scale_set, scope = finding.set_of(region, vm), region.scope_of(vm)
    if vm.spec.kind is ScopeKind.VM:
        _put_or_drop(properties, "scheduledEventsPolicy", shown_policy(_policy_in(properties), scope.policy))
    elif vm.spec.kind is ScopeKind.AVAILABILITY_SET:
        properties["availabilitySet"] = {"id": arm_ids.availability_set_id(desk.subscription, scope)}
    elif scale_set is not None:
        properties["virtualMachineScaleSet"] = {"id": arm_ids.scale_set_id(desk.subscription, scale_set)}
    return {**document, "tags": dict(vm.spec.tags), "properties": properties}


def _configuration(spec: VmSpec) -> Object:
    """What tells a machine of Windows from others, beside its disk: with what Azure gives one that says nothing."""
    windows = {"provisionVMAgent": True, "enableAutomaticUpdates": True}
    return {"windowsConfiguration": windows} if spec.os_type == "Windows" else {}


def _made_up_vm(desk: ArmDesk, vm: Vm) -> Object:
    """A document for a VM that no request described. Clients read these parts without checking that they are there."""
    made_up: Object = {
        "location": location_of(vm.spec),
        "properties": {
            "storageProfile": {"osDisk": {"osType": vm.spec.os_type, "createOption": "FromImage"}, "dataDisks": []},
            "osProfile": {"computerName": computer_name_of(desk.plane.region, vm), **_configuration(vm.spec)},
            "networkProfile": {"networkInterfaces": []},
        },
        "etag": _FIRST_ETAG,
    }
    return merge(made_up, particulars.shown(vm.spec.about, vm.number))


def _with_spec(profile: Object, spec: VmSpec) -> Object:
    """The profile of a VM, or of a scale set's instances, with what the region has of it."""
    laid = dict(profile)
    notices = Notices(spec.terminate_notice, spec.os_image_notice)
    _put_or_drop(laid, "scheduledEventsProfile", shown_profile(profile.get("scheduledEventsProfile"), notices))
    if spec.spot:
        laid["priority"] = "Low" if profile.get("priority") == "Low" else "Spot"
        laid["evictionPolicy"] = str(spec.eviction_policy)
    return laid


def _policy_in(properties: Object) -> Object | None:
    policy: Object | None = properties.get("scheduledEventsPolicy")
    return policy


def _put_or_drop(document: Object, name: str, value: Object | None) -> None:
    if value is None:
        document.pop(name, None)
    else:
        document[name] = value


# Scale sets


def of_scale_set(desk: ArmDesk, scale_set: ScaleSet) -> Object:
    written = kept(desk, arm_ids.scale_set_id(desk.subscription, scale_set))
    document = _made_up_scale_set(desk, scale_set) if written is None else written
    properties, spec = dict(document.get("properties", {})), scale_set.spec
    if "virtualMachineProfile" in properties or scale_set.capacity:
        profile = merge(_made_up_profile(scale_set), properties.get("virtualMachineProfile", {}))
        properties["virtualMachineProfile"] = _with_spec(profile, scale_set.vm_spec)
        sku = {"tier": "Standard", **document.get("sku", {})}
        document["sku"] = {**sku, "name": scale_set.vm_spec.size, "capacity": scale_set.capacity}
    if "upgradePolicy" in properties or scale_set.orchestration is Orchestration.UNIFORM:
        properties["upgradePolicy"] = {**properties.get("upgradePolicy", {}), "mode": str(spec.upgrade)}
        if spec.upgrade is UpgradeMode.ROLLING:
            written = properties["upgradePolicy"].get("rollingUpgradePolicy", {})
            properties["upgradePolicy"]["rollingUpgradePolicy"] = {**written, **rolling_policy(spec)}
    if "scaleInPolicy" in properties or spec.scale_in is not ScaleInRule.DEFAULT:
        properties["scaleInPolicy"] = {**properties.get("scaleInPolicy", {}), "rules": [str(spec.scale_in)]}
    _put_or_drop(properties, "scheduledEventsPolicy", shown_policy(_policy_in(properties), spec.policy))
    properties["orchestrationMode"] = str(scale_set.orchestration)
    properties["singlePlacementGroup"] = scale_set.single_placement_group
    properties["platformFaultDomainCount"] = scale_set.fault_domains or desk.plane.rules.fault_domains
    return {**document, "tags": dict(scale_set.vm_spec.tags), "properties": properties}


def rolling_policy(spec: ScaleSetSpec) -> Object:
    """How a rolling upgrade goes on, in the service's words."""
    pause = format_iso_duration(spec.batch_pause) if spec.batch_pause else "PT0S"
    return {"maxBatchInstancePercent": spec.batch_percent, "pauseTimeBetweenBatches": pause}


def _made_up_scale_set(desk: ArmDesk, scale_set: ScaleSet) -> Object:
    profile = _made_up_profile(scale_set)
    return {"location": desk.location, "properties": {"virtualMachineProfile": profile}, "etag": _FIRST_ETAG}


def _made_up_profile(scale_set: ScaleSet) -> Object:
    return {
        "osProfile": {"computerNamePrefix": scale_set.computer_prefix, **_configuration(scale_set.vm_spec)},
        "storageProfile": {"osDisk": {"osType": scale_set.vm_spec.os_type, "createOption": "FromImage"}},
        "networkProfile": {"networkInterfaceConfigurations": []},
    }


def of_instance(desk: ArmDesk, scale_set: ScaleSet, vm: Vm) -> Object:
    """What is an instance's own: its tags and its protection. All else is its model's."""
    document = kept(desk, arm_ids.instance_id(desk.subscription, scale_set, vm)) or {}
    protection = document.get("properties", {}).get("protectionPolicy", {})
    if vm.traits.protected != protects(protection):
        protection = {"protectFromScaleIn": vm.traits.protected}
    own = {"protectionPolicy": protection} if protection else {}
    return {**document, "tags": dict(vm.spec.tags), "properties": own}


def protects(protection: Object) -> bool:
    """Whether the instance is protected from scale-in; protection from all actions on the set includes that."""
    return bool(protection.get("protectFromScaleIn") or protection.get("protectFromScaleSetActions"))


# Availability sets


def of_availability_set(desk: ArmDesk, scope: Scope) -> Object:
    document = kept(desk, arm_ids.availability_set_id(desk.subscription, scope)) or {"location": desk.location}
    domains = domains_of(desk.plane.region, desk.plane.rules, scope.key)
    properties = {
        **document.get("properties", {}),
        "platformUpdateDomainCount": domains.update,
        "platformFaultDomainCount": domains.fault,
    }
    _put_or_drop(properties, "scheduledEventsPolicy", shown_policy(_policy_in(properties), scope.policy))
    return {"tags": {}, "sku": {"name": "Aligned"}, **document, "properties": properties}
