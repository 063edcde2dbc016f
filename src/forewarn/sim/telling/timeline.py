"""What happened to which VM, as a picture: rows are VMs, bars are events, and the faults stand on top.

Both forms stand alone, without scripts or styles from elsewhere. The HTML page can be widened to look closer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

from forewarn.sim.plan import Misfortune
from forewarn.sim.running import DAY, SimulationOutcome
from forewarn.sim.telling.history import Home, Life, Mishap
from forewarn.sim.telling.summary import how_started, page

_ROW, _BAR, _HEADER, _BAND = 11, 7, 20, 12  # pixels
_UNITS = 10_000.0  # the whole time, in the units of the drawing
_LEAST = 7.0  # units of the narrowest bar, so that a freeze of seconds can be seen
_LABEL_WIDTH, _CHART_WIDTH, _AXIS = 150, 1450, 26  # pixels: a name, a chart for a wide screen, a line of text
_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class _Box:
    """A rectangle, in units across and pixels down."""

    x: float
    y: float
    width: float
    height: float
    style: str  # its class
    title: str = ""


@dataclass(frozen=True, slots=True)
class _Label:
    y: float
    text: str
    style: str


@dataclass(frozen=True, slots=True)
class _Drawing:
    boxes: list[_Box]
    labels: list[_Label]
    height: int
    ticks: list[tuple[float, str]]  # units, text


class _Scale:
    """From instants to units."""

    def __init__(self, outcome: SimulationOutcome) -> None:
        self.begin = outcome.history.begin
        self.end = self.begin + timedelta(seconds=outcome.virtual_seconds)

    def x(self, at: datetime) -> float:
        share = (min(at, self.end) - self.begin) / (self.end - self.begin)
        return round(max(0.0, share) * _UNITS, 1)

    def box(self, begin: datetime, end: datetime, y: float, height: float, style: str, title: str) -> _Box:
        left = self.x(begin)
        return _Box(left, y, max(self.x(end) - left, _LEAST), height, style, title)


def _draw(outcome: SimulationOutcome) -> _Drawing:
    scale, boxes, labels = _Scale(outcome), list[_Box](), list[_Label]()
    y = _faults(outcome, scale, boxes, labels)
    by_vm: dict[str, list[Life]] = {}
    for life in outcome.history.lives.values():
        for vm in life.vms:
            by_vm.setdefault(vm, []).append(life)
    for title, homes in _groups(outcome):
        labels.append(_Label(y + 14, title, "group"))
        y += _HEADER
        for key, home in homes:
            labels.append(_Label(y + 8.5, home.name, "vm"))
            told = f"{home.name} ({home.tenant}), host-{home.host}"
            boxes.append(scale.box(home.born_at, home.gone_at or scale.end, y + 5, 1, "life", told))
            for life in by_vm.get(key, ()):
                boxes += _bars(scale, life, home.name, y + (_ROW - _BAR) / 2)
            y += _ROW
    return _Drawing(boxes, labels, y + 6, _ticks(scale))


def _faults(outcome: SimulationOutcome, scale: _Scale, boxes: list[_Box], labels: list[_Label]) -> int:
    """A band for each kind that struck."""
    by_kind: dict[str, list[Mishap]] = {}
    for mishap in outcome.history.mishaps:
        by_kind.setdefault(mishap.kind, []).append(mishap)
    if not by_kind:
        return 0
    labels.append(_Label(14, "faults", "group"))
    y = _HEADER
    for kind in Misfortune:
        if kind in by_kind:
            labels.append(_Label(y + 9, kind, "vm"))
            for each in by_kind[kind]:
                told = f"{each.begin:%a %H:%M:%S} {each.what}, for {_span(each.end - each.begin)}"
                boxes.append(scale.box(each.begin, each.end, y + 1.5, _BAND - 3, "fault", told))
            y += _BAND
    return y + 4


def _groups(outcome: SimulationOutcome) -> Iterator[tuple[str, list[tuple[str, Home]]]]:
    """Sets first, each by itself; then those that stand alone, host by host of where they live in the end."""
    sets: dict[str, list[tuple[str, Home]]] = {}
    alone: list[tuple[str, Home]] = []
    for key, home in outcome.history.homes.items():
        kind, _, name = home.scope.partition("/")
        if kind == "vm":
            alone.append((key, home))
        else:
            word = "scale set" if kind == "placement-group" else kind.replace("-", " ")
            sets.setdefault(f"{word} {name.partition('~')[0]}", []).append((key, home))
    for title in sorted(sets, key=_natural):
        yield title, sorted(sets[title], key=lambda each: _natural(each[1].name))
    if alone:
        yield "lone VMs, by host", sorted(alone, key=lambda each: (each[1].host or 0, _natural(each[1].name)))


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(name)]


def _bars(scale: _Scale, life: Life, vm: str, y: float) -> Iterator[_Box]:
    """Notice, impact and recovery of one event, one after the other."""
    kind, told = life.type.lower(), _told(life, vm)
    end = life.ended_at or scale.end
    if life.started_at is None:
        yield scale.box(
            life.scheduled_at, end, y, _BAR, "canceled" if life.how == "canceled" else f"{kind} notice", told
        )
        return
    impact_end = life.impact_ended_at or end
    if life.started_at > life.scheduled_at:
        yield scale.box(life.scheduled_at, life.started_at, y, _BAR, f"{kind} notice", told)
    if end > impact_end:
        yield scale.box(impact_end, end, y, _BAR, f"{kind} recovery", told)
    yield scale.box(life.started_at, impact_end, y, _BAR, f"{kind} impact", told)


def _told(life: Life, vm: str) -> str:
    lines = [f"{vm}: {life.type} ({life.cause})", f"scheduled {life.scheduled_at:%a %H:%M:%S}"]
    if life.not_before > life.scheduled_at:
        lines[1] += f", NotBefore {life.not_before:%a %H:%M:%S}"
    if life.started_at is not None:
        by = f" by {life.approved_by}" if life.early else ""
        lines.append(f"started {life.started_at:%a %H:%M:%S}, {how_started(life)}{by}")
    if life.ended_at is not None:
        lines.append(f"{life.how} {life.ended_at:%a %H:%M:%S}")
    if len(life.vms) > 1:
        lines.append(f"with {len(life.vms) - 1} other VMs")
    return "\n".join(lines)


def _span(length: timedelta) -> str:
    seconds = length.total_seconds()
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def _ticks(scale: _Scale) -> list[tuple[float, str]]:
    days = (scale.end - scale.begin).total_seconds() / DAY
    step = timedelta(hours=1 if days <= 0.5 else 3 if days <= 2 else 24 if days <= 20 else 24 * 7)
    found, at = [], scale.begin
    while at < scale.end:
        if scale.x(at) < _UNITS * 0.97:  # a word at the very end would be cut
            found.append((scale.x(at), f"{at:%a %d %b}" if at.hour == 0 else f"{at:%H:%M}"))
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
_LEGEND = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")


def svg(outcome: SimulationOutcome) -> str:
    """One picture, as wide as a screen."""
    drawing = _draw(outcome)
    across = _CHART_WIDTH / _UNITS
    width, height = _LABEL_WIDTH + _CHART_WIDTH + 10, drawing.height + _AXIS + 46
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>{_COLOURS}</style>",
        f'<rect width="{width}" height="{height}" fill="var(--back)"/>',
        f'<text class="group" x="8" y="18">{escape(page(outcome)[0])}</text>',
        *_svg_legend(),
        f'<g transform="translate(0 {_AXIS + 40})">',
        *map(_name, drawing.labels),
        f'<g transform="translate({_LABEL_WIDTH} 0)">',
    ]
    for x, text in drawing.ticks:
        parts.append(f'<rect class="grid" x="{x * across:.1f}" y="-4" width="1" height="{drawing.height + 4}"/>')
        parts.append(f'<text class="tick" x="{x * across + 3:.1f}" y="-7">{escape(text)}</text>')
    parts.append(f'<g transform="scale({across} 1)">')
    return "\n".join([*parts, *map(_rect, drawing.boxes), "</g></g></g></svg>", ""])


def _svg_legend() -> Iterator[str]:
    x = 8
    for kind in _LEGEND:
        yield f'<rect class="{kind.lower()}" x="{x}" y="29" width="18" height="9"/>'
        yield f'<text x="{x + 23}" y="37">{kind}</text>'
        x += 85
    for phase in _PHASES:
        yield f'<rect class="redeploy {phase}" x="{x}" y="29" width="18" height="9"/>'
        yield f'<text x="{x + 23}" y="37">{phase}</text>'
        x += 75
    yield f'<rect class="canceled" x="{x}" y="29" width="18" height="9"/><text x="{x + 23}" y="37">canceled</text>'


def _name(label: _Label) -> str:
    return f'<text class="{label.style}" x="8" y="{label.y}">{escape(label.text)}</text>'


def _rect(box: _Box) -> str:
    title = f"<title>{escape(box.title)}</title>" if box.title else ""
    return (
        f'<rect class="{box.style}" x="{box.x:g}" y="{box.y:g}" width="{box.width:.1f}" height="{box.height:g}">'
        f"{title}</rect>"
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{colours}
  body {{ margin: 0; padding: 16px 20px; background: var(--back); color: var(--ink); }}
  body {{ font: 14px system-ui, sans-serif; }}
  h1 {{ font-size: 18px; margin: 0 0 8px; }}
  pre {{ margin: 0 0 12px; color: var(--soft); font-size: 12px; overflow-x: auto; }}
  .bar {{ display: flex; flex-wrap: wrap; gap: 6px 16px; align-items: center; margin-bottom: 8px; color: var(--soft); }}
  .key {{ display: inline-block; width: 18px; height: 9px; margin-right: 5px; }}
  .key.freeze {{ background: var(--freeze); }} .key.reboot {{ background: var(--reboot); }}
  .key.redeploy {{ background: var(--redeploy); }} .key.preempt {{ background: var(--preempt); }}
  .key.terminate {{ background: var(--terminate); }} .key.canceled {{ background: var(--soft); }}
  .frame {{ display: flex; overflow: auto; max-height: 82vh; border: 1px solid var(--line); border-radius: 6px; }}
  .names {{ position: sticky; left: 0; z-index: 2; background: var(--back); flex: none; }}
  .names {{ border-right: 1px solid var(--line); }}
  .names svg {{ margin-top: {axis}px; }} svg {{ display: block; }}
  .chart {{ position: relative; flex: none; width: calc((100% - {labels}px) * var(--wide, 1)); }}
  .ticks {{ position: sticky; top: 0; z-index: 1; height: {axis}px; background: var(--back); }}
  .ticks {{ border-bottom: 1px solid var(--line); }}
  .ticks span {{ position: absolute; top: 6px; padding-left: 4px; font-size: 11px; }}
  .ticks span {{ color: var(--soft); white-space: nowrap; }}
</style></head><body>
<h1>{title}</h1>
<pre>{summary}</pre>
<div class="bar">{legend}<label>closer <input type="range" min="1" max="40" value="1" step="0.5"
  oninput="document.querySelector('.chart').style.setProperty('--wide', this.value)"></label></div>
<div class="frame"><div class="names"><svg width="{labels}" height="{height}">{names}</svg></div>
<div class="chart"><div class="ticks">{ticks}</div>
<svg viewBox="0 0 10000 {height}" width="100%" height="{height}" preserveAspectRatio="none">{boxes}</svg></div></div>
</body></html>
"""


def html(outcome: SimulationOutcome) -> str:
    """A page: the summary, and the picture with names that stay while one scrolls."""
    drawing, lines = _draw(outcome), page(outcome)
    grid = [_Box(x, 0, 2, drawing.height, "grid") for x, _ in drawing.ticks]
    legend = "".join(f'<span><i class="key {kind.lower()}"></i>{kind}</span>' for kind in _LEGEND)
    phases = "".join(f'<span><i class="key redeploy {each}"></i>{each}</span>' for each in _PHASES)
    return _PAGE.format(
        title=escape(f"forewarn sim: {lines[0]}"),
        colours=_COLOURS,
        axis=_AXIS,
        labels=_LABEL_WIDTH,
        summary=escape("\n".join(line for line in lines[2:] if line)),
        legend=f'{legend}{phases}<span><i class="key canceled"></i>canceled</span>',
        height=drawing.height,
        names="".join(map(_name, drawing.labels)),
        ticks="".join(f'<span style="left:{x / 100:.2f}%">{escape(text)}</span>' for x, text in drawing.ticks),
        boxes="\n".join(map(_rect, [*grid, *drawing.boxes])),
    )
