"""What happened to which VM, as a picture: rows are VMs, bars are events; faults, campaigns and hosts stand on top.

Both forms stand alone, without scripts or styles from elsewhere. The page is the one of the test kit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

from forewarn.sim.plan import Misfortune
from forewarn.sim.running import DAY, SimulationOutcome
from forewarn.sim.telling.summary import page
from forewarn.testing.picture import page as shared
from forewarn.testing.picture.history import Mishap
from forewarn.testing.picture.rows import PictureBar, PictureRow, rows_of, span, worst_of

_ROW, _BAR, _HEADER = 11, 7, 20  # pixels
_LEAST = 1.5  # pixels of the narrowest bar, so that a freeze of seconds can be seen
_LABEL_WIDTH, _CHART_WIDTH, _AXIS = 150, 1450, 26  # pixels: a name, a chart for a wide screen, a line of text


@dataclass(frozen=True, slots=True)
class _Drawing:
    """The same rows, with pixels down for each."""

    rows: list[tuple[PictureRow, int]]
    height: int
    ticks: list[tuple[float, str]]  # pixels across, text


def _rows(outcome: SimulationOutcome) -> tuple[list[PictureRow], datetime]:
    end = outcome.history.begin + timedelta(seconds=outcome.virtual_seconds)
    return rows_of(outcome.history, end, _fault_bands(outcome.history.mishaps)), end


def _draw(outcome: SimulationOutcome) -> _Drawing:
    placed, y = list[tuple[PictureRow, int]](), 0
    rows, _ = _rows(outcome)
    for row in rows:
        placed.append((row, y))
        y += _HEADER if row.kind == "group" else _ROW
    return _Drawing(placed, y + 6, _ticks(outcome))


def _across(outcome: SimulationOutcome, at: datetime) -> float:
    share = (at - outcome.history.begin).total_seconds() / outcome.virtual_seconds
    return round(min(max(share, 0.0), 1.0) * _CHART_WIDTH, 1)


def _ticks(outcome: SimulationOutcome) -> list[tuple[float, str]]:
    days = outcome.virtual_seconds / DAY
    step = timedelta(hours=1 if days <= 0.5 else 3 if days <= 2 else 24 if days <= 20 else 24 * 7)
    found, at = [], outcome.history.begin
    while _across(outcome, at) < _CHART_WIDTH * 0.97:  # a word at the very end would be cut
        found.append((_across(outcome, at), f"{at:%a %d %b}" if at.hour == 0 else f"{at:%H:%M}"))
        at += step
    return found


# The two forms

_COLOURS = """
  svg, body { --ink: #1f2328; --soft: #656d76; --line: #d8dee4; --back: #ffffff; --band: #f6f8fa; --fault: #57606a;
    --freeze: #0969da; --reboot: #bf8700; --redeploy: #8250df; --preempt: #cf222e; --terminate: #1a7f37; }
  @media (prefers-color-scheme: dark) { svg, body { --ink: #e6edf3; --soft: #8d96a0; --line: #30363d; --back: #0d1117;
    --band: #161b22; --fault: #8b949e; --freeze: #4493f8; --reboot: #d4a72c; --redeploy: #ab7df8; --preempt: #f85149;
    --terminate: #3fb950; } }
  .life { fill: var(--line); } .fault { fill: var(--fault); opacity: .75; } .grid { fill: var(--soft); opacity: .35; }
  .freeze { fill: var(--freeze); } .reboot { fill: var(--reboot); } .redeploy { fill: var(--redeploy); }
  .preempt { fill: var(--preempt); } .terminate { fill: var(--terminate); }
  .notice { opacity: .42; } .recovery { opacity: .22; } .canceled { fill: var(--soft); opacity: .35; }
  rect:hover { stroke: var(--ink); stroke-width: 1.5; vector-effect: non-scaling-stroke; opacity: 1; }
  text { fill: var(--ink); font: 9px system-ui, sans-serif; } text.group { font-size: 11px; font-weight: 600; }
  text.vm { fill: var(--soft); } text.tick { fill: var(--soft); font-size: 10px; }
"""
_PHASES = ("notice", "impact", "recovery")
_SOLID = ("impact", "fault", "band")  # the whole height; other phases are lines
_LEGEND = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")


def svg(outcome: SimulationOutcome) -> str:
    """One picture, as wide as a screen."""
    drawing = _draw(outcome)
    width, height = _LABEL_WIDTH + _CHART_WIDTH + 10, drawing.height + _AXIS + 46
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>{_COLOURS}</style>",
        f'<rect width="{width}" height="{height}" fill="var(--back)"/>',
        f'<text class="group" x="8" y="18">{escape(page(outcome)[0])}</text>',
        *_svg_legend(),
        f'<g transform="translate(0 {_AXIS + 40})">',
        *(_name(row, y) for row, y in drawing.rows),
        f'<g transform="translate({_LABEL_WIDTH} 0)">',
    ]
    for x, text in drawing.ticks:
        parts.append(f'<rect class="grid" x="{x:.1f}" y="-4" width="1" height="{drawing.height + 4}"/>')
        parts.append(f'<text class="tick" x="{x + 3:.1f}" y="-7">{escape(text)}</text>')
    parts += [_rect(outcome, bar, y) for row, y in drawing.rows for bar in row.bars]
    return "\n".join([*parts, "</g></g></svg>", ""])


def _svg_legend() -> Iterator[str]:
    x = 8
    for kind in _LEGEND:
        yield f'<rect class="{kind.lower()}" x="{x}" y="29" width="18" height="9"/>'
        yield f'<text x="{x + 23}" y="37">{kind}</text>'
        x += 85
    for phase in _PHASES:
        yield f'<rect class="fault {phase}" x="{x}" y="29" width="18" height="9"/>'
        yield f'<text x="{x + 23}" y="37">{phase}</text>'
        x += 75
    yield f'<rect class="canceled" x="{x}" y="29" width="18" height="9"/><text x="{x + 23}" y="37">canceled</text>'


def _name(row: PictureRow, y: int) -> str:
    below = 14 if row.kind == "group" else 8.5
    return f'<text class="{"group" if row.kind == "group" else "vm"}" x="8" y="{y + below}">{escape(row.name)}</text>'


def _rect(outcome: SimulationOutcome, bar: PictureBar, y: int) -> str:
    left = _across(outcome, bar.begin)
    width = max(_across(outcome, bar.end) - left, _LEAST)
    top, high = (y + 5, 1) if bar.phase == "life" else (y + 2, _BAR) if bar.phase in _SOLID else (y + 4, 3)
    style = f"{bar.type.lower()} {bar.phase}".strip()
    title = f"<title>{escape(bar.told)}</title>"
    return f'<rect class="{style}" x="{left:g}" y="{top}" width="{width:.1f}" height="{high}">{title}</rect>'


def html(outcome: SimulationOutcome) -> str:
    """The page that tests have too: faults, campaigns and hosts as bands above the VMs."""
    history, lines = outcome.history, page(outcome)
    rows, end = _rows(outcome)
    summary = [line for line in lines[2:] if line]
    return shared.html(f"forewarn sim: {lines[0]}", summary, history.begin, end, rows, worst_of(history, rows))


def _fault_bands(mishaps: list[Mishap]) -> Iterator[PictureRow]:
    for kind in Misfortune:
        struck = [each for each in mishaps if each.kind == kind]
        if struck:
            yield PictureRow(f"fault: {kind}", "band", [_fault_bar(each) for each in struck])


def _fault_bar(mishap: Mishap) -> PictureBar:
    told = f"{mishap.begin:%a %H:%M:%S} {mishap.what}, for {span(mishap.end - mishap.begin)}"
    return PictureBar(mishap.begin, mishap.end, "", "fault", told)
