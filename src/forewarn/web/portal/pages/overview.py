"""The overview: how many of what there is, where, what is coming, and the clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

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
from forewarn.web.portal.drawing.host_map import HostMap, host_map
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit

SPANS = {"1h": timedelta(hours=1), "6h": timedelta(hours=6), "24h": timedelta(days=1), "7d": timedelta(days=7)}
_EVENTS_MOST = 1_000  # ours: looked at for the bars, far more than are drawn


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
    dozen: tuple[str, ...] = tuple(f"forewarn {line}" for line in LINES)  # commands, for the first visit


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
        hosts=host_map(listed.census.hosts if visit.shows("part-map") else b"", partial(_name, listed)),
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


def _name(listed: Listed, number: int) -> str:
    """Of a host by its number."""
    host = listed.look.region.hosts.get(number)
    return f"host-{number}" if host is None else host.name


def _grid(domains: Iterable[DomainCount]) -> list[tuple[int, list[DomainCount | None]]]:
    """A row for each update domain, a column for each fault domain that there is."""
    cells = {(cell.update_domain, cell.fault_domain): cell for cell in domains}
    columns = sorted({fault for _, fault in cells})
    return [(update, [cells.get((update, fault)) for fault in columns]) for update in sorted({ud for ud, _ in cells})]


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
