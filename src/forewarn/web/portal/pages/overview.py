"""The overview: how many of what there is, where, what is coming, and the clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from forewarn.plane.read_models.census import HEALTHS, WORK, down_at
from forewarn.web.operator.listing.counts import fleet_fields
from forewarn.web.operator.routes.events import list_events
from forewarn.web.operator.routes.forecast import ForecastFact, ForecastQuery
from forewarn.web.operator.routes.forecast import show as forecast
from forewarn.web.operator.schema.counts import DomainCount, FleetAnswer
from forewarn.web.operator.schema.fleet_answers import EventAnswer
from forewarn.web.operator.schema.listing import EventPage
from forewarn.web.portal.axis import Axis
from forewarn.web.portal.page import PortalPage, Visit

SPANS = {"1h": timedelta(hours=1), "6h": timedelta(hours=6), "24h": timedelta(days=1), "7d": timedelta(days=7)}
_BARS_MOST = 40
_EVENTS_MOST = 1_000  # that are looked at for the bars
_CELLS_MOST = 600  # of the map: where there are more hosts, a cell stands for several
_COLUMNS = 30
_NOTABLE_MOST = 20
_PAST_SHARE = 0.15  # of the axis that lies before now


@dataclass(frozen=True)
class Cell:
    """One square of the map: a host, or several that follow each other, by the worst of them."""

    x: int
    y: int
    first: int
    last: int
    state: str  # failed, failing, work, down


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
class Bar:
    """One line of what is coming: an event, several that are alike, or what else will happen."""

    id: str
    text: str
    event: str  # the one event, where it is one
    phase: str
    not_before: datetime | None
    notice: tuple[float, float]
    impact: tuple[float, float] | None
    recovery: tuple[float, float] | None


@dataclass(frozen=True)
class Overview:
    fleet: FleetAnswer
    grid: list[tuple[int, list[DomainCount | None]]]
    fault_domains: list[int]
    hosts: HostMap
    span: str
    spans: tuple[str, ...]
    axis: Axis
    now_x: float
    bars: list[Bar]
    lapses: list[ForecastFact]
    more_events: bool


async def view(visit: Visit) -> Overview:
    listed = await visit.listed()
    fleet, now = fleet_fields(listed), listed.look.now
    span = visit.first("span") if visit.first("span") in SPANS else "1h"
    axis = _axis(now, SPANS[span])
    events = list_events(EventPage.model_validate({"limit": _EVENTS_MOST, "order": "not_before"}), visit.desk, listed)
    query = ForecastQuery.model_validate({"until": axis.end.isoformat()})
    ahead = (await forecast(query, visit.desk, listed.look)).facts
    return Overview(
        fleet=fleet,
        grid=_grid(fleet.domains),
        fault_domains=sorted({cell.fault_domain for cell in fleet.domains}),
        hosts=host_map(listed.census.hosts),
        span=span,
        spans=tuple(SPANS),
        axis=axis,
        now_x=axis.x(now),
        bars=_bars(axis, events.events, ahead),
        lapses=[fact for fact in ahead if fact.fact == "ScopeDisabled"][:_BARS_MOST],
        more_events=events.next is not None,
    )


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
    cells = [
        Cell(place % columns, place // columns, place * each, min(place * each + each, len(told)) - 1, state)
        for place, state in enumerate(states)
        if state
    ]
    quiet = "".join(
        f"M{place % columns * 10 + 1} {place // columns * 10 + 1}h8v8h-8z"
        for place, state in enumerate(states)
        if not state
    )
    notable = [number for number, host in enumerate(told) if host]
    first = [(f"host-{number}", told_of(told[number])) for number in notable[:_NOTABLE_MOST]]
    return HostMap(columns, -(-total // columns), each, quiet, cells, first, len(notable))


def _worst(hosts: Sequence[int]) -> str:
    return min((_state(host) for host in hosts if host), key=_STATES.index, default="")


_STATES = ("failed", "failing", "work", "down")


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


# What is coming


def _axis(now: datetime, span: timedelta) -> Axis:
    return Axis(now - span * _PAST_SHARE, now + span)


def _bars(axis: Axis, events: Sequence[EventAnswer], ahead: Sequence[ForecastFact]) -> list[Bar]:
    """One for each event; where there are very many, one for those of a type that start together."""
    shown = [event for event in events if event.scheduled_at <= axis.end]
    steps: dict[str, dict[str, datetime]] = {}
    for fact in ahead:
        if fact.event is not None:
            steps.setdefault(fact.event, {})[fact.fact] = fact.at
    if len(shown) <= _BARS_MOST:
        return [_bar(axis, [event], steps.get(event.id, {})) for event in shown]
    alike = groupby(sorted(shown, key=_likeness), key=_likeness)
    groups = [list(group) for _, group in alike]
    return [_bar(axis, group, steps.get(group[0].id, {})) for group in groups[:_BARS_MOST]]


def _likeness(event: EventAnswer) -> tuple[datetime, str, str]:
    return event.not_before, event.type, event.phase


def _bar(axis: Axis, events: Sequence[EventAnswer], ahead: dict[str, datetime]) -> Bar:
    """What has happened is known; the rest is the forecast's."""
    event = events[0]
    started = event.started_at or ahead.get("EventStarted")
    began = event.impact_began_at or ahead.get("ImpactBegan") or started
    ended = event.impact_ended_at or event.impact_ends_at or ahead.get("ImpactEnded")
    gone = ahead.get("EventCompleted")
    vms = event.vms[0] if event.vms else event.scope
    single = f"{vms} and {len(event.vms) - 1} more" if len(event.vms) > 1 else vms
    return Bar(
        id=event.id,
        text=f"{event.type} {single}" if len(events) == 1 else f"{event.type}, {len(events)} events",
        event=event.id if len(events) == 1 else "",
        phase=event.phase,
        not_before=event.not_before,
        notice=(axis.x(event.scheduled_at), axis.x(started or event.not_before)),
        impact=None if began is None or ended is None else (axis.x(began), axis.x(ended)),
        recovery=None if ended is None or gone is None else (axis.x(ended), axis.x(gone)),
    )


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
        menu="Overview",
    ),
)
