"""The overview: how many of what there is, where, what is coming, and the clock."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from itertools import groupby, islice

from forewarn.plane.read_models.census import HEALTHS, WORK, down_at
from forewarn.web.operator.desk import Listed
from forewarn.web.operator.listing.counts import fleet_fields
from forewarn.web.operator.routes.events import list_events
from forewarn.web.operator.routes.forecast import ForecastFact, ForecastQuery
from forewarn.web.operator.routes.forecast import show as forecast
from forewarn.web.operator.schema.counts import DomainCount, FleetAnswer
from forewarn.web.operator.schema.listing import EventPage
from forewarn.web.portal.deeds.first_visit import LINES
from forewarn.web.portal.drawing.coming import (
    LINES_MOST,
    ComingLine,
    Window,
    lapses_of,
    lines_of,
    lines_of_cohorts,
    window_of,
)
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit

SPANS = {"1h": timedelta(hours=1), "6h": timedelta(hours=6), "24h": timedelta(days=1), "7d": timedelta(days=7)}
_EVENTS_MOST = 1_000  # ours: looked at for the bars, far more than are drawn
_CELLS_MOST = 600  # ours, of the map: half a screen; where there are more hosts, a cell stands for several
_LINKS_MOST = 100  # ours, of the map: beyond that, neighbours of one row that are alike lead to the first of them
_COLUMNS = 30  # of the map: with _CELLS_MOST twenty rows of squares, half a screen
_NOTABLE_MOST = 20  # hosts with their names below the map; the list of hosts has all of them


@dataclass(frozen=True)
class Cell:
    """Squares of the map that lead to the same place: one, or a row of neighbours where very many have news."""

    path: str
    first: int  # hosts, from this one to that one
    last: int
    state: str  # failed, failing, work, down: of the worst of them


@dataclass(frozen=True)
class HostMap:
    """Hosts as squares. Those of which there is nothing to tell are drawn as one path."""

    columns: int
    rows: int
    each: int  # hosts of a square
    quiet: str  # the path
    cells: list[Cell]
    notable: list[tuple[str, str]]  # the first few hosts of which there is something to tell, and what
    notable_total: int


@dataclass(frozen=True)
class Overview:
    fleet: FleetAnswer
    grid: list[tuple[int, list[DomainCount | None]]]
    fault_domains: list[int]
    hosts: HostMap
    span: str
    spans: tuple[str, ...]
    window: Window
    now_x: float
    lines: list[ComingLine]
    following: ForecastFact | None  # what happens next
    more_events: bool
    dozen: str = "\n".join(f"forewarn {line}" for line in LINES)  # commands, for the first visit


async def view(visit: Visit) -> Overview:
    listed = await visit.listed()
    fleet, now = fleet_fields(listed), listed.look.now
    span = visit.first("span") if visit.first("span") in SPANS else "1h"
    window = window_of(now, SPANS[span])
    coming = visit.shows("part-coming") or visit.shows("part-clock")
    lines, ahead = await _coming(visit, listed, window) if coming else ([], [])
    return Overview(
        fleet=fleet,
        grid=_grid(fleet.domains),
        fault_domains=sorted({cell.fault_domain for cell in fleet.domains}),
        hosts=host_map(listed.census.hosts if visit.shows("part-map") else b""),
        span=span,
        spans=tuple(SPANS),
        window=window,
        now_x=window.x(now),
        lines=[*lines, *lapses_of(window, ahead)],
        following=ahead[0] if ahead else None,
        more_events=len(listed.register.events) > len(lines) == LINES_MOST,
    )


async def _coming(visit: Visit, listed: Listed, window: Window) -> tuple[list[ComingLine], Sequence[ForecastFact]]:
    """The lines, and what is foreseen. Of very many events nothing is: to unfold their course takes too long."""
    if len(listed.register.events) > _EVENTS_MOST:
        return lines_of_cohorts(window, listed), []
    events = list_events(EventPage.model_validate({"limit": _EVENTS_MOST, "order": "not_before"}), visit.desk, listed)
    query = ForecastQuery.model_validate({"until": window.end.isoformat()})
    ahead = (await forecast(query, visit.desk, listed.look)).facts
    return lines_of(window, events.events, ahead), ahead


def _grid(domains: Iterable[DomainCount]) -> list[tuple[int, list[DomainCount | None]]]:
    """A row for each update domain, a column for each fault domain that there is."""
    cells = {(cell.update_domain, cell.fault_domain): cell for cell in domains}
    columns = sorted({fault for _, fault in cells})
    return [(update, [cells.get((update, fault)) for fault in columns]) for update in sorted({ud for ud, _ in cells})]


# Hosts


def host_map(told: bytes) -> HostMap:
    """At most so many squares that a page stays small, whatever the number of hosts."""
    each = -(-len(told) // _CELLS_MOST) or 1
    total = -(-len(told) // each)
    columns = min(_COLUMNS, total) or 1
    states = [_worst(told[first : first + each]) for first in range(0, len(told), each)]
    many = total - states.count("") > _LINKS_MOST
    alike = groupby(range(total), key=lambda at: (states[at], at // columns if many or not states[at] else at))
    rows = [(state, list(squares)) for (state, _), squares in alike]
    paths = [(state, _squares(row[0], len(row), columns), row) for state, row in rows]
    quiet = "".join(path for state, path, _ in paths if not state)
    cells = [
        Cell(path, row[0] * each, min((row[-1] + 1) * each, len(told)) - 1, state)
        for state, path, row in paths
        if state
    ]
    notable = islice((found.start() for found in _NOTABLE.finditer(told)), _NOTABLE_MOST)
    first = [(f"host-{number}", told_of(told[number])) for number in notable]
    return HostMap(columns, -(-total // columns), each, quiet, cells, first, len(told) - told.count(0))


def _squares(first: int, number: int, columns: int) -> str:
    """As many as follow each other in one row."""
    return f"M{first % columns * 10 + 1} {first // columns * 10 + 1}h8v8h-8z" + "m10 0h8v8h-8z" * (number - 1)


_NOTABLE = re.compile(rb"[^\0]")  # there may be very many hosts, and few of which there is something to tell


@lru_cache(4_096)
def _worst(hosts: bytes) -> str:
    """Most squares of a large fleet have the same few bytes."""
    return min((_state(host) for host in set(hosts) if host), key=_STATES.index, default="")


_STATES = ("failed", "silent", "failing", "work", "down")


def _state(host: int) -> str:
    health = HEALTHS[host & 3].value
    return health if health != "healthy" else "work" if host & WORK else "down"


def told_of(host: int) -> str:
    """A host's byte in words."""
    words = [HEALTHS[host & 3].value]
    if host & WORK:
        words.append("work is open")
    if down := down_at(host):
        words.append(f"{down if down < 31 else '31 or more'} {'VM does' if down == 1 else 'VMs do'} not run")
    return ", ".join(words)


PAGES = (
    PortalPage(
        "overview",
        "/",
        "Overview",
        view,
        "pages/overview.html",
        parts={
            "part-counts": "parts/overview_counts.html",
            "part-grid": "parts/overview_grid.html",
            "part-map": "parts/overview_map.html",
            "part-clock": "parts/overview_clock.html",
            "part-coming": "parts/overview_coming.html",
        },
        api=("GET /v1/fleet", "GET /v1/fleet/hosts", "GET /v1/events", "GET /v1/forecast", "GET /v1/clock"),
        reading=lambda visit: Elsewhere((("fleet", "--domains"), ("forecast",), ("clock", "show"))),
        menu="Overview",
    ),
)
