"""The moves that follow from state and time alone, made until nothing follows any more.

Approvals gathered, NotBefore passed, impact over, next domain's turn, 24 hours without a read: it never matters in
which order their conditions came true.
"""

from __future__ import annotations

from datetime import datetime
from itertools import takewhile

from forewarn.core import facts as f
from forewarn.core.causes import CAUSES, Effect
from forewarn.core.deciding import campaigns, operations, rolling
from forewarn.core.deciding.events import is_in_hand, leave_host
from forewarn.core.deciding.placement import find_host
from forewarn.core.draft import Draft
from forewarn.core.keys import Key, KeyKind, kind_of, of_scope
from forewarn.core.phases import PENDING, Phase
from forewarn.core.region import DOWN, Event, EvictionPolicy, Power, Region, Scope, Vm, replace

ALL_DOWN = "policy: all instances are down"
DUE_MOST = 2_000  # in one settling; what is due beyond that is for the next tick, so that no transaction is endless
_ENOUGH_FACTS = 2_000  # the same, for entries that much follows from
_DUE_AT_ONCE = 500
STALE_MOST = 2_000  # entries to pass over in search of a deadline
_LOOKS_MOST = 1_000  # at one thing in one settling; more would mean that two rules chase each other


class DoesNotSettleError(RuntimeError):
    """Two rules chase each other: a fault of ours, which must end the command and not the process."""


def settle(draft: Draft) -> None:
    """Do all that follows from what was just recorded, and what is due as long as that is not too much at once."""
    looks: dict[Key, int] = {}
    left = DUE_MOST
    while True:
        if left and len(draft.facts) < _ENOUGH_FACTS:
            left -= _collect_due(draft, min(left, _DUE_AT_ONCE))
        if not draft.touched:
            return
        batch, draft.touched = draft.touched, []
        for key in dict.fromkeys(batch):
            looks[key] = looks.get(key, 0) + 1
            if looks[key] >= _LOOKS_MOST:
                raise DoesNotSettleError(f"{key} does not settle")
            _look(draft, key)


def next_deadline(region: Region) -> datetime | None:
    """When a tick next has something to do. Entries that no longer mean anything are passed over.

    Where there are very many of those, the answer may be too soon, never too late: a tick then makes them fewer.
    """
    soonest: datetime | None = None
    for passed, due in enumerate(region.agenda.soonest(STALE_MOST + 1)):
        if soonest is not None and due.at >= soonest:
            break
        actual = due.at if passed == STALE_MOST else _deadline(region, due.key)
        if actual is not None and (soonest is None or actual < soonest):
            soonest = actual
    return soonest


def is_behind(region: Region, now: datetime) -> bool:
    """Whether more is due than one settling takes."""
    due = takewhile(lambda due: due.at <= now, region.agenda.soonest(DUE_MOST + 1))
    return sum(1 for _ in due) > DUE_MOST


def tidied(region: Region, now: datetime, most: int) -> Region:
    """Without entries that were due by ``now`` and mean nothing any more: who only follows facts never settles them."""
    due, agenda = region.agenda.split(now, most)
    for key in dict.fromkeys(each.key for each in due):
        actual = _deadline(region, key)
        if actual is not None:
            agenda = agenda.add(actual, key)
    return replace(region, agenda=agenda) if due else region


def _deadline(region: Region, key: Key) -> datetime | None:
    kind, name = kind_of(key)
    if kind is KeyKind.EVENT:
        event = region.events.get(name)
        return None if event is None else deadline_of(region, event)
    if kind is KeyKind.CAMPAIGN:
        campaign = region.campaigns[name]
        return campaign.started_at if campaigns.may_take(region, campaign) else None
    if kind is KeyKind.ROLLING_UPGRADE:
        scale_set = region.scale_sets.get(name)
        return None if scale_set is None or scale_set.rolling is None else scale_set.rolling.next_at
    scope = region.scopes.get(name)
    return None if scope is None else scope.lapses_at


def deadline_of(region: Region, event: Event) -> datetime | None:
    """When time alone moves an event on. One that waits for its turn is moved on by the end of another's impact."""
    if event.phase in PENDING:
        return None if is_in_hand(region, event) else event.not_before
    return event.completes_at or event.impact_ends_at


def _collect_due(draft: Draft, most: int) -> int:
    due, left = draft.region.agenda.split(draft.now, most)
    if due:
        draft.touched += [each.key for each in due]
        draft.region = replace(draft.region, agenda=left)
    return len(due)


def _look(draft: Draft, key: Key) -> None:
    kind, name = kind_of(key)
    if kind is KeyKind.EVENT:
        event = draft.region.events.get(name)
        if event is not None:
            _look_at_event(draft, event)
    elif kind is KeyKind.CAMPAIGN:
        campaigns.proceed(draft, name)
    elif kind is KeyKind.ROLLING_UPGRADE:
        rolling.proceed(draft, name)
    elif kind is KeyKind.OPERATION:
        operations.look(draft, name)
    elif kind is KeyKind.DELETED_SET:
        scale_set = draft.region.scale_sets.get(name)
        if scale_set is not None and scale_set.deleting and not scale_set.instances:
            draft.record(f.ScaleSetDeleted(draft.now, name))
    else:
        scope = draft.region.scopes.get(name)
        if scope is not None and scope.lapses_at is not None:
            _look_at_scope(draft, scope, scope.lapses_at)


def _look_at_scope(draft: Draft, scope: Scope, lapses_at: datetime) -> None:
    if lapses_at <= draft.now:
        draft.record(f.ScopeDisabled(draft.now, scope.key))
    else:  # somebody has read since; look again when that read has grown old
        draft.region = replace(draft.region, agenda=draft.region.agenda.add(lapses_at, of_scope(scope.key)))


def _look_at_event(draft: Draft, event: Event) -> None:
    if event.phase in PENDING:
        _look_at_pending(draft, event)
    elif not event.vms:
        draft.record(f.EventCompleted(draft.now, event.id))
    elif event.impact_ended_at is None:
        if event.impact_ends_at is not None and event.impact_ends_at <= draft.now:
            end_impact(draft, event)
    elif event.completes_at is not None and event.completes_at <= draft.now:
        draft.record(f.EventCompleted(draft.now, event.id))


def _look_at_pending(draft: Draft, event: Event) -> None:
    if not event.vms:
        draft.record(f.EventCanceled(draft.now, event.id, "its machines are gone"))
    elif event.phase is Phase.SCHEDULED and _all_down(draft.region, event):
        draft.record(f.EventApproved(draft.now, event.id, ALL_DOWN))
    elif may_start(draft.region, event, draft.now):
        draft.record(f.EventStarted(draft.now, event.id))


def may_start(region: Region, event: Event, now: datetime) -> bool:
    """At NotBefore, or earlier once approved and once nobody else of its group is awaited; and in its turn."""
    group = region.groups.get(event.group)
    gathered = event.phase is Phase.APPROVED and (group is None or group.awaited == 0)
    return (gathered or event.not_before <= now) and not is_in_hand(region, event)


def _all_down(region: Region, event: Event) -> bool:
    scope = region.scopes.get(event.scope)
    wanted = scope is not None and scope.policy.all_instances_down
    return wanted and all(region.vms[key].power in DOWN for key in event.vms)


def end_impact(draft: Draft, event: Event) -> None:
    """The machines are back, moved, stopped or gone, as the effect wants."""
    draft.record(f.ImpactEnded(draft.now, event.id))
    effect = CAUSES[event.cause].effect
    for key in event.vms:
        vm = draft.region.vms[key]
        if effect is Effect.DELETE or (effect is Effect.EVICT and vm.spec.eviction_policy is EvictionPolicy.DELETE):
            draft.record(f.VmDeleted(draft.now, key))
        elif effect is Effect.EVICT and vm.power is not Power.DEALLOCATED:
            draft.record(f.VmDeallocated(draft.now, key))
        elif effect in (Effect.MIGRATE, Effect.REDEPLOY):
            _move(draft, vm)


def _move(draft: Draft, vm: Vm) -> None:
    if vm.host is not None:
        host = find_host(draft, vm.fault_domain, vm.update_domain, other_than=vm.host)
        draft.record(f.VmMoved(draft.now, vm.key, host))
        leave_host(draft, vm.key)
