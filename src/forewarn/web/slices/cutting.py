"""Cut out of a region what reads of some VMs need, and what of that has changed since another region.

Only what is read counts: a VM that is restarting is the same VM to its readers. Values of a region never change, so
what is the very same value need not be compared.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from forewarn.core.region import Power, Region, Scope, Vm, fold, replace
from forewarn.core.specs import VmTraits
from forewarn.web.documents.interfaces import resources_told
from forewarn.web.slices.bulletins import ScaleSetSlice, ScopeSlice, VmSlice


class Difference(NamedTuple):
    """What has changed of some VMs between two regions, for a relay that knows them as they were in the first."""

    vms: tuple[VmSlice, ...]
    gone: tuple[str, ...]
    scopes: tuple[ScopeSlice, ...]


def difference(
    before: Region, after: Region, had: Collection[str], has: Collection[str], scopes: dict[str, str]
) -> Difference:
    """For one who knew the VMs ``had`` of ``before``, and is to know ``has`` of ``after``.

    ``scopes`` has the scopes of the first by VM, and then of the second: most VMs are the same, and finding out takes
    longer than all the rest.
    """
    known = {*scopes.values()}
    vms = tuple(vm_slice(after, after.vms[key]) for key in has if key not in had or not _is_same_vm(before, after, key))
    gone = tuple(key for key in had if key not in has)
    for key in gone:
        del scopes[key]
    scopes.update((each.vm.key, each.vm.scope) for each in vms)
    one_of_each = {scopes[key]: key for key in has}
    changed = tuple(
        scope_slice(after, after.vms[vm])
        for key, vm in one_of_each.items()
        if key not in known or not _is_same_scope(before, after, key)
    )
    return Difference(vms, gone, changed)


def _is_same_vm(before: Region, after: Region, key: str) -> bool:
    was, is_now = before.vms[key], after.vms[key]
    if was is is_now and not is_now.scale_set and not is_now.spec.about.interfaces:
        return True
    return vm_slice(before, was) == vm_slice(after, is_now)


def _is_same_scope(before: Region, after: Region, key: str) -> bool:
    was, is_now = before.scopes.get(key), after.scopes.get(key)
    if _document_of(was) != _document_of(is_now):
        return False
    return is_now is None or all(before.events.get(each) is after.events[each] for each in is_now.events)


def _document_of(scope: Scope | None) -> object:
    return None if scope is None else (scope.enabled_at, scope.incarnation, scope.events)


def vm_slice(region: Region, vm: Vm) -> VmSlice:
    """The VM as its readers see it: nothing of what is being done to it."""
    domains = VmTraits(vm.update_domain, vm.fault_domain)
    lean = replace(vm, power=Power.RUNNING, events=(), traits=domains)
    resources = resources_told(region, vm) if vm.spec.about.interfaces else ()
    return VmSlice(lean, _scale_set(region, vm), resources)


def scope_slice(region: Region, vm: Vm) -> ScopeSlice:
    """The scope of a VM, with its events. Which VMs an event hits is not in documents; their names are."""
    scope = region.scope_of(vm)
    events = tuple(replace(region.events[each], vms=()) for each in scope.events)
    return ScopeSlice(scope.key, scope.kind, scope.name, scope.enabled_at, scope.incarnation, events)


def _scale_set(region: Region, vm: Vm) -> ScaleSetSlice | None:
    found = region.scale_sets.get(fold(vm.scale_set)) if vm.scale_set else None
    if found is None:
        return None
    return ScaleSetSlice(
        found.name,
        found.resource_group,
        found.orchestration,
        found.single_placement_group,
        found.computer_prefix,
        found.seed,
        found.created_at,
    )
