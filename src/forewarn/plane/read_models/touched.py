"""Which things of a region facts are about, so that nothing else has to be looked at again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, get_args

from forewarn.core import facts as f
from forewarn.core.machines import facts as mf
from forewarn.core.region import Event, Region, fold, scope_key
from forewarn.core.specs import ScopeKind
from forewarn.plane.ports import Record


@dataclass
class Touched:
    """Keys of what may have changed. It may name too many, never too few."""

    vms: set[str] = field(default_factory=set)
    scopes: set[str] = field(default_factory=set)
    hosts: set[int] = field(default_factory=set)
    events: set[str] = field(default_factory=set)
    scale_sets: set[str] = field(default_factory=set)

    def note(self, records: Iterable[Record], before: Region, after: Region) -> None:
        """``before`` and ``after`` are the region around the records."""
        for record in records:
            _NOTES.get(type(record.fact), _nothing)(self, record.fact, before, after)

    def note_event(self, event: Event) -> None:
        """Note an event and its VMs. Scopes and hosts have facts of their own where an event changes them."""
        self.events.add(event.id)
        self.vms.update(event.vms)


def _nothing(_touched: Touched, _fact: f.Fact, _before: Region, _after: Region) -> None:
    pass


def _of_birth(touched: Touched, fact: f.EventScheduled | f.EventBornStarted, _before: Region, _after: Region) -> None:
    touched.note_event(fact.event)


def _of_event(touched: Touched, fact: Any, before: Region, after: Region) -> None:
    """An event that is in neither region was born among the same records, and told of itself."""
    for region in (before, after):
        event = region.events.get(fact.event_id)
        if event is not None:
            touched.note_event(event)


def _of_new_vm(touched: Touched, fact: f.VmCreated, _before: Region, _after: Region) -> None:
    touched.vms.add(fold(fact.name))


def _of_vm(touched: Touched, fact: Any, _before: Region, _after: Region) -> None:
    touched.vms.add(fact.vm)


def _of_deleted_vm(touched: Touched, fact: f.VmDeleted, _before: Region, _after: Region) -> None:
    touched.vms.add(fact.vm)
    touched.scopes.add(scope_key(ScopeKind.VM, fact.vm))


def _of_new_scope(touched: Touched, fact: f.ScopeCreated, _before: Region, _after: Region) -> None:
    touched.scopes.add(scope_key(fact.kind, fact.name))


def _of_scope(touched: Touched, fact: Any, _before: Region, _after: Region) -> None:
    touched.scopes.add(fact.scope)


def _of_host(touched: Touched, fact: f.HostAdded | f.HostMarked | mf.HostFact, _before: Region, _after: Region) -> None:
    touched.hosts.add(fact.host)


def _of_new_set(touched: Touched, fact: f.ScaleSetCreated, _before: Region, _after: Region) -> None:
    touched.scale_sets.add(fold(fact.name))


def _of_deleted_set(touched: Touched, fact: f.ScaleSetDeleted, before: Region, _after: Region) -> None:
    """Note a deleted scale set with its placement groups, which have no facts of their own."""
    touched.scale_sets.add(fact.scale_set)
    scale_set, number = before.scale_sets.get(fact.scale_set), 0
    while scale_set is not None:
        key = scope_key(ScopeKind.PLACEMENT_GROUP, scale_set.scope_name(number))
        if key not in before.scopes:
            break
        touched.scopes.add(key)
        number += 1


_VM_FACTS = (f.VmMoved, f.VmStopped, f.VmDeallocated, f.VmStarted, f.VmRespecified, f.VmSpared, f.InstanceUpgraded)
_EVENT_FACTS = (
    f.EventAnnounced,
    f.EventApproved,
    f.EventStarted,
    f.EventCanceled,
    f.ImpactBegan,
    f.ImpactEnded,
    f.EventCompleted,
)

# What is not listed changes nothing that an order or a count tells: bindings, reads, campaigns, operations, resources.
_NOTES: dict[type, Callable[[Touched, Any, Region, Region], None]] = {
    **dict.fromkeys((f.EventScheduled, f.EventBornStarted), _of_birth),
    **dict.fromkeys(_EVENT_FACTS, _of_event),
    f.VmCreated: _of_new_vm,
    **dict.fromkeys(_VM_FACTS, _of_vm),
    f.VmDeleted: _of_deleted_vm,
    f.ScopeCreated: _of_new_scope,
    **dict.fromkeys((f.PolicySet, f.ScopeEnabled, f.ScopeRemoved), _of_scope),
    **dict.fromkeys((f.HostAdded, f.HostMarked), _of_host),
    f.ScaleSetCreated: _of_new_set,
    f.ScaleSetDeleted: _of_deleted_set,
    **dict.fromkeys(get_args(mf.HostFact), _of_host),
    **dict.fromkeys(get_args(mf.MachineFact), _of_vm),
    **dict.fromkeys((mf.ErrandEnded, mf.ErrandGivenUp), _of_vm),
}
