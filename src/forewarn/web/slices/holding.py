"""What a relay holds: a region in the very shape of a whole one, with its own VMs alone, kept up by bulletins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar, cast

from forewarn.core.maps import Map
from forewarn.core.region import Region, Resource, ScaleSet, Scope, Vm, fold, replace
from forewarn.core.specs import NO_BINDING, Binding, ScopeKind, alike
from forewarn.web.slices.bulletins import Bulletin, ScaleSetSlice, ScopeSlice, VmSlice

_SHARED_MOST = 20_000  # ours: beyond it the values that VMs have alike are collected anew
_Value = TypeVar("_Value")


class HeldChange(NamedTuple):
    """A region after a bulletin, and what has become different in it."""

    region: Region
    scopes: tuple[str, ...]  # whose document may be another, or which a VM has left
    enabled: tuple[str, ...]  # of them, those that were enabled since
    bindings: dict[str, Binding]  # by VM, where it is another; that of nothing for a VM that went


class Holding:
    """Applies bulletins. ``region`` is always that of one instant of the upstream."""

    def __init__(self) -> None:
        self.region = Region()
        self._residents: Counter[str] = Counter()  # how many VMs of a scope are here
        self._left: dict[str, None] = {}  # scopes that a VM has left since the last look
        self._resources: dict[str, tuple[Resource, ...]] = {}  # by VM
        self._parts: list[Bulletin] = []
        self._shared: dict[object, object] = {}

    def apply(self, bulletin: Bulletin) -> HeldChange | None:
        """Take a bulletin. What has changed, or None while more pieces of the same instant are to come."""
        self._parts.append(self._lean(bulletin))
        if bulletin.more:
            return None
        parts, self._parts = self._parts, []
        before = self.region
        gone = [key for part in parts for key in part.gone]
        vms = [each for part in parts for each in part.vms]
        scopes = [each for part in parts for each in part.scopes]
        if parts[0].whole:
            self.region = replace(self.region, scale_sets=Map())  # of these nobody tells that they went
            named = {each.vm.key for each in vms}
            gone = [key for key in before.vms if key not in named]
        self._take(gone, vms)
        self._know(scopes)
        return _held(before, self.region, [each.key for each in scopes], gone, [each.vm.key for each in vms])

    def _take(self, gone: Sequence[str], slices: Sequence[VmSlice]) -> None:
        region = self.region
        if not gone and not slices:
            return
        vms, addresses = region.vms.mutate(), region.addresses.mutate()
        for key in (*gone, *(each.vm.key for each in slices)):
            found = vms.pop(key, None)
            if found is None:
                continue
            self._residents[found.scope] -= 1
            self._left[found.scope] = None
            for claim in found.binding.claims():
                addresses.pop(claim, None)
        for vm in (each.vm for each in slices):
            vms[vm.key] = vm
            self._residents[vm.scope] += 1
            addresses.update(dict.fromkeys(vm.binding.claims(), vm.key))
        sets = {fold(each.scale_set.name): _scale_set_of(each.scale_set) for each in slices if each.scale_set}
        resources = region.resources
        if self._keep_resources(gone, slices):
            resources = Map({fold(each.id): each for kept in self._resources.values() for each in kept})
        self.region = replace(
            region,
            vms=vms.finish(),
            addresses=addresses.finish(),
            scale_sets=region.scale_sets.update(sets),
            resources=resources,
        )

    def _lean(self, bulletin: Bulletin) -> Bulletin:
        """The same. What VMs have alike, which a codec makes anew for each of them, is one value for all."""
        return replace(bulletin, vms=tuple(replace(each, vm=self._lean_vm(each.vm)) for each in bulletin.vms))

    def _lean_vm(self, vm: Vm) -> Vm:
        return replace(
            vm,
            spec=self._one(vm.spec),
            seed=self._one(vm.seed),
            created_at=self._one(vm.created_at),
            binding=self._one(vm.binding),
            traits=alike(vm.traits),
        )

    def _one(self, value: _Value) -> _Value:
        if len(self._shared) >= _SHARED_MOST:
            self._shared.clear()
        return cast("_Value", self._shared.setdefault(value, value))

    def _keep_resources(self, gone: Iterable[str], slices: Iterable[VmSlice]) -> bool:
        """Whether anything is kept now that was not, or the other way round."""
        changed = False
        for key, kept in [*((key, ()) for key in gone), *((each.vm.key, each.resources) for each in slices)]:
            if self._resources.get(key, ()) != kept:
                changed = True
                self._resources[key] = kept
                if not kept:
                    del self._resources[key]
        return changed

    def _know(self, told: Sequence[ScopeSlice]) -> None:
        """The scopes as they are now; those that no VM here is in are forgotten, with their events."""
        left = [key for key in self._left if not self._residents[key]]
        self._left.clear()
        if not left and not told:
            return
        scopes, events = self.region.scopes.mutate(), self.region.events.mutate()
        for key in (*left, *(each.key for each in told)):
            found = scopes.pop(key, None)
            for event in found.events if found is not None else ():
                events.pop(event, None)
        for key in left:
            del self._residents[key]
        for each in told:
            scopes[each.key] = self._scope_of(each)
            events.update({event.id: event for event in each.events})
        self.region = replace(self.region, scopes=scopes.finish(), events=events.finish())

    def _scope_of(self, told: ScopeSlice) -> Scope:
        events, enabled_at = tuple(event.id for event in told.events), self._one(told.enabled_at)
        own = self.region.vms.get(told.name) if told.kind is ScopeKind.VM else None
        name = told.name if own is None else own.name  # of a lone VM: the same text
        return Scope(told.key, told.kind, name, enabled_at=enabled_at, incarnation=told.incarnation, events=events)


def _scale_set_of(told: ScaleSetSlice) -> ScaleSet:
    return ScaleSet(
        told.name,
        told.resource_group,
        told.orchestration,
        told.single_placement_group,
        told.computer_prefix,
        told.seed,
        told.created_at,
    )


def _held(
    before: Region, after: Region, told: Iterable[str], gone: Iterable[str], changed: Iterable[str]
) -> HeldChange:
    left = [before.vms[key].scope for key in gone if key in before.vms]
    scopes = tuple(dict.fromkeys((*told, *left)))
    enabled = tuple(key for key in scopes if _enabling(after, key) not in (None, _enabling(before, key)))
    touched = dict.fromkeys((*gone, *changed))
    bindings = {key: _binding(after.vms.get(key)) for key in touched}
    others = {key: found for key, found in bindings.items() if found != _binding(before.vms.get(key))}
    return HeldChange(after, scopes, enabled, others)


def _binding(vm: Vm | None) -> Binding:
    return NO_BINDING if vm is None else vm.binding


def _enabling(region: Region, key: str) -> object:
    found = region.scopes.get(key)
    return None if found is None else found.enabled_at
