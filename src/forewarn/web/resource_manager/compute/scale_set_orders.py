"""What a PUT or PATCH of a scale set asks for."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from forewarn.core import commands as c
from forewarn.core.deciding.scale_sets import BATCH_PAUSE_MOST, BATCH_PERCENT, CAPACITY_MOST, NAME_LONGEST
from forewarn.core.region import ScaleSet, fold, replace
from forewarn.core.specs import (
    DEFAULT_POLICY,
    NO_PATTERN,
    Orchestration,
    Policy,
    ScaleInRule,
    ScaleSetSpec,
    UpgradeMode,
    VmSpec,
)
from forewarn.web import arm_ids
from forewarn.web.resource_manager.call import ArmDesk, Call
from forewarn.web.resource_manager.compute import bodies, documents
from forewarn.web.resource_manager.compute.event_settings import says_nothing, settle_policy
from forewarn.web.resource_manager.compute.merging import digest
from forewarn.web.resource_manager.compute.schema import Object
from forewarn.web.resource_manager.errors import ArmError, invalid
from forewarn.web.resource_manager.secrets import without_secrets
from forewarn.wire.times import parse_iso_duration

_PROFILE = "virtualMachineProfile"
_AT = f"properties.{_PROFILE}"
_KNOWN_TO_THE_REGION = frozenset({"scheduledEventsProfile", "priority", "evictionPolicy"})
_FAULT_DOMAINS = "platformFaultDomainCount"
# By orchestration mode and whether it is in zones: "Manage fault domains in Azure Virtual Machine Scale Sets".
_SPREADS = {
    (Orchestration.UNIFORM, False): (1, 2, 3, 4, 5),
    (Orchestration.UNIFORM, True): (1, 5),
    (Orchestration.FLEXIBLE, False): (1, 2, 3),
    (Orchestration.FLEXIBLE, True): (1,),
}
_MODES = tuple(str(mode) for mode in Orchestration)
_UPGRADES = tuple(str(mode) for mode in UpgradeMode)
_RULES = tuple(str(rule) for rule in ScaleInRule)


def order(desk: ArmDesk, call: Call, current: ScaleSet | None) -> list[c.Single]:
    """The commands that make a scale set, or change it, so that it is as the body says."""
    patch = call.method == "PATCH"
    change = bodies.change_in(call, "VirtualMachineScaleSetUpdate" if patch else "VirtualMachineScaleSet", "vmss")
    base = None if current is None else documents.of_scale_set(desk, current)
    bodies.check_preconditions(call, base)
    name = call.names["name"] if current is None else current.name
    bodies.check_name("scale set", name, "vmScaleSetName", NAME_LONGEST)
    if current is not None and current.deleting:
        raise ArmError(409, "OperationNotAllowed", f"Scale set '{name}' is being deleted and cannot be changed.")
    document = bodies.laid_over(base, change, call)
    command = _command(desk, call, name, document, change, current, base)
    if current is not None:
        command = replace(command, vm_spec=_with_rest(command.vm_spec, current, base or {}, document))
    owner = f"scale-set/{fold(name)}"
    kept = documents.keep_model(desk, arm_ids.SCALE_SETS, command.resource_group, name, document, base, owner)
    return [command, kept]


def _command(
    desk: ArmDesk,
    call: Call,
    name: str,
    document: Object,
    change: Object,
    current: ScaleSet | None,
    base: Object | None,
) -> c.PutScaleSet:
    properties = document["properties"]
    orchestration = _orchestration(properties, current)
    capacity = _capacity(document, change, orchestration, current)
    known = None if current is None else current.vm_spec
    profile = bodies.settle(desk, document, properties.get(_PROFILE, {}), _AT, known)
    group = call.names["group"] if current is None else current.resource_group
    size = document.get("sku", {}).get("name") or VmSpec().size
    return c.PutScaleSet(
        name=name,
        resource_group=group,
        vm_spec=profile.spec(group, size, document.get("tags", {})),
        seed=str(uuid4()),
        spec=ScaleSetSpec(
            _upgrade(properties),
            _scale_in(properties),
            _policy(properties),
            NO_PATTERN if current is None else current.spec.binding,
            *_batches(properties),
        ),
        orchestration=orchestration,
        single_placement_group=_single_placement_group(properties, current),
        computer_prefix=properties.get(_PROFILE, {}).get("osProfile", {}).get("computerNamePrefix", ""),
        capacity=capacity,
        fault_domains=_fault_domains(document, orchestration, base),
    )


def _orchestration(properties: Object, current: ScaleSet | None) -> Orchestration:
    mode = bodies.one_of(properties, "orchestrationMode", _MODES, "properties")
    found = Orchestration(mode or Orchestration.UNIFORM)
    if current is not None and found is not current.orchestration:
        raise bodies.unchangeable("orchestrationMode")
    return found


def _capacity(document: Object, change: Object, orchestration: Orchestration, current: ScaleSet | None) -> int | None:
    """How many instances are asked for; None where nothing is said about that."""
    if current is None:
        empty = orchestration is Orchestration.FLEXIBLE and _PROFILE not in document["properties"]
        _check_complete(document, empty=empty)
    capacity: int | None = change.get("sku", {}).get("capacity")
    if capacity and _PROFILE not in document["properties"]:
        raise bodies.required(_PROFILE)
    if capacity is not None and not 0 <= capacity <= CAPACITY_MOST:
        sentence = f"The value '{capacity}' of parameter 'sku.capacity' is not allowed: 0 to {CAPACITY_MOST} is."
        raise invalid("sku.capacity", sentence)
    return capacity


def _check_complete(document: Object, *, empty: bool) -> None:
    """Only a flexible set may be made without a model and a size; VMs would be added to it one by one."""
    sku = document.get("sku")
    if empty and sku is None:
        return
    if not sku:
        raise bodies.required("sku")
    if not sku.get("name"):
        raise bodies.required("sku.name")
    if sku.get("capacity") is None:
        raise bodies.required("sku.capacity")
    if _PROFILE not in document["properties"]:
        raise bodies.required(_PROFILE)


def _upgrade(properties: Object) -> UpgradeMode:
    mode = bodies.one_of(properties.get("upgradePolicy", {}), "mode", _UPGRADES, "properties.upgradePolicy")
    return UpgradeMode(mode or UpgradeMode.MANUAL)


def _batches(properties: Object) -> tuple[int, timedelta]:
    """How large the batches of a rolling upgrade are, and how long the pause between two."""
    policy, default = properties.get("upgradePolicy", {}).get("rollingUpgradePolicy", {}), ScaleSetSpec()
    at = "properties.upgradePolicy.rollingUpgradePolicy"
    (least, most), percent = BATCH_PERCENT, policy.get("maxBatchInstancePercent", default.batch_percent)
    if not least <= percent <= most:
        sentence = f"The value '{percent}' is not allowed: a batch is {least} to {most} percent of the instances."
        raise invalid(f"{at}.maxBatchInstancePercent", sentence)
    text = policy.get("pauseTimeBetweenBatches")
    try:
        pause = default.batch_pause if text is None else parse_iso_duration(text)
    except ValueError:
        pause = timedelta(-1)
    if not timedelta(0) <= pause <= BATCH_PAUSE_MOST:
        sentence = f"The pause between batches is an ISO 8601 duration of at most {BATCH_PAUSE_MOST.days} days."
        raise invalid(f"{at}.pauseTimeBetweenBatches", sentence)
    return percent, pause


def _scale_in(properties: Object) -> ScaleInRule:
    """The first rule counts; the service itself takes one."""
    rules = properties.get("scaleInPolicy", {}).get("rules") or [str(ScaleInRule.DEFAULT)]
    named = [bodies.one_of({"rules": rule}, "rules", _RULES, "properties.scaleInPolicy") for rule in rules]
    return ScaleInRule(str(named[0]))


def _policy(properties: Object) -> Policy:
    if "scheduledEventsPolicy" not in properties:
        return DEFAULT_POLICY
    settled, policy = settle_policy(properties.pop("scheduledEventsPolicy"))
    if not says_nothing(settled):
        properties["scheduledEventsPolicy"] = settled
    return policy


def _fault_domains(document: Object, orchestration: Orchestration, base: Object | None) -> int:
    """How many are asked for: said once, when the set is made; 0 where nothing is said."""
    properties = document["properties"]
    if base is not None:
        if properties[_FAULT_DOMAINS] != base["properties"][_FAULT_DOMAINS]:
            raise bodies.unchangeable(_FAULT_DOMAINS)
        return 0
    if _FAULT_DOMAINS not in properties:
        return 0
    count: int = properties[_FAULT_DOMAINS]
    allowed = _SPREADS[orchestration, bool(document.get("zones"))]
    if count not in allowed:
        listed = ", ".join(map(str, allowed))
        sentence = f"The specified fault domain count {count} is not allowed for this scale set: {listed} is."
        raise invalid(f"properties.{_FAULT_DOMAINS}", sentence)
    return count


def _single_placement_group(properties: Object, current: ScaleSet | None) -> bool:
    """The flag after a change: true may become false, never the other way round, as in Azure."""
    wanted = bool(properties.get("singlePlacementGroup", False))
    if current is not None and wanted and not current.single_placement_group:
        raise bodies.unchangeable("singlePlacementGroup")
    return wanted


def _with_rest(spec: VmSpec, current: ScaleSet, base: Object, document: Object) -> VmSpec:
    """The model with the members that mean nothing to the region: a change of these makes a new version of it, too."""
    before, after = (digest(_unknown(each)) for each in (base, document))
    return replace(spec, rest=current.vm_spec.rest if before == after else after)


def _unknown(document: Object) -> Object:
    """The members of a model that the region does not look at."""
    profile = document["properties"].get(_PROFILE, {})
    rest = {name: value for name, value in profile.items() if name not in _KNOWN_TO_THE_REGION}
    return {"profile": without_secrets(rest)}
