"""Forecasts of the published region, cached by its sequence number: many readers cost what one does.

The course of a region is computed as far as a request wants, in a thread, and kept for the next request. The thread
shares the interpreter lock with the loop, which waits for it a few milliseconds at most. How much of one course is
computed is bounded as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from msgspec import Struct

from forewarn.core.facts import ClockMoved, ScopeRead, ScopesRead
from forewarn.core.forecast import Foreseen, course
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.plane.ports import PretendedMachines
from forewarn.plane.reads import ReadBook

LONGEST = timedelta(days=8)  # beyond the longest notice there is, of a week
FACTS_MOST = 500  # ours: told to one reader, as a page of the journal is by default
UNFOLDED_MOST = 20_000  # facts of one course, told or not: some 400 ms
_KEPT_SECONDS = 10.0  # ours: a read moves the deadline of its scope without a record in the journal
_NO_CHANGE = (ClockMoved, ScopeRead, ScopesRead)

Wanted = Callable[[Foreseen], bool]


class Forecast(Struct, frozen=True):
    """The facts to come that a request is about, oldest first.

    From ``cut_at`` on not all of it is told; None where all is, until the instant that was asked for.
    """

    facts: tuple[Foreseen, ...]
    cut_at: datetime | None = None


class Course:
    """One region's course, unfolded step by step. Used by one thread at a time."""

    def __init__(self, unfolding: Iterator[Foreseen], most: int = UNFOLDED_MOST) -> None:
        self._unfolding = unfolding
        self._most = most
        self._seen: list[Foreseen] = []
        self._of_event: dict[str, list[tuple[int, Foreseen]]] = {}  # with their numbers

    def until(self, end: datetime, wanted: Wanted, event: str = "") -> Forecast:
        """What is wanted of all that comes until ``end``, as far as the bounds let one look.

        Where only what becomes of one ``event`` is wanted, the facts of all others are not gone through.
        """
        found: list[Foreseen] = []
        for number, each in self._told_of(event, end) if event else enumerate(self._all()):
            if each.fact.at > end:
                break
            if not isinstance(each.fact, _NO_CHANGE) and wanted(each):
                if len(found) == FACTS_MOST:
                    return Forecast(tuple(found), each.fact.at)
                found.append(each)
            if number + 1 == self._most:
                return Forecast(tuple(found), each.fact.at)
        return Forecast(tuple(found))

    def _told_of(self, event: str, end: datetime) -> Iterator[tuple[int, Foreseen]]:
        """The facts about it until ``end``, each with its number; and the last one that may be looked at, if it is."""
        while len(self._seen) < self._most and not (self._seen and self._seen[-1].fact.at > end):
            if self._next() is None:
                break
        yield from self._of_event.get(event, ())
        if len(self._seen) == self._most:
            yield self._most - 1, self._seen[-1]

    def _all(self) -> Iterator[Foreseen]:
        yield from self._seen
        while (each := self._next()) is not None:
            yield each

    def _next(self) -> Foreseen | None:
        each = next(self._unfolding, None)
        if each is not None:
            if each.event is not None:
                self._of_event.setdefault(each.event.id, []).append((len(self._seen), each))
            self._seen.append(each)
        return each


class Forecasts:
    """Keeps the course of the last region that was asked about. Belongs to one loop."""

    def __init__(self, engine: PretendedMachines, rules: Rules, reads: ReadBook, elapsed: Callable[[], float]) -> None:
        self._engine = engine
        self._rules = rules
        self._reads = reads
        self._elapsed = elapsed
        self._unfolding = asyncio.Lock()
        self._course: Course | None = None
        self._seq, self._made_at = -1, 0.0

    async def look(
        self, region: Region, seq: int, now: datetime, until: datetime, wanted: Wanted, event: str = ""
    ) -> Forecast:
        """What is to come of a published region from ``now`` on, and for ``LONGEST`` at most; see ``Course.until``."""
        async with self._unfolding:
            if self._course is None or self._seq != seq or self._elapsed() - self._made_at > _KEPT_SECONDS:
                self._course, self._seq, self._made_at = self.course(region, now), seq, self._elapsed()
            return await asyncio.to_thread(_looked, self._course, now, until, wanted, event)

    def course(self, region: Region, now: datetime, most: int = UNFOLDED_MOST) -> Course:
        """The course of any region, such as one that a dry run has led to. It is not kept."""
        return Course(course(region, now, self._rules, self._engine.lasting, self._reads.keeping_alive), most)


def _looked(course: Course, now: datetime, until: datetime, wanted: Wanted, event: str = "") -> Forecast:
    furthest = now + LONGEST
    found = course.until(min(until, furthest), wanted, event)
    return found if until <= furthest or found.cut_at is not None else Forecast(found.facts, furthest)
