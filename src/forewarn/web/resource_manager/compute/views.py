"""Resources as their readers see them: the document that may be changed, and what the service alone says of it."""

from __future__ import annotations

from forewarn.core.deciding.rolling import behind_of
from forewarn.core.guids import derive_guid
from forewarn.core.region import Rolling, ScaleSet, Scope, Vm
from forewarn.core.specs import Orchestration
from forewarn.web import arm_ids
from forewarn.web.resource_manager.call import EXPAND, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.compute import documents, particulars, states
from forewarn.web.resource_manager.compute.schema import Object, without_newer
from forewarn.web.resource_manager.lro import iso

_USER_DATA = "userData"
EXPANDED = ("instanceView", _USER_DATA, "resiliencyView")  # of VMs and scale sets; of resiliency nothing is known


def wants(call: Call, part: str) -> bool:
    """Whether the caller asked to see more: ``$expand=instanceView``."""
    asked = f"{call.query.get(EXPAND, '')},{call.query.get('$select', '')}".lower()
    return part.lower() in asked


def reply(status: int, document: Object, headers: dict[str, str] | None = None) -> ArmReply:
    """A resource, with its ETag where it has one."""
    tagged = {"ETag": document["etag"]} if "etag" in document else {}
    return ArmReply(status, document, {**tagged, **(headers or {})})


def _whole(document: Object, resource_id: str, kind: str, properties: Object) -> Object:
    """The members in the order of the service's answers."""
    head = {"name": resource_id.rpartition("/")[2], "id": resource_id, "type": kind}
    rest = {name: value for name, value in document.items() if name not in (*head, "properties")}
    return {**head, **rest, "properties": properties}


def vm(desk: ArmDesk, call: Call, shown: Vm, *, state: str = "", instance_view: bool = False) -> Object:
    """``state`` is what the operation under way says, before anything else."""
    region, document = desk.plane.region, documents.of_vm(desk, shown)
    properties = {
        **particulars.with_exact_version(document["properties"]),
        "vmId": shown.vm_id,
        "provisioningState": state or states.provisioning_state(region, shown),
        "timeCreated": iso(shown.created_at),
    }
    if not wants(call, _USER_DATA):
        properties.pop(_USER_DATA, None)
    if instance_view:
        properties["instanceView"] = states.vm_view(region, shown)
    found = _whole(document, arm_ids.vm_id(desk.subscription, shown), arm_ids.VMS, properties)
    return without_newer(found, "VirtualMachine", call.api_version)


def scale_set(desk: ArmDesk, call: Call, shown: ScaleSet, *, state: str = "") -> Object:
    document = documents.of_scale_set(desk, shown)
    properties = {
        **document["properties"],
        "provisioningState": state or states.scale_set_state(shown),
        "uniqueId": derive_guid(shown.seed, shown.key).lower(),
        "timeCreated": iso(shown.created_at),
    }
    if "virtualMachineProfile" in properties:
        profile = {**properties["virtualMachineProfile"], "timeCreated": iso(shown.changed_at or shown.created_at)}
        if not wants(call, _USER_DATA):
            profile.pop(_USER_DATA, None)
        properties["virtualMachineProfile"] = profile
    found = _whole(document, arm_ids.scale_set_id(desk.subscription, shown), arm_ids.SCALE_SETS, properties)
    return without_newer(found, "VirtualMachineScaleSet", call.api_version)


def rolling_upgrade(desk: ArmDesk, shown: ScaleSet, latest: Rolling) -> Object:
    """The latest rolling upgrade of a set, and how far it is. An instance is upgraded in an instant and never fails."""
    code = "Cancelled" if latest.canceled else "RollingForward" if latest.ended_at is None else "Completed"
    last = latest.ended_at if latest.canceled and latest.ended_at else latest.started_at
    pending = len(behind_of(desk.plane.region, shown)) if latest.ended_at is None else 0
    place = arm_ids.part_id(arm_ids.scale_set_id(desk.subscription, shown), "rollingUpgrades", "latest")
    return {
        "id": place,
        "name": "latest",
        "type": f"{arm_ids.SCALE_SETS}/rollingUpgrades",
        "location": documents.of_scale_set(desk, shown)["location"],
        "properties": {
            "policy": documents.rolling_policy(shown.spec),
            "runningStatus": {
                "code": code,
                "startTime": iso(latest.started_at),
                "lastAction": "Cancel" if latest.canceled else "Start",
                "lastActionTime": iso(last),
            },
            "progress": {
                "successfulInstanceCount": latest.upgraded,
                "failedInstanceCount": 0,
                "inProgressInstanceCount": 0,
                "pendingInstanceCount": pending,
            },
        },
    }


def availability_set(desk: ArmDesk, call: Call, shown: Scope) -> Object:
    document = documents.of_availability_set(desk, shown)
    members = desk.plane.region.members_of(shown)
    properties = {
        **document["properties"],
        "virtualMachines": [{"id": arm_ids.vm_id(desk.subscription, member)} for member in members],
    }
    found = _whole(
        document, arm_ids.availability_set_id(desk.subscription, shown), arm_ids.AVAILABILITY_SETS, properties
    )
    return without_newer(found, "AvailabilitySet", call.api_version)


# Instances of scale sets


class Instances:
    """Views of a scale set's instances; its model is read once, not for each of them."""

    def __init__(self, desk: ArmDesk, call: Call, scale_set: ScaleSet) -> None:
        self._desk = desk
        self._call = call
        self._set = scale_set
        self._model = documents.of_scale_set(desk, scale_set)
        self._profile: Object = self._model["properties"].get("virtualMachineProfile", {})

    def entry(self, vm: Vm) -> Object:
        """An instance in a list. Of a flexible set only its id and names: the rest is told of the VM itself."""
        if self._set.orchestration is Orchestration.UNIFORM:
            return self.view(vm, instance_view=wants(self._call, "instanceView"))
        return {**self._head(vm), "zones": [None]}

    def view(self, vm: Vm, *, state: str = "", instance_view: bool = False) -> Object:
        own = documents.of_instance(self._desk, self._set, vm)
        found = {**self._head(vm), **{name: own[name] for name in ("tags",) if name in own}}
        if zone := vm.spec.about.zone(vm.number):
            found["zones"] = [zone]
        found["sku"] = {"name": vm.spec.size, "tier": "Standard"}
        found["etag"] = own.get("etag", '"1"')
        found["properties"] = {**self._properties(vm, state), **own["properties"]}
        if instance_view:
            found["properties"]["instanceView"] = states.vm_view(self._desk.plane.region, vm)
        return found

    def _head(self, vm: Vm) -> Object:
        uniform = self._set.orchestration is Orchestration.UNIFORM
        return {
            "name": vm.name,
            "id": arm_ids.instance_id(self._desk.subscription, self._set, vm)
            if uniform
            else arm_ids.vm_id(self._desk.subscription, vm),
            "type": arm_ids.INSTANCES if uniform else arm_ids.VMS,
            "location": self._model["location"],
            "instanceId": arm_ids.instance_name(self._set, vm),
        }

    def _properties(self, vm: Vm, state: str) -> Object:
        """What the latest model says is shown only for an instance that has it."""
        latest = vm.traits.model == self._set.model
        properties: Object = {
            "latestModelApplied": latest,
            "modelDefinitionApplied": "VirtualMachineScaleSet",
            "provisioningState": state or states.provisioning_state(self._desk.plane.region, vm),
            "hardwareProfile": {"vmSize": vm.spec.size},
            "vmId": vm.vm_id,
            "osProfile": self._os_profile(vm),
            "storageProfile": self._storage(vm, latest),
            "networkProfile": {"networkInterfaces": self._interfaces(vm)},
            "networkProfileConfiguration": self._profile.get("networkProfile", {}) if latest else {},
            "timeCreated": iso(vm.created_at),
        }
        if vm.spec.spot:
            properties["priority"] = "Spot"
            properties["evictionPolicy"] = str(vm.spec.eviction_policy)
        return properties

    def _os_profile(self, vm: Vm) -> Object:
        shared = dict(self._profile.get("osProfile", {}))
        shared.pop("computerNamePrefix", None)
        own = particulars.shown(vm.spec.about, vm.number)["properties"]["osProfile"]
        return {"computerName": self._set.computer_name(vm.number), **shared, **own}

    def _storage(self, vm: Vm, latest: bool) -> Object:
        """The image is the one that the instance has; the rest is shown while that is the latest model's too."""
        own: Object = particulars.shown(vm.spec.about, vm.number)["properties"]["storageProfile"]
        whole: Object = {**self._profile.get("storageProfile", {}), **own} if latest else own
        shown: Object = particulars.with_exact_version({"storageProfile": whole})["storageProfile"]
        return shown

    def _interfaces(self, vm: Vm) -> list[Object]:
        configured = self._profile.get("networkProfile", {}).get("networkInterfaceConfigurations", [])
        place = arm_ids.instance_id(self._desk.subscription, self._set, vm)
        return [{"id": arm_ids.part_id(place, "networkInterfaces", each.get("name", ""))} for each in configured]
