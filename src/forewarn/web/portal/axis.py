"""Time from left to right, as numbers for an SVG: bars of what was and what is foreseen, and a line for now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH = 1000  # units of the drawing: finer than the pixels of most screens
_MARGIN = 0.03  # ours: of the span, on both sides
_SHORTEST = timedelta(seconds=1)
_THINNEST = 3  # ours: a bar that lasts an instant can still be seen


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
    x: int
    width: int
    span: Span


@dataclass(frozen=True)
class AxisLabel:
    x: int
    at: datetime


@dataclass(frozen=True)
class Axis:
    """``viewBox`` is WIDTH wide; heights are the template's."""

    bars: tuple[Bar, ...]
    ticks: tuple[AxisLabel, ...]
    now: int | None
    width: int = WIDTH


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

    def place(at: datetime) -> int:
        return round((at - first) / whole * WIDTH)

    bars = tuple(Bar(place(each.start), max(_THINNEST, place(each.end) - place(each.start)), each) for each in spans)
    return Axis(bars, _ticks(spans, place), place(now) if 0 <= place(now) <= WIDTH else None)


def _ticks(spans: Iterable[Span], place: object) -> tuple[AxisLabel, ...]:
    """Where something begins or ends; of several in one place the first."""
    assert callable(place)
    found: dict[int, AxisLabel] = {}
    for at in sorted({each for span in spans for each in (span.start, span.end)}):
        x = place(at)
        if all(abs(x - other) > WIDTH // 12 for other in found):
            found[x] = AxisLabel(x, at)
    return tuple(found.values())
