"""The register: what there is, in order. For lists in pages, and for finding things by a part of their name or id."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from forewarn.core.causes import CAUSES
from forewarn.core.maps import Map
from forewarn.core.phases import PENDING, Phase
from forewarn.core.region import Event, Power, Region, Vm, replace
from forewarn.plane.read_models.order import K, Order
from forewarn.terms import EventType

At: TypeAlias = tuple[datetime, str]  # an instant of an event, and its id


class Cohort(NamedTuple):
    """Events that are alike. A campaign has one for each update domain and phase; without one they are told by type."""

    campaign: str  # empty without one
    update_domain: int  # -1 without a campaign
    type: EventType
    phase: Phase
    announced: bool


_NO_NAMES: Order[str] = Order()
_NO_INSTANTS: Order[At] = Order()


class Register(Struct, frozen=True):
    """Keys as the region knows them. Events are those that a document shows: announced, and not ended."""

    vms: Order[str] = _NO_NAMES
    not_running: Order[str] = _NO_NAMES
    spot: Order[str] = _NO_NAMES
    pending: Order[str] = _NO_NAMES
    scopes: Order[str] = _NO_NAMES
    scale_sets: Order[str] = _NO_NAMES
    events: Order[str] = _NO_NAMES
    events_by_schedule: Order[At] = _NO_INSTANTS
    events_by_not_before: Order[At] = _NO_INSTANTS
    cohorts: Map[Cohort, Order[At]] = Map()  # by NotBefore, of all events that have not ended; none is empty

    def with_vms(self, old: Sequence[Vm], before: Region, new: Sequence[Vm], after: Region) -> Register:
        """VMs as they are in ``after`` in place of what they were in ``before``."""
        return replace(
            self,
            vms=_moved(self.vms, (vm.key for vm in old), (vm.key for vm in new)),
            not_running=_moved(self.not_running, down(old), down(new)),
            spot=_moved(self.spot, spot(old), spot(new)),
            pending=_moved(self.pending, pending(before, old), pending(after, new)),
        )

    def with_events(self, old: Sequence[Event], new: Sequence[Event]) -> Register:
        was, now = shown(old), shown(new)
        return replace(
            self,
            events=_moved(self.events, (event.id for event in was), (event.id for event in now)),
            events_by_schedule=_moved(self.events_by_schedule, map(by_schedule, was), map(by_schedule, now)),
            events_by_not_before=_moved(self.events_by_not_before, map(by_not_before, was), map(by_not_before, now)),
            cohorts=_cohorts_moved(self.cohorts, by_cohort(old), by_cohort(new)),
        )

    def with_scopes(self, keys: Collection[str], after: Region) -> Register:
        there = [key for key in keys if key in after.scopes]
        return replace(self, scopes=self.scopes.changed(keys, there))

    def with_scale_sets(self, keys: Collection[str], after: Region) -> Register:
        there = [key for key in keys if key in after.scale_sets]
        return replace(self, scale_sets=self.scale_sets.changed(keys, there))


def _moved(order: Order[K], old: Iterable[K], new: Iterable[K]) -> Order[K]:
    """The order with the new keys in place of the old ones; most things that change keep their key."""
    was, now = set(old), set(new)
    return order.changed(was - now, now - was)


def _cohorts_moved(
    cohorts: Map[Cohort, Order[At]], old: dict[Cohort, list[At]], new: dict[Cohort, list[At]]
) -> Map[Cohort, Order[At]]:
    changed = cohorts.mutate()
    for cohort in {**old, **new}:
        order = _moved(changed.get(cohort, _NO_INSTANTS), old.get(cohort, ()), new.get(cohort, ()))
        if order:
            changed[cohort] = order
        else:
            changed.pop(cohort, None)
    return changed.finish()


def down(vms: Iterable[Vm]) -> list[str]:
    return [vm.key for vm in vms if vm.power is not Power.RUNNING]


def spot(vms: Iterable[Vm]) -> list[str]:
    return [vm.key for vm in vms if vm.spec.spot]


def pending(region: Region, vms: Iterable[Vm]) -> list[str]:
    return [vm.key for vm in vms if vm.events and is_pending(region, vm)]


def is_pending(region: Region, vm: Vm) -> bool:
    """Whether an event that it is told of has yet to start."""
    events = (region.events[event_id] for event_id in vm.events)
    return any(event.announced and event.phase in PENDING for event in events)


def shown(events: Iterable[Event]) -> list[Event]:
    """The events that a document shows."""
    return [event for event in events if event.announced]


def by_schedule(event: Event) -> At:
    return event.scheduled_at, event.id


def by_not_before(event: Event) -> At:
    return event.not_before, event.id


def by_cohort(events: Iterable[Event]) -> dict[Cohort, list[At]]:
    found: dict[Cohort, list[At]] = {}
    for event in events:
        domain = event.update_domain if event.campaign else -1
        cohort = Cohort(event.campaign, domain, CAUSES[event.cause].type, event.phase, event.announced)
        found.setdefault(cohort, []).append((event.not_before, event.id))
    return found
