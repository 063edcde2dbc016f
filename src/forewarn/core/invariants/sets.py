"""What holds of scale sets, operations and remembered resources. ``invariants`` is the way in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from forewarn.core.causes import Cause
from forewarn.core.folding.sets import OPERATIONS_REMEMBERED
from forewarn.core.maps import Map
from forewarn.core.region import Operation, Region, ScaleSet, Scope, Vm, fold
from forewarn.core.rules import Rules
from forewarn.core.specs import Orchestration, ScopeKind

_GROUP_MOST = Rules().placement_group_size

# Scale sets


def of_domains(region: Region) -> Iterator[str]:
    """A set's own numbers of domains bound the domains of its VMs, and a placement group has its scale set's."""
    for scope in region.scopes.values():
        update, fault = scope.traits.domains.update, scope.traits.domains.fault
        for key in scope.members if update or fault else ():
            vm = region.vms.get(key)
            if vm is not None and ((update and vm.update_domain >= update) or (fault and vm.fault_domain >= fault)):
                yield f"VM {key} is in domains {vm.update_domain}/{vm.fault_domain} of {update}/{fault}"
        scale_set = region.scale_sets.get(fold(scope.name.partition("~")[0]))
        if scope.kind is ScopeKind.PLACEMENT_GROUP and scale_set is not None and fault != scale_set.fault_domains:
            yield f"scope {scope.key} has {fault} fault domains, its scale set {scale_set.fault_domains}"


def of_scale_sets(region: Region) -> Iterator[str]:
    instances: dict[str, list[Vm]] = defaultdict(list)
    for vm in region.vms.values():
        if vm.scale_set:
            instances[fold(vm.scale_set)].append(vm)
        elif vm.traits.model or vm.traits.protected:
            yield f"VM {vm.key} is of model {vm.traits.model} (protected: {vm.traits.protected}), and in no scale set"
    for key in instances.keys() - set(region.scale_sets):
        yield f"scale set {key} has instances and no record"
    for key, scale_set in region.scale_sets.items():
        if key != scale_set.key:
            yield f"scale set {scale_set.key} is filed under {key}"
        yield from _of_members(region, scale_set, instances[key])
        yield from _of_instances(scale_set, instances[key])
        yield from _of_rolling(scale_set)
    for scope in region.scopes.values():
        if scope.kind is ScopeKind.PLACEMENT_GROUP:
            yield from _of_placement_group(region, scope)
    yield from _of_deletions(region)


def _of_members(region: Region, scale_set: ScaleSet, vms: list[Vm]) -> Iterator[str]:
    if set(scale_set.instances) != {vm.key for vm in vms}:
        yield f"scale set {scale_set.key} lists other instances than it has"
    leaving = sum(region.leaving(vm) for vm in vms)
    if scale_set.leaving != leaving:
        yield f"{leaving} instances of scale set {scale_set.key} are leaving, {scale_set.leaving} are counted"
    elif scale_set.deleting and leaving < len(vms):
        yield f"scale set {scale_set.key} is being deleted, and {len(vms) - leaving} of its instances stay"


def _of_deletions(region: Region) -> Iterator[str]:
    for event in region.events.values():
        vms = [region.vms[key] for key in event.vms if key in region.vms] if event.cause is Cause.DELETION else []
        sets = [region.scale_sets.get(fold(vm.scale_set)) for vm in vms]
        if any(scale_set is not None and scale_set.group != event.group for scale_set in sets):
            yield f"the deletion {event.id} does not wait with the others of its scale set"


def _of_instances(scale_set: ScaleSet, vms: list[Vm]) -> Iterator[str]:
    if len({vm.number for vm in vms}) != len(vms):
        yield f"two instances of scale set {scale_set.key} have one id"
    for vm in vms:
        if vm.number >= scale_set.next_id:
            yield f"instance {vm.key} has an id, though the next one is {scale_set.next_id}"
        if not 1 <= vm.traits.model <= scale_set.model:
            yield f"instance {vm.key} is of model {vm.traits.model}, though the latest is {scale_set.model}"
        uniform = scale_set.orchestration is Orchestration.UNIFORM
        if not vm.key.startswith(f"{scale_set.key}_") or (uniform and vm.key != f"{scale_set.key}_{vm.number}"):
            yield f"instance {vm.number} of scale set {scale_set.key} is called {vm.key}"


def _of_rolling(scale_set: ScaleSet) -> Iterator[str]:
    rolling = scale_set.rolling
    if rolling is None:
        return
    if (rolling.next_at is None) != (rolling.ended_at is not None):
        yield f"the rolling upgrade of {scale_set.key} ended at {rolling.ended_at}, its next batch is {rolling.next_at}"
    if rolling.canceled and rolling.ended_at is None:
        yield f"the rolling upgrade of {scale_set.key} is canceled and has not ended"


def _of_placement_group(region: Region, scope: Scope) -> Iterator[str]:
    name, _, number = scope.name.partition("~")
    scale_set = region.scale_sets.get(fold(name))
    if scale_set is None:
        yield f"scope {scope.key} has outlived its scale set"
        return
    if scope.policy != scale_set.spec.policy:
        yield f"scope {scope.key} has another policy than its scale set"
    if number == "0":  # the only one of a set that has, or has had, a single one
        return
    if scale_set.single_placement_group:
        yield f"scope {scope.key} is not the single placement group of its scale set"
    if len(scope.members) > _GROUP_MOST:
        yield f"scope {scope.key} has {len(scope.members)} members"


# Operations


def of_operations(region: Region) -> Iterator[str]:
    awaited: dict[str, dict[str, None]] = defaultdict(dict)
    for key, operation in region.operations.items():
        if key != operation.id:
            yield f"operation {operation.id} is filed under {key}"
        for event_id in operation.waiting:
            awaited[event_id][operation.id] = None
        yield from _of_operation(region, operation)
    if region.awaited != Map({event_id: Map(waiters) for event_id, waiters in awaited.items()}):
        yield "the awaited events are not those that operations wait for"
    yield from _of_ends(region)


def _of_operation(region: Region, operation: Operation) -> Iterator[str]:
    ended = operation.ended_at is not None
    if ended == bool(operation.waiting):
        yield f"operation {operation.id} waits for {len(operation.waiting)} events and ended at {operation.ended_at}"
    if ended != (operation.number is not None):
        yield f"operation {operation.id} has number {operation.number} and ended at {operation.ended_at}"
    for event_id in operation.waiting:
        if event_id not in region.events and event_id not in region.errands:
            yield f"operation {operation.id} waits for {event_id}, which has ended"


def _of_ends(region: Region) -> Iterator[str]:
    ended = [operation for operation in region.operations.values() if operation.number is not None]
    if dict(region.operations_ended) != {operation.number: operation.id for operation in ended}:
        yield "the ended operations are not those that have ended"
    total, count = region.operations_ended_total, len(ended)
    if sorted(region.operations_ended) != list(range(total - count, total)):
        yield f"of {total} ended operations, others than the last {count} are remembered"
    if count != min(total, OPERATIONS_REMEMBERED):
        yield f"of {total} ended operations, {count} are remembered"
    ended.sort(key=lambda operation: operation.number or 0)
    instants = [operation.ended_at for operation in ended if operation.ended_at is not None]
    if instants != sorted(instants):
        yield "operations are not numbered in the order of their ends"


# Resources


def of_resources(region: Region) -> Iterator[str]:
    for key, resource in region.resources.items():
        if key != fold(resource.id):
            yield f"resource {resource.id} is filed under {key}"
    owned = {resource.owner: key for key, resource in region.resources.items() if resource.owner}
    if dict(region.owned) != owned:
        yield "the owned resources are not those that have an owner"
