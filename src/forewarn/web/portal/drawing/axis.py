"""Time from left to right, as numbers for an SVG: bars of what was and what is foreseen, and a line for now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH = 100.0  # places are percentages, so that words keep their size on any screen
_MARGIN = 0.03  # ours: of the span, on both sides
_SHORTEST = timedelta(seconds=1)
_THINNEST = 0.3  # ours: a bar that lasts an instant can still be seen


@dataclass(frozen=True)
class Span:
    """Something that lasts: ``kind`` is its look, ``foreseen`` says that it has yet to come."""

    kind: str  # notice, impact, recovery
    start: datetime
    end: datetime
    text: str
    foreseen: bool = False


@dataclass(frozen=True)
class Bar:
    x: float
    width: float
    span: Span


@dataclass(frozen=True)
class AxisLabel:
    x: float
    at: datetime


@dataclass(frozen=True)
class Axis:
    """Heights are the template's."""

    bars: tuple[Bar, ...]
    ticks: tuple[AxisLabel, ...]
    now: float | None


def axis_of(spans: Sequence[Span], now: datetime) -> Axis:
    """An axis that shows all of these; now, too, where it is not far away from them."""
    if not spans:
        return Axis((), (), None)
    first, last = min(span.start for span in spans), max(span.end for span in spans)
    whole = max(last - first, _SHORTEST)
    if first - whole <= now <= last + whole:
        first, last = min(first, now), max(last, now)
    whole = max(last - first, _SHORTEST)
    first, whole = first - whole * _MARGIN, whole * (1 + 2 * _MARGIN)

    def place(at: datetime) -> float:
        return round((at - first) / whole * WIDTH, 2)

    bars = tuple(
        Bar(place(each.start), max(_THINNEST, round(place(each.end) - place(each.start), 2)), each) for each in spans
    )
    return Axis(bars, _ticks(spans, place), place(now) if 0 <= place(now) <= WIDTH else None)


def _ticks(spans: Iterable[Span], place: object) -> tuple[AxisLabel, ...]:
    """Where something begins or ends; of several in one place the first."""
    assert callable(place)
    found: dict[float, AxisLabel] = {}
    for at in sorted({each for span in spans for each in (span.start, span.end)}):
        x = place(at)
        if all(abs(x - other) > WIDTH / 12 for other in found):
            found[x] = AxisLabel(x, at)
    return tuple(found.values())
