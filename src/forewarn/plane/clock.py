"""The time of a region: as it is, N times faster, or standing still until it is moved."""

from __future__ import annotations

import asyncio
import heapq
import math
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from forewarn.core.refusal import Hint, Refused

_LAST_YEAR = 9000
_GROWING = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """What a plane needs of time. ``speed`` is region seconds for a real second; 0 stands still."""

    @property
    def kind(self) -> str: ...

    @property
    def speed(self) -> float: ...

    def now(self) -> datetime: ...

    async def sleep_until(self, at: datetime) -> None: ...

    def move_to(self, at: datetime) -> None: ...

    def set_speed(self, speed: float) -> None: ...

    def agree(self, now: datetime) -> None:
        """Nodes that share a region go by the clock of their store, and this is what it said just now."""


def wall_time() -> datetime:
    """The machine's own time."""
    return datetime.now(UTC)


def elapsed() -> float:
    """Seconds that only ever grow, also while the machine sleeps, where it can tell."""
    return time.clock_gettime(_GROWING)


class RealClock:
    """The machine's clock, except that it never goes back: a step backwards is waited out.

    Where nodes have agreed on a time, that one runs on here by itself, and the machine's own may say what it likes.
    """

    kind = "real"
    speed = 1.0

    def __init__(self, not_before: datetime | None = None) -> None:
        self._not_before = self._latest = not_before or datetime.min.replace(tzinfo=UTC)
        self._agreed: float | None = None  # the agreed time, in seconds since 1970, when ``elapsed`` was zero

    def now(self) -> datetime:
        found = wall_time() if self._agreed is None else datetime.fromtimestamp(self._agreed + elapsed(), UTC)
        self._latest = max(self._latest, found)
        return self._latest

    def agree(self, now: datetime) -> None:
        if self._agreed is None:
            self._latest = self._not_before  # what the machine's own clock has said until now does not count
        self._agreed = now.timestamp() - elapsed()

    async def sleep_until(self, at: datetime) -> None:
        left = (at - self.now()).total_seconds()
        if left > 0:
            await asyncio.sleep(left)

    def move_to(self, at: datetime) -> None:
        raise Refused(Hint.CONFLICT, "A real clock cannot be moved; start the region with --clock virtual or xN.")

    def set_speed(self, speed: float) -> None:
        raise Refused(Hint.CONFLICT, "A real clock has one speed; start the region with --clock virtual or xN.")


class TurnableClock:
    """A clock that runs at any speed, may stand still, and may be moved forward."""

    def __init__(self, start: datetime, speed: float = 0.0) -> None:
        self.speed = speed
        self._base = start
        self._base_monotonic = time.monotonic()
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._numbered = 0

    @property
    def kind(self) -> str:
        return "fast" if self.speed else "virtual"

    def now(self) -> datetime:
        if not self.speed:
            return self._base
        return self._base + timedelta(seconds=(time.monotonic() - self._base_monotonic) * self.speed)

    async def sleep_until(self, at: datetime) -> None:
        while at > self.now():
            woken = asyncio.get_running_loop().create_future()
            while self._sleepers and self._sleepers[0][2].done():  # those whose time came while the clock ran
                heapq.heappop(self._sleepers)
            self._numbered += 1
            heapq.heappush(self._sleepers, (at, self._numbered, woken))
            timeout = (at - self.now()).total_seconds() / self.speed if self.speed else None
            await asyncio.wait([woken], timeout=timeout)
            woken.cancel()

    def agree(self, now: datetime) -> None:
        """A clock that is turned by hand is the only one there is."""

    def move_to(self, at: datetime) -> None:
        """Set the clock forward and wake whoever waited for a time that has now come."""
        check_forward(self.now(), at)
        self._base, self._base_monotonic = at, time.monotonic()
        while self._sleepers and self._sleepers[0][0] <= at:
            _wake(heapq.heappop(self._sleepers)[2])

    def set_speed(self, speed: float) -> None:
        """Change the speed from here on; sleepers look again at how long they have to wait."""
        if not (math.isfinite(speed) and speed >= 0):
            raise Refused(Hint.INVALID, "A clock's speed is 0, which stands still, or any number above it.")
        self._base, self._base_monotonic, self.speed = self.now(), time.monotonic(), speed
        while self._sleepers:
            _wake(heapq.heappop(self._sleepers)[2])


def check_forward(now: datetime, to: datetime) -> None:
    """Refuse to go back, or so far on that no deadline could be written down any more."""
    if to.year > _LAST_YEAR:
        raise Refused(Hint.INVALID, f"A region's calendar ends with the year {_LAST_YEAR}.")
    if to < now:
        raise Refused(Hint.CONFLICT, f"Time only goes forward, and it is {now:%Y-%m-%dT%H:%M:%SZ} already.")


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
