"""The part of a region that turns its clock, or waits for programs beside the test; and says what it waited for."""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import NoReturn

from forewarn.core.looking.deadlines import next_deadline
from forewarn.testing.arguments import Duration, read_duration
from forewarn.testing.checks import Checks
from forewarn.testing.handles import EventHandle

_LOOK_EVERY_SECONDS = 0.005  # not felt in a test, and no load
_MOST_HELD = 20  # ours: events that a failure tells of, the newest


class TurnedRegion(Checks):
    """Time passes only here."""

    def advance(
        self, by: Duration = timedelta(0), *, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> datetime:
        """Turn the clock, through every change on the way; the time it is then."""
        by = by if isinstance(by, timedelta) else read_duration("by", by)
        to = self.now() + by + timedelta(hours=hours, minutes=minutes, seconds=seconds)
        self._running.loop.run(self._running.plane.advance(to))
        return self.now()

    def next(self) -> datetime | None:
        """Turn the clock to the next change; None if nothing is due, ever."""
        return self._running.loop.run(self._running.plane.advance_to_next())

    def run_until(
        self, predicate: Callable[[], object], limit: Duration = timedelta(hours=1), *, message: str = ""
    ) -> datetime:
        """Turn the clock from change to change until it is so. Fails, with the timeline, at the limit.

        The clock does not wait for other programs: let one that runs beside the test react first (``wait_until``).
        """
        __tracebackhide__ = True
        asked_by = sys._getframe(1)
        most = read_duration("limit", limit)
        end = self.now() + most
        while not predicate():
            due = self._running.loop.call(lambda: next_deadline(self._running.plane.region))
            if due is None or due > end:
                self._running.loop.run(self._running.plane.advance(end))
                if not predicate():
                    self._give_up(f"within {most} of the region's time", message, asked_by)
                break
            self.next()
        return self.now()

    def wait_until(self, predicate: Callable[[], object], seconds: float = 10.0, *, message: str = "") -> None:
        """Let real time pass, while the region's stands still, until a program beside the test has made it so.

        Where it does not, the failure shows ``message``, the line that waited, and the phases of the test's events.
        """
        __tracebackhide__ = True
        asked_by = sys._getframe(1)
        deadline = time.monotonic() + seconds
        while not predicate():
            if time.monotonic() > deadline:
                self._give_up(f"within {seconds:g} seconds of real time", message, asked_by)
            time.sleep(_LOOK_EVERY_SECONDS)

    def _hold(self, event_id: str) -> EventHandle:
        """A handle that a failure will tell of."""
        if event_id not in self._held:
            self._held[event_id] = EventHandle(self._running, event_id)
        return self._held[event_id]

    def _give_up(self, within: str, message: str, asked_by: FrameType) -> NoReturn:
        __tracebackhide__ = True
        name, number = asked_by.f_code.co_filename, asked_by.f_lineno
        line = linecache.getline(name, number, asked_by.f_globals).strip()
        held = list(self._held.values())[-_MOST_HELD:]
        told = [
            f"It was not so {within}{f': {message}' if message else '.'}",
            *([f"  {Path(name).name}:{number}: {line}"] if line else []),
            *(f"  {event!r}" for event in held),
        ]
        self._complain("\n".join(told))
