"""The time of a region: as it is, N times faster, or standing still until it is moved."""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Lock
from typing import Protocol, TypeAlias

from forewarn.core.refusal import Hint, Refused

_log = logging.getLogger(__name__)
_LAST_YEAR = 9000  # datetime ends with 9999: deadlines a thousand years later can still be written down
_END = datetime(_LAST_YEAR, 12, 31, 23, 59, 59, tzinfo=UTC)  # of every clock: deadlines after it can be written down
_ENDED = f"A region's calendar ends with the year {_LAST_YEAR}."
_BEGINNING = datetime.min.replace(tzinfo=UTC)
_JUMP = timedelta(seconds=1)  # what is less is followed
# Ours: longer than a virtual machine's clock is off after it was resumed, until NTP sets it
_BELIEVED_AFTER_SECONDS = 60.0
# Ours: short enough that nobody minds when a read is noted as so much earlier, long enough for some fifty of them
_MOMENT_SECONDS = 0.001
_CATCHING_UP = 0.9  # ours, of the usual speed: makes notices a little longer and never shorter


class Clock(Protocol):
    """What a plane needs of time. ``speed`` is region seconds for a real second; 0 stands still."""

    @property
    def kind(self) -> str: ...

    @property
    def speed(self) -> float: ...

    def now(self) -> datetime: ...

    @property
    def lately(self) -> Callable[[], datetime]:
        """Tells the time of this moment, see ``Moments``; ``now`` itself where a clock may be turned."""

    async def sleep_until(self, at: datetime) -> None: ...

    def move_to(self, at: datetime) -> None: ...

    def set_speed(self, speed: float) -> None: ...

    def agree(self, now: datetime) -> None:
        """Take the time of the shared store, which all nodes of a region go by, as it was a moment ago."""


ClockFrom: TypeAlias = Callable[[datetime | None], Clock]  # a clock for a region whose last fact is of that instant


def wall_time() -> datetime:
    """The machine's own time."""
    return datetime.now(UTC)


# Seconds that only ever grow, also while the machine sleeps, where it can tell. Called several times for each GET, so
# without a Python frame of its own.
if sys.platform == "win32":
    elapsed: Callable[[], float] = time.perf_counter  # monotonic() moves every 16 ms only
elif sys.platform == "linux":
    elapsed = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
else:
    elapsed = partial(time.clock_gettime, time.CLOCK_MONOTONIC)


class Moments:
    """A clock's time for reads, of which there are tens of thousands a second: one value for all who ask in a moment.

    To make a value for each costs a third of all that Python does for a read. A moment ends with its second at the
    latest, so a ``Date`` is never another one than the clock's own. To be asked on the loop only.
    """

    def __init__(self, now: Callable[[], datetime], elapsed: Callable[[], float]) -> None:
        self._now = now
        self._elapsed = elapsed
        self._value = _BEGINNING
        self._ends = -math.inf  # by ``elapsed``

    def now(self) -> datetime:
        at = self._elapsed()
        if at >= self._ends:
            self._value = self._now()
            self._ends = at + min(_MOMENT_SECONDS, 1 - self._value.microsecond / 1e6)
        return self._value

    def end(self) -> None:
        """The clock may have been set: look at it again."""
        self._ends = -math.inf


class RealClock:
    """The machine's clock, made monotonic; jumps ahead are followed only once they have lasted.

    Time goes on by the machine's monotonic clock. A jump ahead is followed when it has lasted for a minute. Where the
    machine's clock is behind, because it was set back or the region has lived ahead, time runs at nine tenths of its
    speed until the two meet. Once nodes have agreed on a time, that one runs on here, and the machine's wall clock is
    ignored. May be read by any thread.

    Every VM's GET reads this clock, so the wall clock is looked at every ``look_seconds`` only; in between the
    monotonic clock alone is read, which costs a quarter.
    """

    kind = "real"
    speed = 1.0

    def __init__(
        self,
        not_before: datetime | None = None,
        *,
        wall: Callable[[], datetime] = wall_time,
        elapsed: Callable[[], float] = elapsed,
        look_seconds: float = 0.05,
    ) -> None:
        self._look_seconds = look_seconds
        self._steady_until = -math.inf  # by ``elapsed``: no look at the machine's clock is needed before that
        self._steady_from = 0.0  # the time when ``elapsed`` was zero, in seconds since 1970, while it is steady
        self._wall = wall
        self._elapsed = elapsed
        self._not_before = not_before or _BEGINNING
        self._agreed: float | None = None  # the agreed time, in seconds since 1970, when ``elapsed`` was zero
        self._reading = Lock()
        self._latest = max(self._not_before, min(self._wall(), _END))
        self._read_at = self._elapsed()
        self._jumped_at: float | None = None
        self._jumped_by = timedelta(0)  # when it was last looked at
        self._is_behind = False
        self._moments = Moments(self.now, elapsed)
        self.lately = self._moments.now

    def now(self) -> datetime:
        at = self._elapsed()
        if at < self._steady_until:
            found = datetime.fromtimestamp(self._steady_from + at, UTC)
            return found if found > self._latest else self._latest
        with self._reading:
            least = self._latest
            if self._steady_until > -math.inf:  # nothing that was read since the last look was later than this
                least = max(least, datetime.fromtimestamp(self._steady_from + min(at, self._steady_until), UTC))
            found = min(self._found(at), _END)
            self._latest = max(least, found)
            self._moments.end()
            self._go_on(at, is_ahead=found < least)
            return self._latest

    def _go_on(self, at: float, *, is_ahead: bool) -> None:
        """Whether the monotonic clock alone is enough for a while: not while the wall clock is in doubt or behind.

        Where it is a little behind, time stands still until the machine has caught up; running on would keep the lead
        for ever.
        """
        is_even = self._agreed is not None or (self._jumped_at is None and not self._is_behind)
        self._steady_from = self._latest.timestamp() - at
        self._steady_until = at + self._look_seconds if is_even and not is_ahead and self._latest < _END else -math.inf

    def _found(self, at: float) -> datetime:
        if self._agreed is not None:
            return datetime.fromtimestamp(self._agreed + at, UTC)
        passed, self._read_at = timedelta(seconds=max(at - self._read_at, 0)), at
        machine = self._wall()
        gap = machine - self._latest - passed
        if gap > _JUMP:
            return machine if self._is_believed(gap, at) else self._latest + passed
        self._note_return(at)
        if gap < -_JUMP:
            self._note_behind(gap)
            return max(self._latest + passed * _CATCHING_UP, machine)
        self._note_even()
        return machine

    def _is_believed(self, gap: timedelta, at: float) -> bool:
        """Whether the machine's clock has been so far ahead for long enough. A jump further ahead is another one."""
        if self._jumped_at is None or gap > self._jumped_by + _JUMP:
            self._jumped_at = at
            _log.warning(
                "The machine's clock has jumped ahead by %s. The region's time goes on as before, and follows if that "
                "lasts for %g s.",
                _rounded(gap),
                _BELIEVED_AFTER_SECONDS,
            )
        self._jumped_by = gap
        if at - self._jumped_at < _BELIEVED_AFTER_SECONDS:
            return False
        _log.warning("The region's time follows the machine's clock, and is %s later at once.", _rounded(gap))
        self._jumped_at, self._is_behind = None, False
        return True

    def _note_return(self, at: float) -> None:
        if self._jumped_at is not None:
            _log.warning("The machine's clock was ahead for %.1f s, and is not any more.", at - self._jumped_at)
            self._jumped_at = None

    def _note_behind(self, gap: timedelta) -> None:
        if not self._is_behind:
            self._is_behind = True
            _log.warning(
                "The machine's clock is %s behind the region's time. That runs at nine tenths of its speed until the "
                "two meet; nothing is lost.",
                _rounded(-gap),
            )

    def _note_even(self) -> None:
        if self._is_behind:
            self._is_behind = False
            _log.info("The machine's clock has caught up with the region's time.")

    def agree(self, now: datetime) -> None:
        with self._reading:
            steady_until, self._steady_until = self._steady_until, -math.inf
            at = self._elapsed()  # after that: a reader in another thread that still went by it looked before this
            if self._agreed is None:
                self._latest = self._not_before  # what the machine's own clock has said until now does not count
            elif steady_until > -math.inf:  # nothing that was read was later than this
                told = datetime.fromtimestamp(self._steady_from + min(at, steady_until), UTC)
                self._latest = max(self._latest, told)
            self._agreed = now.timestamp() - at
            self._moments.end()

    async def sleep_until(self, at: datetime) -> None:
        while (left := (at - self.now()).total_seconds()) > 0:  # noqa: ASYNC110 - the clock has no event to wait for
            await asyncio.sleep(left)

    def move_to(self, at: datetime) -> None:
        raise Refused(Hint.CONFLICT, "A real clock cannot be moved; start the region with --clock virtual or xN.")

    def set_speed(self, speed: float) -> None:
        raise Refused(Hint.CONFLICT, "A real clock has one speed; start the region with --clock virtual or xN.")


def _rounded(gap: timedelta) -> timedelta:
    return timedelta(seconds=round(gap.total_seconds()))


class TurnableClock:
    """A clock that runs at any speed, may stand still, and may be moved forward. May be read by any thread."""

    def __init__(self, start: datetime, speed: float = 0.0, *, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        self._running = (start, elapsed(), speed)  # from when on, and how fast: changed together
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._numbered = 0

    @property
    def speed(self) -> float:
        return self._running[2]

    @property
    def kind(self) -> str:
        return "fast" if self.speed else "virtual"

    def now(self) -> datetime:
        base, since, speed = self._running
        if not speed:
            return base
        seconds = (self._elapsed() - since) * speed
        return base + timedelta(seconds=seconds) if seconds < (_END - base).total_seconds() else self._end(base)

    def lately(self) -> datetime:
        return self.now()

    def _end(self, base: datetime) -> datetime:
        """The end of the calendar: here every clock stands."""
        self._running = (max(base, _END), self._elapsed(), 0.0)
        _log.warning("%s The clock stands still from here on.", _ENDED)
        return self._running[0]

    async def sleep_until(self, at: datetime) -> None:
        while at > self.now():
            woken = asyncio.get_running_loop().create_future()
            while self._sleepers and self._sleepers[0][2].done():  # those whose time came while the clock ran
                heapq.heappop(self._sleepers)
            self._numbered += 1
            heapq.heappush(self._sleepers, (at, self._numbered, woken))
            left = (at - self.now()).total_seconds()  # looked at first: the look may find the end, where clocks stand
            if left > 0:
                await asyncio.wait([woken], timeout=left / self.speed if self.speed else None)
            woken.cancel()

    def agree(self, now: datetime) -> None:
        """Does nothing: a clock that is turned by hand has no store beside it."""

    def move_to(self, at: datetime) -> None:
        """Set the clock forward and wake the sleepers whose time has now come."""
        check_forward(self.now(), at)
        self._running = (at, self._elapsed(), self.speed)
        while self._sleepers and self._sleepers[0][0] <= at:
            _wake(heapq.heappop(self._sleepers)[2])

    def set_speed(self, speed: float) -> None:
        """Change the speed from here on; sleepers look again at how long they have to wait."""
        if not (math.isfinite(speed) and speed >= 0):
            raise Refused(Hint.INVALID, "A clock's speed is 0, which stands still, or any number above it.")
        if speed and self.now() >= _END:
            raise Refused(Hint.CONFLICT, _ENDED)
        self._running = (self.now(), self._elapsed(), speed)
        while self._sleepers:
            _wake(heapq.heappop(self._sleepers)[2])


def check_forward(now: datetime, to: datetime) -> None:
    """Refuse to go back, or so far on that no deadline could be written down any more."""
    if to.year > _LAST_YEAR:
        raise Refused(Hint.INVALID, _ENDED)
    if to < now:
        raise Refused(Hint.CONFLICT, f"Time only goes forward, and it is {now:%Y-%m-%dT%H:%M:%SZ} already.")


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
