"""A time axis as numbers for a drawing: where instants stand, and which ticks help to read them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH = 1000.0  # of the drawing, in its own units
_STEPS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080)
)
_TICKS_MOST = 8


@dataclass(frozen=True)
class Tick:
    x: float
    text: str


@dataclass(frozen=True)
class Axis:
    """From ``begin`` to ``end``, drawn from ``left`` to ``WIDTH``."""

    begin: datetime
    end: datetime
    left: float = 0.0

    def x(self, at: datetime) -> float:
        """Where an instant stands; what is beyond an end stands at that end."""
        share = (at - self.begin) / (self.end - self.begin)
        return round(self.left + (WIDTH - self.left) * min(max(share, 0.0), 1.0), 1)

    def ticks(self) -> list[Tick]:
        """At round instants, few enough that their texts do not touch."""
        span = self.end - self.begin
        step = next((step for step in _STEPS if span / step <= _TICKS_MOST), _STEPS[-1])
        midnight = self.begin.replace(hour=0, minute=0, second=0, microsecond=0)
        at, found = midnight + step * -(-(self.begin - midnight) // step), list[Tick]()
        while at <= self.end:
            found.append(Tick(self.x(at), f"{at:%H:%M}" if step < timedelta(days=1) else f"{at:%m-%d}"))
            at += step
        return found
