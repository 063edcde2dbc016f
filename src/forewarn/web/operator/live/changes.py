"""Hints that something has changed, as server-sent events.

A campaign may write thousands of facts a second, and a browser may be slow. So a hint says *that* something changed and
what to look at again, never what it has become; at most four are made a second, each once for all who listen; and a
stream keeps no queue: one that has missed a hint is told the sum of what it missed, read from the journal by the number
it was told last. The same sum is what a browser gets that comes back, at this node or at another. While no
stream is open nothing is subscribed to, and a fact costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.region import Region
from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault, Record
from forewarn.web.faults import FaultRules
from forewarn.web.operator.live.subjects import Subjects
from forewarn.web.operator.schema.answers import ChangeHint, ClockAnswer
from forewarn.web.operator.stream import KEEP_ALIVE_SECONDS, Streams, happens

SECONDS_BETWEEN = 0.25  # people see no difference below that, and each hint makes every open page ask again
MOST_SUMMED = 500  # records that are read to sum up what a reader has missed; after more, anything may have changed
_CLOCK, _FAULTS = "clock", "faults"


@dataclass(frozen=True, slots=True)
class Told:
    """One hint as it is sent, and up to where it tells."""

    number: int  # of the hint at this node, so that a stream knows whether it has missed one
    seq: int
    line: bytes


class Changes:
    """Makes the hints of one app. All of it belongs to one loop.

    ``portal`` gives a digest of the portal's files, which a page compares with its own to know that it is outdated.
    """

    def __init__(self, plane: Plane, faults: FaultRules, seconds_between: float = SECONDS_BETWEEN) -> None:
        self.portal: Callable[[], str] = str
        self._plane, self._faults, self._seconds_between = plane, faults, seconds_between
        self._wakers: list[Callable[[], None]] = []
        self._before = plane.region
        self._subjects = Subjects()
        self._timer: asyncio.TimerHandle | None = None
        self._told_at = float("-inf")  # by the loop's clock
        self._unsubscribe: Callable[[], None] | None = None
        self.latest = Told(0, 0, b"")
        faults.watch(lambda: self.note(_FAULTS))

    def __len__(self) -> int:
        return len(self._wakers)

    def join(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` after each new ``latest``. Returns the function that ends this."""
        if self._unsubscribe is None:
            self._before = self._plane.region
            self._unsubscribe = self._plane.subscribe(self._publish)
        self._wakers.append(wake)
        return lambda: self._leave(wake)

    def note(self, subject: str) -> None:
        """Something has changed of which the journal knows nothing: a fault rule, the speed of the clock."""
        if self._wakers:
            self._subjects.add((subject,))
            self._tell_soon()

    def clock_turned(self) -> None:
        self.note(_CLOCK)

    async def since(self, after: int) -> Told:
        """All that has changed after a record, in one hint. Rules and clock are named in any case."""
        number, head, subjects = self.latest.number, self._plane.seq, Subjects(_CLOCK, _FAULTS)
        if not 0 <= head - after <= MOST_SUMMED:  # a number beyond the end is of another journal
            subjects.more = True
        elif head > after:
            try:
                records = await asyncio.to_thread(self._plane.journal.read, after, head - after)
            except JournalFault:
                subjects.more = True
            else:
                region = self._plane.region
                subjects.note(records, region, region)
        return Told(number, head, self._line(head, subjects))

    def _leave(self, wake: Callable[[], None]) -> None:
        self._wakers.remove(wake)
        if self._wakers or self._unsubscribe is None:
            return
        self._unsubscribe()
        self._unsubscribe, self._subjects = None, Subjects()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _publish(self, region: Region, records: Sequence[Record]) -> None:
        before, self._before = self._before, region
        if records:
            self._subjects.note(records, before, region)
            self._tell_soon()

    def _tell_soon(self) -> None:
        """Send a hint: at once after a quiet while, else when the time between two hints has passed."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time(), self._told_at + self._seconds_between), self._tell)

    def _tell(self) -> None:
        self._timer, self._told_at = None, asyncio.get_running_loop().time()
        subjects, self._subjects = self._subjects, Subjects()
        seq = self._plane.seq
        self.latest = Told(self.latest.number + 1, seq, self._line(seq, subjects))
        for wake in tuple(self._wakers):
            wake()

    def _line(self, seq: int, subjects: Subjects) -> bytes:
        region = self._plane.region
        hint = ChangeHint(
            seq=seq,
            at=region.latest_at,
            clock=clock_fields(self._plane),
            subjects=list(subjects.names),
            more=subjects.more,
            faults=len(self._faults.list()),
            events=len(region.events),
            portal=self.portal(),
        )
        return f"id: {seq}\ndata: {hint.model_dump_json()}\n\n".encode()


def clock_fields(plane: Plane) -> ClockAnswer:
    clock = plane.clock
    return ClockAnswer(now=plane.now(), kind=clock.kind, speed=clock.speed, next_deadline=next_deadline(plane.region))


async def hints(
    changes: Changes, after: int, streams: Streams, keep_alive_seconds: float = KEEP_ALIVE_SECONDS
) -> AsyncGenerator[bytes, None]:
    """The sum of what has changed after ``after``, then each change as it comes; a comment is a sign of life."""
    woken = asyncio.Event()
    leave = (changes.join(woken.set), streams.join(woken.set))
    try:
        yield b": changes of a forewarn region\n\n"
        told = await changes.since(after)
        yield told.line
        while not streams.closed:
            woken.clear()
            latest = changes.latest
            if latest.number == told.number:
                if not await happens(woken, keep_alive_seconds):
                    yield b": still here\n\n"
                continue
            told = latest if latest.number == told.number + 1 else await changes.since(told.seq)
            yield told.line
    finally:
        for each in leave:
            each()
