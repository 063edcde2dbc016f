"""When time alone has something to do next, and whether more is due than one settling takes.

The agenda is a hint: what an entry means, if anything, is looked up in the region.
"""

from __future__ import annotations

from datetime import datetime
from itertools import takewhile

from forewarn.core.keys import Key, KeyKind, kind_of
from forewarn.core.looking.turns import is_in_hand, may_take
from forewarn.core.phases import PENDING
from forewarn.core.region import Event, Region, replace

DUE_MOST = 2_000  # ours: entries of one settling; the next tick takes the rest, so that no transaction is endless
STALE_MOST = 2_000  # as DUE_MOST: entries that are passed over in search of a deadline


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
    first = region.agenda.first()
    if first is None or first.at > now:  # the usual case, looked at before every transaction
        return False
    due = takewhile(lambda due: due.at <= now, region.agenda.soonest(DUE_MOST + 1))
    return sum(1 for _ in due) > DUE_MOST


def tidied(region: Region, now: datetime, most: int) -> Region:
    """The region without agenda entries that were due by ``now`` and mean nothing any more.

    A tick removes them as it settles; a node that only follows facts has no ticks.
    """
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
        return campaign.started_at if may_take(region, campaign) else None
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
