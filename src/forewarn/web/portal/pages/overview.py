"""The overview: how many of what there is, what is coming, and the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forewarn.web.operator.listing.counts import fleet_fields
from forewarn.web.operator.routes.events import list_events
from forewarn.web.operator.schema.fleet_answers import EventAnswer
from forewarn.web.operator.schema.listing import EventPage
from forewarn.web.portal.page import PortalPage, Visit

_MOST_EVENTS = 20


@dataclass(frozen=True)
class Overview:
    vms: int
    power: Mapping[str, int]
    hosts: int
    health: Mapping[str, int]
    events: list[EventAnswer]
    more_events: bool


async def view(visit: Visit) -> Overview:
    listed = await visit.listed()
    fleet = fleet_fields(listed)
    events = list_events(EventPage.model_validate({"limit": _MOST_EVENTS}), visit.desk, listed)
    return Overview(
        vms=fleet.vms_total,
        power=fleet.power,
        hosts=fleet.hosts_total,
        health={health: number for health, number in fleet.health.items() if number},
        events=events.events,
        more_events=events.next is not None,
    )


PAGES = (
    PortalPage(
        "overview",
        "/",
        "Overview",
        view,
        "pages/overview.html",
        parts={"part-counts": "parts/overview_counts.html", "part-coming": "parts/overview_coming.html"},
        api=("GET /v1/fleet", "GET /v1/events", "GET /v1/clock"),
        menu="Overview",
    ),
)
