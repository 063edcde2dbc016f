"""Commands about scale sets: the model and its versions, capacity, and which instances go."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import timedelta
from itertools import count

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.deciding import rolling
from forewarn.core.deciding.bindings import bind_instance, bind_instances, check_pattern
from forewarn.core.deciding.fleet import check_group, check_name, check_names, check_spec, create_one, delete_vm
from forewarn.core.draft import Draft
from forewarn.core.guids import derive_guid
from forewarn.core.looking.lookup import find_vms, scale_set_named, scope_named
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import ScaleSet, Vm, fold, replace, scope_key
from forewarn.core.specs import Domains, Orchestration, ScaleInRule, ScaleSetSpec, ScopeKind, UpgradeMode, VmSpec

CAPACITY_MOST = 1_000  # Azure's limit for a scale set
BATCH_PERCENT = (5, 100)  # as the Compute API has it
BATCH_PAUSE_MOST = timedelta(days=7)  # ours: no limit is documented
NAME_LONGEST = 64  # as the Compute API has it for names of VMs, too: every instance's name is one
FAULT_DOMAINS_MOST = {Orchestration.UNIFORM: 5, Orchestration.FLEXIBLE: 3}  # as the Compute API has it outside zones


def put(draft: Draft, command: c.PutScaleSet) -> None:
    """Create or change, then bring the set to its capacity."""
    _check(command, draft.rules.placement_group_size)
    key = fold(command.name)
    if key not in draft.region.scale_sets:
        draft.record(
            f.ScaleSetCreated(
                draft.now,
                command.name,
                command.resource_group,
                command.orchestration,
                command.single_placement_group,
                command.computer_prefix or command.name.lower()[:9],
                command.seed,
                command.fault_domains,
            )
        )
    else:  # what its instances are is settled with its making, whatever a later request leaves out
        made_of = draft.region.scale_sets[key].vm_spec
        kept = replace(command.vm_spec, engine=made_of.engine, blueprint=made_of.blueprint)
        command = replace(command, vm_spec=kept)
    scale_set = scale_set_named(draft.region, key)
    _check_kept(draft, scale_set, command)
    _change(draft, scale_set, command.spec, command.single_placement_group)
    _change_model(draft, key, command.vm_spec, changed=scale_set.spec.upgrade is not command.spec.upgrade)
    if command.capacity is not None:
        _resize(draft, draft.region.scale_sets[key], command.capacity, command.seed)


def put_as_it_is(scale_set: ScaleSet, seed: str) -> c.PutScaleSet:
    """A command that changes nothing yet: the base for a partial change."""
    return c.PutScaleSet(
        name=scale_set.name,
        resource_group=scale_set.resource_group,
        vm_spec=scale_set.vm_spec,
        seed=seed,
        spec=scale_set.spec,
        orchestration=scale_set.orchestration,
        single_placement_group=scale_set.single_placement_group,
    )


def delete(draft: Draft, command: c.DeleteScaleSet) -> None:
    """Every instance goes, with a Terminate event where it has a notice; the set goes with the last one."""
    scale_set = scale_set_named(draft.region, command.name)
    for vm in _instances(draft, scale_set):
        delete_vm(draft, vm, command.seed)
    if not scale_set.deleting:
        draft.record(f.ScaleSetDeletionAsked(draft.now, scale_set.key))


def delete_instances(draft: Draft, command: c.DeleteInstances) -> None:
    """Protected instances too, where they are named: protection is from scale-in only."""
    for vm in _chosen(draft, scale_set_named(draft.region, command.scale_set), command.vms):
        delete_vm(draft, vm, command.seed)


def upgrade(draft: Draft, command: c.UpgradeInstances) -> None:
    """Instances take over the latest model."""
    scale_set = scale_set_named(draft.region, command.scale_set)
    vms = _chosen(draft, scale_set, command.vms) if command.vms else _instances(draft, scale_set)
    for vm in vms:
        rolling.upgrade_one(draft, scale_set, vm)


def protect(draft: Draft, command: c.ProtectInstance) -> None:
    (vm,) = find_vms(draft.region, (command.vm,))
    if not vm.scale_set:
        raise Refused(Hint.CONFLICT, f"VM '{vm.name}' is not an instance of a scale set.")
    if vm.traits.protected is not command.protected:
        draft.record(f.InstanceProtected(draft.now, vm.key, command.protected))


def set_policy(draft: Draft, command: c.SetPolicy) -> None:
    """Asked of one of its placement groups, a policy is still the whole set's."""
    scope_named(draft.region, fold(command.scope))  # or it is refused
    scope = draft.region.scopes[fold(command.scope)]
    scale_set = scale_set_named(draft.region, scope.name.partition("~")[0])
    _change(draft, scale_set, replace(scale_set.spec, policy=command.policy), scale_set.single_placement_group)


def _check(command: c.PutScaleSet, group_size: int) -> None:
    check_name("scale set", command.name)
    if len(command.name) > NAME_LONGEST:
        raise Refused(Hint.INVALID, f"The name of a scale set has at most {NAME_LONGEST} characters.")
    check_pattern(command.spec.binding)
    check_spec(replace(command.vm_spec, kind=ScopeKind.PLACEMENT_GROUP, set_name=command.name))
    capacity = command.capacity or 0
    if not 0 <= capacity <= CAPACITY_MOST:
        raise Refused(Hint.INVALID, f"The capacity must be between 0 and {CAPACITY_MOST}.")
    _check_batches(command.spec)
    most = FAULT_DOMAINS_MOST[command.orchestration]
    if not 0 <= command.fault_domains <= most:
        raise Refused(Hint.INVALID, f"A scale set of this orchestration mode has 1 to {most} fault domains.")
    if command.single_placement_group and capacity > group_size:
        raise Refused(Hint.INVALID, f"A single placement group holds at most {group_size} instances.")


def _check_batches(spec: ScaleSetSpec) -> None:
    least, most = BATCH_PERCENT
    if not least <= spec.batch_percent <= most:
        raise Refused(Hint.INVALID, f"A batch of a rolling upgrade is {least} to {most} percent of the instances.")
    if not timedelta(0) <= spec.batch_pause <= BATCH_PAUSE_MOST:
        raise Refused(Hint.INVALID, f"The pause between batches is at most {BATCH_PAUSE_MOST.days} days.")


def _check_kept(draft: Draft, scale_set: ScaleSet, command: c.PutScaleSet) -> None:
    """Refuse a change of what is fixed about a scale set: its group, orchestration and domains."""
    name = scale_set.name
    check_group("Scale set", name, scale_set.resource_group, command.resource_group)
    if scale_set.deleting:
        raise Refused(Hint.CONFLICT, f"Scale set '{name}' is being deleted.")
    if scale_set.orchestration is not command.orchestration:
        raise Refused(Hint.CONFLICT, f"The orchestration mode of scale set '{name}' cannot be changed.")
    actual = scale_set.fault_domains or draft.rules.fault_domains
    if command.fault_domains not in (0, actual):
        raise Refused(Hint.CONFLICT, f"Scale set '{name}' has {actual} fault domains, which cannot be changed.")
    if command.single_placement_group and not scale_set.single_placement_group:
        raise Refused(Hint.CONFLICT, f"Scale set '{name}' cannot be put back into a single placement group.")


def _change(draft: Draft, scale_set: ScaleSet, spec: ScaleSetSpec, single_placement_group: bool) -> None:
    if (scale_set.spec, scale_set.single_placement_group) == (spec, single_placement_group):
        return
    draft.record(f.ScaleSetChanged(draft.now, scale_set.key, spec, single_placement_group))
    if scale_set.spec.policy != spec.policy:
        _spread_policy(draft, draft.region.scale_sets[scale_set.key])
    if scale_set.spec.binding != spec.binding:
        bind_instances(draft, spec.binding, _instances(draft, scale_set))


def _change_model(draft: Draft, key: str, vm_spec: VmSpec, *, changed: bool) -> None:
    """``changed``: how instances take over a new model is another now, which brings stragglers up to date."""
    scale_set = draft.region.scale_sets[key]
    vm_spec = replace(vm_spec, kind=ScopeKind.PLACEMENT_GROUP, set_name="", resource_group=scale_set.resource_group)
    if not scale_set.model or scale_set.vm_spec != vm_spec:
        draft.record(f.ScaleSetModelChanged(draft.now, key, scale_set.model + 1, vm_spec))
        changed = True
    scale_set = draft.region.scale_sets[key]
    if scale_set.spec.upgrade is UpgradeMode.AUTOMATIC:
        for vm in _instances(draft, scale_set):
            rolling.upgrade_one(draft, scale_set, vm)
    elif scale_set.spec.upgrade is UpgradeMode.ROLLING and changed and rolling.behind_of(draft.region, scale_set):
        rolling.start(draft, scale_set)


def _spread_policy(draft: Draft, scale_set: ScaleSet) -> None:
    """All members of a set share its policy."""
    number = 0
    while (scope := scope_key(ScopeKind.PLACEMENT_GROUP, scale_set.scope_name(number))) in draft.region.scopes:
        draft.record(f.PolicySet(draft.now, scope, scale_set.spec.policy))
        number += 1


# Capacity


def _resize(draft: Draft, scale_set: ScaleSet, capacity: int, seed: str) -> None:
    staying = [vm for vm in _instances(draft, scale_set) if not draft.region.leaving(vm)]
    if len(staying) < capacity:
        _grow(draft, scale_set, capacity - len(staying), seed)
    for vm in _victims(scale_set, staying, len(staying) - capacity):
        delete_vm(draft, vm, seed)


def _grow(draft: Draft, scale_set: ScaleSet, how_many: int, seed: str) -> None:
    numbers = range(scale_set.next_id, scale_set.next_id + how_many)
    for number, spec in zip(numbers, _places(draft, scale_set), strict=False):
        name = _instance_name(draft, scale_set, number, seed)
        check_names(draft, (name,))
        create_one(draft, name, spec, seed, number, scale_set.model)
        bind_instance(draft, scale_set.spec.binding, draft.region.vms[fold(name)])


def _instance_name(draft: Draft, scale_set: ScaleSet, number: int, seed: str) -> str:
    """An id of its own, or eight digits that no VM's name has yet."""
    if scale_set.orchestration is Orchestration.UNIFORM:
        return f"{scale_set.name}_{number}"
    digits = (derive_guid(seed, scale_set.key, str(number), str(attempt))[:8].lower() for attempt in count())
    names = (f"{scale_set.name}_{each}" for each in digits)
    return next(name for name in names if fold(name) not in draft.region.vms)


def _places(draft: Draft, scale_set: ScaleSet) -> Iterator[VmSpec]:
    """What to make the next instances from, place by place: the first groups with room, then new ones."""
    size = draft.rules.placement_group_size
    for number in count():
        name = scale_set.scope_name(number)
        key = scope_key(ScopeKind.PLACEMENT_GROUP, name)
        if key not in draft.region.scopes:
            _add_group(draft, scale_set, name, key)
        spec = replace(scale_set.vm_spec, set_name=name)
        while scale_set.single_placement_group or len(draft.region.scopes[key].members) < size:
            yield spec


def _add_group(draft: Draft, scale_set: ScaleSet, name: str, key: str) -> None:
    domains = Domains(fault=scale_set.fault_domains)
    draft.record(f.ScopeCreated(draft.now, ScopeKind.PLACEMENT_GROUP, name, scale_set.resource_group, domains))
    if draft.region.scopes[key].policy != scale_set.spec.policy:
        draft.record(f.PolicySet(draft.now, key, scale_set.spec.policy))


def _victims(scale_set: ScaleSet, staying: list[Vm], how_many: int) -> list[Vm]:
    """Who goes, of the oldest to the newest: never a protected one."""
    if how_many <= 0:
        return []
    candidates = [vm for vm in staying if not vm.traits.protected]
    if len(candidates) < how_many:
        raise Refused(
            Hint.CONFLICT,
            f"Scale set '{scale_set.name}' cannot shrink to {len(staying) - how_many}: "
            f"{len(staying) - len(candidates)} of its instances are protected from scale-in.",
        )
    if scale_set.spec.scale_in is ScaleInRule.OLDEST_VM:
        return candidates[:how_many]
    if scale_set.spec.scale_in is ScaleInRule.NEWEST_VM:
        return candidates[: -how_many - 1 : -1]
    return _from_the_fullest(staying, candidates, how_many)


def _from_the_fullest(staying: list[Vm], candidates: list[Vm], how_many: int) -> list[Vm]:
    """From the fullest fault domain, and of equally full ones the newest instance."""
    filled = Counter(vm.fault_domain for vm in staying)
    left: dict[int, list[Vm]] = defaultdict(list)
    for vm in candidates:
        left[vm.fault_domain].append(vm)
    going: list[Vm] = []
    while len(going) < how_many:
        domain = max((each for each in left if left[each]), key=lambda each: (filled[each], left[each][-1].number))
        going.append(left[domain].pop())
        filled[domain] -= 1
    return going


# Instances


def _instances(draft: Draft, scale_set: ScaleSet) -> list[Vm]:
    vms = draft.region.vms
    return sorted((vms[key] for key in scale_set.instances), key=lambda vm: vm.number)


def _chosen(draft: Draft, scale_set: ScaleSet, names: tuple[str, ...]) -> list[Vm]:
    vms = find_vms(draft.region, names)
    for vm in vms:
        if vm.key not in scale_set.instances:
            raise Refused(Hint.NOT_FOUND, f"Scale set '{scale_set.name}' has no instance '{vm.name}'.")
    return vms
