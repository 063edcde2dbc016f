"""Time in a region: ticks when something falls due, and the turning of a clock by hand.

While a clock runs, the leader ticks at each deadline. A clock that is turned stops at every instant at which something
happens on the way. What happens there is time's own doing; that the clock was moved is its mover's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from forewarn.core.commands import Tick
from forewarn.core.deciding.settle import DoesNotSettleError
from forewarn.core.facts import ScopeRead, ScopesRead
from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.region import Region
from forewarn.plane.clock import Clock, check_forward
from forewarn.plane.ports import CLOCK, Journal, Origin, Record
from forewarn.plane.snapshots import Snapshots
from forewarn.plane.standing import Standing
from forewarn.plane.writing import Writing

_NOT_YET_SECONDS = 0.25  # ours: until the next try where the store's clock is behind ours
_LONGEST_WAIT_SECONDS = 3600.0  # a deadline years ahead would be more than a timer takes


class Ticking:
    """Ticks while the clock runs."""

    def __init__(
        self, writing: Writing, clock: Clock, standing: Standing, journal: Journal, watch_seconds: float
    ) -> None:
        self._writing = writing
        self._clock = clock
        self._standing = standing
        self._journal = journal
        self._watch_seconds = watch_seconds
        standing.on_lead(lambda leads: self.look_again())

    def look_again(self) -> None:
        """Compute the next tick anew: the clock's speed has changed, or this node has begun to lead."""
        self._writing.published.set()

    def agree(self, now: datetime) -> None:
        """Take the store's time, which may be later than this node's, and look again."""
        self._clock.agree(now)
        self._look_if_due(now)

    async def tick_on(self) -> None:
        """Tick when the agenda says so. An entry that has become stale costs an idle tick."""
        writing, clock = self._writing, self._clock
        while True:
            writing.published.clear()
            due = writing.region.agenda.first() if self._standing.leads else None
            if due is not None and due.at <= clock.now():
                await writing.submit_ours(Tick(), CLOCK)
                if writing.region.agenda.first() == due:  # not yet, by the clock of a store that others share
                    await asyncio.sleep(_NOT_YET_SECONDS)
                continue
            timeout = None
            if due is not None and clock.speed:
                timeout = min((due.at - clock.now()).total_seconds() / clock.speed, _LONGEST_WAIT_SECONDS)
            await _wait(writing.published, timeout)

    async def watch_on(self) -> None:
        """See, and say in the log, what may go wrong between requests: the machine's clock, and the store's place."""
        while True:
            await asyncio.sleep(self._watch_seconds)
            self._journal.ailment()
            self._look_if_due(self._clock.now())

    def _look_if_due(self, now: datetime) -> None:
        """Wake the tick where a deadline has passed: after a jump of the clock its sleep may still last."""
        due = self._writing.region.agenda.first()
        if due is not None and due.at <= now:
            self.look_again()


class Turning:
    """Turns a clock by hand; one turn at a time."""

    def __init__(self, writing: Writing, clock: Clock, snapshots: Snapshots) -> None:
        self._writing = writing
        self._clock = clock
        self._snapshots = snapshots
        self._moving = asyncio.Lock()

    async def advance(self, to: datetime, origin: Origin) -> None:
        """Move the clock to an instant, through every change on the way."""
        async with self._moving:
            await self._writing.settled()  # an impact that is just being recorded has a deadline too
            check_forward(self._clock.now(), to)
            with self._snapshots.put_off():
                while (due := self._next_deadline()) is not None and due <= to:
                    await self._tick_at(due)
                    self._check_done(due)
            await self._tick_at(to, moved_by=origin)

    async def advance_to_next(self, origin: Origin) -> datetime | None:
        """Move the clock to the next change, and return when that is; None where nothing is due.

        A read that was kept, which only puts off the disabling of its scope, is no change to stop at.
        """
        changes: list[Record] = []

        def note(_: Region, records: Sequence[Record]) -> None:
            changes.extend(record for record in records if not isinstance(record.fact, ScopeRead | ScopesRead))

        async with self._moving:
            await self._writing.settled()
            if self._next_deadline() is None and self._clock.kind == "real":
                self._clock.move_to(self._clock.now())  # which it refuses, whether something is due or not
            forget = self._writing.subscribe(note)
            try:
                while (due := self._next_deadline()) is not None:
                    await self._tick_at(due)
                    self._check_done(due)
                    if changes:
                        await self._tick_at(due, moved_by=origin)
                        return due
            finally:
                forget()
            return None

    def _check_done(self, due: datetime) -> None:
        """Raise where a tick has not done what was due: the loop would tick at the same instant for ever."""
        if self._next_deadline() == due:
            raise DoesNotSettleError(f"what was due at {due} is still due after a tick")

    def is_ahead_of_facts(self) -> bool:
        """Whether the clock is later than the last fact.

        At the next start a turnable clock goes on from the last fact, and would repeat the time between.
        """
        latest = self._writing.region.latest_at
        return self._clock.kind != "real" and latest is not None and latest < self._clock.now()

    async def _tick_at(self, at: datetime, *, moved_by: Origin | None = None) -> None:
        """Let all happen that is due at an instant, which may take a tick and more."""
        writing = self._writing
        self._clock.move_to(max(at, self._clock.now()))
        await writing.submit(Tick(moved=moved_by is not None), moved_by or CLOCK)
        await writing.settled()
        while (due := writing.region.agenda.first()) is not None and due.at <= at:
            await writing.submit(Tick(), CLOCK)
            await writing.settled()

    def _next_deadline(self) -> datetime | None:
        return next_deadline(self._writing.region)


async def _wait(event: asyncio.Event, timeout_seconds: float | None) -> None:
    """Wait until the event is set, by others or by a timer of ours.

    Every publication comes here, and a timer costs less than the cancellation of a timeout.
    """
    timer = None
    if timeout_seconds is not None:
        timer = asyncio.get_running_loop().call_later(max(timeout_seconds, 0.0), event.set)
    try:
        await event.wait()
    finally:
        if timer is not None:
            timer.cancel()
