"""The overview: how many of what there is, what is coming, and the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from forewarn.web.operator.routes.events import list_events
from forewarn.web.operator.schema.fleet_answers import EventAnswer
from forewarn.web.operator.schema.requests import EventPage
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


def view(visit: Visit) -> Overview:
    region = visit.look.region
    events = list_events(EventPage.model_validate({"limit": _MOST_EVENTS}), visit.desk, visit.look)
    return Overview(
        vms=len(region.vms),
        power=Counter(vm.power.value for vm in region.vms.values()),
        hosts=len(region.hosts),
        health=Counter(host.health.value for host in region.hosts.values()),
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
        api=("GET /v1/events", "GET /v1/clock"),
        menu="Overview",
    ),
)
