"""What will happen if nobody acts: a copy of the region is ticked from deadline to deadline, as time itself would.

The copy is a value like any region; the one it was made from does not change. Events that start on the way are handed
to no engine: how long each impact lasts is asked for, and the copy goes on from there. Ids that come of it are those
that time will give: events of a campaign derive theirs from the campaign.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.deciding.settle import DoesNotSettleError
from forewarn.core.lifecycle import EventFact
from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.looking.errands import errands_of, is_due, is_real, supposed
from forewarn.core.machines.values import ErrandOutcome, ErrandReport, OpenErrand
from forewarn.core.phases import Phase
from forewarn.core.region import Event, Region
from forewarn.core.rules import Rules
from forewarn.core.step import step

_BEGINNINGS = (f.EventScheduled, f.EventBornStarted)


class Lasting(Struct, frozen=True):
    """How long the impact of an event will last; an estimate where a machine takes the time that it takes."""

    duration: timedelta
    estimated: bool = False


class Foreseen(Struct, frozen=True):
    """A fact that is to come, and the event that it is about, as it will be before it."""

    fact: f.Fact
    event: Event | None
    estimated: bool = False  # the instant rests on an estimate


HowLong: TypeAlias = Callable[[Event], Lasting]
KeptAlive: TypeAlias = Callable[[Region, datetime], Sequence[tuple[str, datetime]]]


def _nobody(_region: Region, _now: datetime) -> Sequence[tuple[str, datetime]]:
    return ()


def course(
    region: Region, now: datetime, rules: Rules, how_long: HowLong, kept_alive: KeptAlive = _nobody
) -> Iterator[Foreseen]:
    """All that is to come, in order, until nothing is due any more. Take as much of it as you want.

    ``kept_alive`` tells the reads that the journal does not know yet, and that keep scopes enabled by an instant.
    """
    return _Course(region, now, rules, how_long, kept_alive).run()


class _Course:
    """The copy on its way. What it does at an instant is what ``plane.ticking`` and ``plane.writing`` do together."""

    def __init__(self, region: Region, now: datetime, rules: Rules, how_long: HowLong, kept_alive: KeptAlive) -> None:
        self._region = region
        self._now = now if region.latest_at is None else max(now, region.latest_at)
        self._rules = rules
        self._how_long = how_long
        self._kept_alive = kept_alive
        self._estimated: set[str] = set()
        self._ends: list[tuple[datetime, str]] = []  # a heap: impacts under way that no engine has given an end

    def run(self) -> Iterator[Foreseen]:
        started = [event for event in self._region.events.values() if event.phase is Phase.STARTED]
        for event in started:
            open_ended = event.impact_ends_at is None or any(errands_of(self._region, event))
            if event.impact_began_at is not None and event.impact_ended_at is None and open_ended:
                lasting = self._lasting(event)
                heapq.heappush(self._ends, (event.impact_began_at + lasting.duration, event.id))
        yield from self._begin(event.id for event in started if event.impact_began_at is None)
        while (due := self._next()) is not None:
            self._now = max(due, self._now)
            yield from self._tick()
            if self._next() == due:
                raise DoesNotSettleError(f"what is due at {due} is still due after a tick")

    def _next(self) -> datetime | None:
        return min(filter(None, (next_deadline(self._region), self._ends[0][0] if self._ends else None)), default=None)

    def _tick(self) -> Iterator[Foreseen]:
        """All that is due at this instant, which may take a tick and more."""
        while self._ends and self._ends[0][0] <= self._now:
            event_id = heapq.heappop(self._ends)[1]
            yield from self._with_impacts([*self._carried_out(event_id), *self._take(c.EndImpact(event_id))])
        while True:
            kept = self._kept_alive(self._region, self._now)
            seen = [*(self._take(c.Pulse(tuple(kept))) if kept else ()), *self._take(c.Tick())]
            yield from self._with_impacts(seen)
            first = self._region.agenda.first()
            if first is None or first.at > self._now:
                return

    def _with_impacts(self, seen: Sequence[Foreseen]) -> Iterator[Foreseen]:
        """These, and the impacts that begin because of them."""
        yield from seen
        yield from self._begin(_started_by(each.fact) for each in seen)

    def _begin(self, event_ids: Iterator[str]) -> Iterator[Foreseen]:
        waiting = deque(filter(None, event_ids))
        while waiting:
            event = self._region.events.get(waiting.popleft())
            if event is None or event.impact_began_at is not None:
                continue
            lasting = self._lasting(event)
            seen = [*self._take(c.BeginImpact(event.id, self._now + lasting.duration)), *self._tried(event)]
            yield from seen
            if is_real(self._region, event):
                heapq.heappush(self._ends, (self._now + lasting.duration, event.id))
            waiting.extend(filter(None, (_started_by(each.fact) for each in seen)))

    def _lasting(self, event: Event) -> Lasting:
        """How long its impact will last. Of real machines this is always told as an estimate."""
        lasting = self._how_long(event)
        if lasting.estimated or is_real(self._region, event):
            self._estimated.add(event.id)
        return lasting

    def _tried(self, event: Event) -> Iterator[Foreseen]:
        """The errands of an event that has started are in hand at once."""
        for found in list(errands_of(self._region, event)):
            if is_due(self._region, found):
                yield from self._take(c.TryErrand(found.errand.id))

    def _carried_out(self, event_id: str) -> Iterator[Foreseen]:
        """Its errands, and those that have to be over before, end as they should; one without room goes on waiting."""
        event = self._region.events.get(event_id)
        for key in event.vms if event is not None else ():
            wanted = [each for each in self._errands_at(key) if each.errand.event == event_id]
            while any(each.errand.id in self._region.errands for each in wanted):
                first = self._errands_at(key)[0]
                done = ErrandReport(ErrandOutcome.DONE, sighting=supposed(first.errand))
                yield from self._take(c.ReportErrand(first.errand.id, done))
                if first.errand.id in self._region.errands:
                    break

    def _errands_at(self, key: str) -> list[OpenErrand]:
        machine = self._region.machines.get(key)
        return [] if machine is None else [self._region.errands[each] for each in machine.errands]

    def _take(self, command: c.Command) -> Iterator[Foreseen]:
        before = self._region
        self._region, facts = step(before, command, self._now, self._rules)
        for fact in facts:
            event_id = _event_of(fact)
            event = fact.event if isinstance(fact, _BEGINNINGS) else before.events.get(event_id)
            event = event or self._region.events.get(event_id)
            rests = isinstance(fact, f.ImpactEnded | f.EventCompleted) and event_id in self._estimated
            yield Foreseen(fact, event, rests)


def _started_by(fact: f.Fact) -> str:
    """The id of the event that has started with it; empty where none has."""
    if isinstance(fact, f.EventStarted):
        return fact.event_id
    return fact.event.id if isinstance(fact, f.EventBornStarted) else ""


def _event_of(fact: f.Fact) -> str:
    """The id of the event that a fact is about; empty where it is about none."""
    if isinstance(fact, _BEGINNINGS):
        return fact.event.id
    return fact.event_id if isinstance(fact, EventFact | f.VmSpared) else ""
