"""What was measured, what was wanted, and the table of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median


@dataclass(frozen=True)
class Figure:
    """One line of the table. ``limit`` is what must not be passed: upwards, or downwards where ``at_least``."""

    part: str
    what: str
    value: float | None  # None where it could not be measured; the note says why
    unit: str = ""
    limit: float | None = None
    at_least: bool = False
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.limit is None or self.value is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def target(self) -> str:
        if self.limit is None:
            return ""
        return f"{'at least' if self.at_least else 'at most'} {amount(self.limit)}{_unit(self.unit)}"

    def measured(self) -> str:
        if self.value is None:
            return "not measured"
        text = f"{amount(self.value)}{_unit(self.unit)}"
        if self.low is None or self.high is None:
            return text
        return f"{text} ({amount(self.low)} to {amount(self.high)})"


def figure_of(
    part: str,
    what: str,
    values: Sequence[float],
    unit: str = "",
    limit: float | None = None,
    *,
    at_least: bool = False,
    note: str = "",
) -> Figure:
    """The median of several rounds, with the lowest and the highest."""
    low, high = (min(values), max(values)) if len(values) > 1 else (None, None)
    return Figure(part, what, median(values), unit, limit, at_least, low, high, note)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def amount(value: float) -> str:
    """Three digits that matter; thousands are grouped."""
    if value == int(value) and abs(value) < 1000:
        return str(int(value))
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _unit(unit: str) -> str:
    return f" {unit}" if unit and unit != "x" else unit


def as_records(figures: Iterable[Figure]) -> list[dict[str, object]]:
    return [{**asdict(figure), "met": figure.met} for figure in figures]


def as_table(figures: Sequence[Figure]) -> str:
    """A Markdown table that also reads well in a terminal."""
    header = ("part", "figure", "measured (lowest to highest)", "target", "")
    rows = [(each.part, each.what, each.measured(), each.target(), _verdict(each.met)) for each in figures]
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    notes = [f"{figure.part}, {figure.what}: {figure.note}" for figure in figures if figure.note]
    lines = [_line(header, widths), rule, *(_line(row, widths) for row in rows)]
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def _verdict(met: bool | None) -> str:
    return {None: "", True: "met", False: "MISSED"}[met]
