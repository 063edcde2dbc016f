"""The moves that follow from state and time alone, made until nothing follows any more.

Approvals gathered, NotBefore passed, impact over, next domain's turn, 24 hours without a read: it never matters in
which order their conditions came true.
"""

from __future__ import annotations

from datetime import datetime

from forewarn.core import facts as f
from forewarn.core.agenda import Due
from forewarn.core.deciding import campaigns, operations, rolling
from forewarn.core.deciding.impacts import begin_real, end_impact
from forewarn.core.deciding.machines import errands
from forewarn.core.draft import Draft
from forewarn.core.keys import Key, KeyKind, kind_of, of_campaign, of_scope
from forewarn.core.looking.deadlines import DUE_MOST
from forewarn.core.looking.errands import errands_of, is_over
from forewarn.core.looking.turns import in_turn, is_in_hand, place_of
from forewarn.core.phases import PENDING, Phase
from forewarn.core.region import DOWN, Event, Region, Scope, replace

ALL_DOWN = "policy: all instances are down"
_ENOUGH_FACTS = 2_000  # as DUE_MOST, for entries from which many facts follow
_DUE_AT_ONCE = 500  # a quarter of DUE_MOST: between two portions the facts so far are counted against _ENOUGH_FACTS
_LOOKS_MOST = 1_000  # ours: at one thing in one settling; more means that two rules undo each other's work


class DoesNotSettleError(RuntimeError):
    """Rules chase each other, or leave undone what is due: a fault of ours. It ends the command, not the process."""


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
        if draft.region.real_hosts:  # what has started has its errands before it is asked whether they are over
            batch.sort(key=lambda key: kind_of(key)[0] is not KeyKind.ERRANDS)
        for key in dict.fromkeys(batch):
            looks[key] = looks.get(key, 0) + 1
            if looks[key] >= _LOOKS_MOST:
                raise DoesNotSettleError(f"{key} does not settle")
            _look(draft, key)


def _collect_due(draft: Draft, most: int) -> int:
    due, left = draft.region.agenda.split(draft.now, most)
    if due:
        draft.touched += _in_turn(draft.region, due)
        draft.region = replace(draft.region, agenda=left)
    return len(due)


def _in_turn(region: Region, due: list[Due]) -> list[Key]:
    """The same, but campaigns in the order of their starts, and events of one instant in theirs.

    The agenda orders what is due at one instant by key, which for these is an id. So of more than are taken at once,
    it still depends on ids which come first.
    """
    found = [each.key for each in due]
    named = [kind_of(key) for key in found]
    places = [place for place, (kind, _) in enumerate(named) if kind is KeyKind.CAMPAIGN]
    ids = in_turn(region, (named[place][1] for place in places))
    for place, campaign_id in zip(places, ids, strict=True):
        found[place] = of_campaign(campaign_id)
    places = [place for place, (kind, _) in enumerate(named) if kind is KeyKind.EVENT]
    if len(places) > 1:
        events = sorted(places, key=lambda at: (due[at].at, *place_of(region, named[at][1])))
        for place, at in zip(places, events, strict=True):
            found[place] = due[at].key
    return found


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
    elif kind is KeyKind.ERRANDS:
        errands.make_for(draft, draft.region.events[name])
    elif kind is KeyKind.MACHINE:
        errands.take_turn(draft, name)
    elif kind is KeyKind.ROOM:
        errands.place_waiting(draft, name)
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
    else:  # it was read for since; look again when that read has grown old
        draft.region = replace(draft.region, agenda=draft.region.agenda.add(lapses_at, of_scope(scope.key)))


def _look_at_event(draft: Draft, event: Event) -> None:
    if event.phase in PENDING:
        _look_at_pending(draft, event)
    elif not event.vms:
        draft.record(f.EventCompleted(draft.now, event.id))
    elif event.impact_ended_at is None:
        if event.impact_began_at is None and not any(errands_of(draft.region, event)):
            begin_real(draft, event)  # of its machines only real ones are left, and those are done
            event = draft.region.events[event.id]
        if is_over(draft.region, event, draft.now):
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
    """At NotBefore, or earlier once approved and once no other event of its group is awaited; and in its turn."""
    group = region.groups.get(event.group)
    gathered = event.phase is Phase.APPROVED and (group is None or group.awaited == 0)
    return (gathered or event.not_before <= now) and not is_in_hand(region, event)


def _all_down(region: Region, event: Event) -> bool:
    scope = region.scopes.get(event.scope)
    wanted = scope is not None and scope.policy.all_instances_down
    return wanted and all(region.vms[key].power in DOWN for key in event.vms)
