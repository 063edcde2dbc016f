"""How facts about scopes as such, scale sets and operations are folded. ``evolve`` is the way in."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from forewarn.core import facts as f
from forewarn.core import keys
from forewarn.core.causes import Cause
from forewarn.core.maps import Map
from forewarn.core.phases import Phase
from forewarn.core.region import (
    Event,
    Operation,
    Region,
    Resource,
    Rolling,
    ScaleSet,
    Scope,
    Vm,
    fold,
    replace,
    scope_key,
)
from forewarn.core.specs import ScopeKind, with_traits

OPERATIONS_REMEMBERED = 10_000  # ours: bounds memory; az asks for seconds or minutes after it began one

ScaleSetFact: TypeAlias = (
    f.ScaleSetCreated
    | f.ScaleSetChanged
    | f.ScaleSetModelChanged
    | f.ScaleSetDeletionAsked
    | f.ScaleSetDeleted
    | f.RollingUpgradeStarted
    | f.RollingUpgradeBatched
    | f.RollingUpgradeEnded
    | f.InstanceUpgraded
    | f.InstanceProtected
)


def scope_made(region: Region, key: str, kind: ScopeKind, name: str) -> tuple[Region, Scope]:
    """The scope, or a new one that counts on from where an earlier one of its name ended; not filed yet."""
    scope = region.scopes.get(key)
    if scope is not None:
        return region, scope
    incarnation = region.retired.last_of(key)
    if incarnation:
        region = replace(region, retired=region.retired.without(key))
    return region, Scope(key=key, kind=kind, name=name, incarnation=incarnation)


def put_scope(region: Region, scope: Scope) -> Region:
    return replace(region, scopes=region.scopes.set(scope.key, scope))


def scope_left(region: Region, key: str) -> Region:
    """A scope goes. Its readers may ask again under the same name, so its document numbers are not used twice."""
    incarnation = region.scopes[key].incarnation
    retired = region.retired.having(key, incarnation) if incarnation else region.retired
    return replace(region, scopes=region.scopes.delete(key), retired=retired)


def fold_scale_set(region: Region, fact: ScaleSetFact) -> Region:
    """One fact about a scale set or an instance of one."""
    match fact:
        case f.ScaleSetCreated():
            return _put(
                region,
                ScaleSet(
                    name=fact.name,
                    resource_group=fact.resource_group,
                    orchestration=fact.orchestration,
                    single_placement_group=fact.single_placement_group,
                    computer_prefix=fact.computer_prefix,
                    seed=fact.seed,
                    created_at=fact.at,
                    fault_domains=fact.fault_domains,
                ),
            )
        case f.ScaleSetChanged(scale_set=key, spec=spec, single_placement_group=single):
            return _put(region, replace(region.scale_sets[key], spec=spec, single_placement_group=single))
        case f.ScaleSetModelChanged(scale_set=key, model=model, vm_spec=vm_spec):
            return _put(region, replace(region.scale_sets[key], model=model, vm_spec=vm_spec, changed_at=fact.at))
        case f.ScaleSetDeletionAsked(scale_set=key):
            return _put(region, replace(region.scale_sets[key], deleting=True))
        case f.ScaleSetDeleted(scale_set=key):
            return _delete(region, region.scale_sets[key])
        case f.RollingUpgradeStarted(scale_set=key):
            return _roll(region, region.scale_sets[key], Rolling(started_at=fact.at, next_at=fact.at))
        case f.RollingUpgradeBatched(scale_set=key, upgraded=upgraded, next_at=next_at):
            rolling = _rolling(region.scale_sets[key])
            moved = replace(rolling, upgraded=rolling.upgraded + upgraded, next_at=next_at)
            return _roll(region, region.scale_sets[key], moved)
        case f.RollingUpgradeEnded(scale_set=key, upgraded=upgraded, canceled=canceled):
            rolling = _rolling(region.scale_sets[key])
            total = rolling.upgraded + upgraded
            ended = replace(rolling, upgraded=total, next_at=None, ended_at=fact.at, canceled=canceled)
            return _put(region, replace(region.scale_sets[key], rolling=ended))
        case f.InstanceUpgraded(vm=key, model=model, spec=spec):
            vm = with_traits(replace(region.vms[key], spec=spec), model=model)
            return replace(region, vms=region.vms.set(key, vm))
        case f.InstanceProtected(vm=key, protected=protected):
            vm = with_traits(region.vms[key], protected=protected)
            return replace(region, vms=region.vms.set(key, vm))
        case _:
            assert_never(fact)


def _rolling(scale_set: ScaleSet) -> Rolling:
    assert scale_set.rolling is not None, f"scale set {scale_set.key} has no rolling upgrade"
    return scale_set.rolling


def _roll(region: Region, scale_set: ScaleSet, rolling: Rolling) -> Region:
    """A rolling upgrade that has a next batch is on the agenda."""
    assert rolling.next_at is not None
    agenda = region.agenda.add(rolling.next_at, keys.of_rolling_upgrade(scale_set.key))
    return replace(_put(region, replace(scale_set, rolling=rolling)), agenda=agenda)


def _put(region: Region, scale_set: ScaleSet) -> Region:
    return replace(region, scale_sets=region.scale_sets.set(scale_set.key, scale_set))


def _delete(region: Region, scale_set: ScaleSet) -> Region:
    """The set goes, and its placement groups with it."""
    number = 0
    while (key := scope_key(ScopeKind.PLACEMENT_GROUP, scale_set.scope_name(number))) in region.scopes:
        region = scope_left(region, key)
        number += 1
    region = replace(region, scale_sets=region.scale_sets.delete(scale_set.key))
    return owner_left(region, f"scale-set/{scale_set.key}")


def instance_joined(region: Region, vm: Vm) -> Region:
    """A new VM is counted by its scale set, if it has one. Instance ids are not used twice."""
    scale_set = _set_of(region, vm)
    if scale_set is None:
        return region
    next_id = max(scale_set.next_id, vm.number + 1)
    return _put(region, replace(scale_set, instances=scale_set.instances.set(vm.key, None), next_id=next_id))


def instance_left(region: Region, vm: Vm) -> Region:
    """A deleted VM leaves its scale set."""
    scale_set = _set_of(region, vm)
    if scale_set is None:
        return region
    leaving = scale_set.leaving - region.leaving(vm)
    return _put(region, replace(scale_set, instances=scale_set.instances.delete(vm.key), leaving=leaving))


def deletion_added(region: Region, event: Event) -> Region:
    """Instances that are to be deleted do not count for the capacity of their set any more."""
    for scale_set in _sets_losing(region, event):
        region = _put(region, replace(scale_set, leaving=scale_set.leaving + 1))
    return region


def _deletion_ended(region: Region, event: Event) -> Region:
    """Instances that are still there were not deleted after all, and so neither is their set."""
    for scale_set in _sets_losing(region, event):
        region = _put(region, replace(scale_set, leaving=scale_set.leaving - 1, deleting=False))
    return region


def _sets_losing(region: Region, event: Event) -> list[ScaleSet]:
    """A deletion has one VM at most."""
    vms = [region.vms[key] for key in event.vms] if event.cause is Cause.DELETION else []
    return [scale_set for vm in vms if (scale_set := _set_of(region, vm)) is not None]


def _set_of(region: Region, vm: Vm) -> ScaleSet | None:
    return region.scale_sets.get(fold(vm.scale_set)) if vm.scale_set else None


def fold_resource(region: Region, fact: f.ResourceKept | f.ResourceForgotten) -> Region:
    """Remember or forget what a Resource Manager was told."""
    key = fold(fact.id)
    known = region.resources.get(key)
    owned = region.owned.delete(known.owner) if known is not None and known.owner in region.owned else region.owned
    if isinstance(fact, f.ResourceForgotten):
        return replace(region, resources=region.resources.delete(key), owned=owned)
    resources = region.resources.set(key, Resource(fact.id, fact.body, fact.owner))
    if fact.owner:
        replaced = owned.get(fact.owner)
        resources = resources if replaced is None else resources.delete(replaced)
        owned = owned.set(fact.owner, key)
    return replace(region, resources=resources, owned=owned)


def owner_left(region: Region, owner: str) -> Region:
    """Forget the resource that was kept for an owner which is gone."""
    key = region.owned.get(owner)
    if key is None:
        return region
    return replace(region, resources=region.resources.delete(key), owned=region.owned.delete(owner))


def fold_operation(region: Region, fact: f.OperationStarted | f.OperationEnded) -> Region:
    """An operation begins to wait, or has waited for all its events."""
    if isinstance(fact, f.OperationStarted):
        waiting = [each for each in fact.events if each in region.events or each in region.errands]
        operation = Operation(fact.operation_id, fact.kind, fact.at, Map(dict.fromkeys(waiting)))
        awaited = region.awaited
        for event_id in waiting:
            awaited = awaited.set(event_id, awaited.get(event_id, Map()).set(operation.id, None))
        return replace(region, operations=region.operations.set(operation.id, operation), awaited=awaited)
    number = region.operations_ended_total
    operation = replace(region.operations[fact.operation_id], ended_at=fact.at, number=number)
    return _remember(replace(region, operations=region.operations.set(operation.id, operation)), operation.id, number)


def _remember(region: Region, operation_id: str, number: int) -> Region:
    """Keep the last ends only: a client asks soon or never."""
    ended, operations = region.operations_ended.set(number, operation_id), region.operations
    forgotten = ended.get(number - OPERATIONS_REMEMBERED)
    if forgotten is not None:
        ended, operations = ended.delete(number - OPERATIONS_REMEMBERED), operations.delete(forgotten)
    return replace(region, operations=operations, operations_ended=ended, operations_ended_total=number + 1)


def event_ended(region: Region, event: Event) -> Region:
    """Operations wait for the event no longer; one whose event was canceled has failed."""
    error = f"Event {event.id} was canceled." if _failed(event) else ""
    return waited_for(_deletion_ended(region, event), event.id, error)


def waited_for(region: Region, awaited: str, error: str) -> Region:
    """An event or an errand is over; operations wait for it no longer, and have failed where there is an error."""
    waiters = region.awaited.get(awaited)
    if waiters is None:
        return region
    operations = region.operations
    for operation_id in waiters:
        operation = operations[operation_id]
        waiting = operation.waiting.delete(awaited)
        operations = operations.set(operation_id, replace(operation, waiting=waiting, error=error or operation.error))
    return replace(region, operations=operations, awaited=region.awaited.delete(awaited))


def _failed(event: Event) -> bool:
    """A deletion whose VM went in another way meanwhile has got what it wanted."""
    return event.phase is Phase.CANCELED and (event.cause is not Cause.DELETION or bool(event.vms))
