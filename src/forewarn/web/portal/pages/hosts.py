"""Hosts: the list, and one with its VMs, its open work and who holds that back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from forewarn.core.looking.lookup import host_named
from forewarn.core.region import Host, Region
from forewarn.web.operator.routes.hosts import list_hosts
from forewarn.web.operator.schema.fleet_answers import EventAnswer, HostAnswer, HostsAnswer, VmAnswer
from forewarn.web.operator.schema.listing import HostPage
from forewarn.web.operator.telling.views import event_fields, host_fields, vm_fields
from forewarn.web.portal.doors.reading import options
from forewarn.web.portal.forms import checked
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit

_ROWS = 50  # a screen and a half of a desk, as all lists of the portal
_NO_AZ = "Users of Azure do not see hosts."
_FILTERS = ("health", "ud", "fd", "work", "down")


@dataclass(frozen=True)
class HostList:
    """One page of the list, and where the next one begins."""

    filters: dict[str, str]
    total: int
    hosts: list[HostAnswer]
    following: str | None


@dataclass(frozen=True)
class HostView:
    host: HostAnswer
    vms: list[VmAnswer]
    work: list[EventAnswer]  # events of this host that have not ended, also of VMs that have left it
    awaited: list[EventAnswer]  # those of them that hold the others back


async def part_of(visit: Visit, after: str, limit: int) -> HostsAnswer:
    """Those that the filters of the address choose, from there on."""
    page = checked(HostPage, {**_filters(visit), "after": after, "limit": limit})
    return await asyncio.to_thread(list_hosts, page, await visit.listed())


def _filters(visit: Visit) -> dict[str, str]:
    return {name: visit.first(name) for name in _FILTERS if visit.first(name)}


async def view_list(visit: Visit) -> HostList:
    """By number; those that fit all filters of the address."""
    found = await part_of(visit, visit.first("after"), _ROWS)
    return HostList(_filters(visit), found.total, found.hosts, found.next)


def view_host(visit: Visit) -> HostView:
    look = visit.look
    host = host_named(look.region, visit.path["name"])
    work = [event_fields(look, look.region.events[each]) for each in _work_on(look.region, host)]
    held_back = {other for event in work for other in event.awaited}
    return HostView(
        host_fields(look.region, host),
        [vm_fields(look.region, look.region.vms[key]) for key in sorted(host.vms)],
        work,
        [event for event in work if event.id in held_back],
    )


def _work_on(region: Region, host: Host) -> list[str]:
    ids = (each for key in sorted(host.vms) for each in region.vms[key].events)
    return [each for each in dict.fromkeys(ids) if region.events[each].host == host.number]


def _reading(visit: Visit) -> Elsewhere:
    chosen = _filters(visit)
    return Elsewhere((("host", "list", *options(chosen)),), chosen, no_az=_NO_AZ)


PAGES = (
    PortalPage(
        "hosts",
        "/hosts",
        "Hosts",
        view_list,
        "pages/hosts.html",
        parts={"part-hosts": "parts/hosts.html"},
        api=("GET /v1/hosts",),
        reading=_reading,
        menu="Hosts",
    ),
    PortalPage(
        "host",
        "/hosts/{name}",
        "Host",
        view_host,
        "pages/host.html",
        parts={"part-host": "parts/host.html"},
        api=("GET /v1/hosts/{name}",),
        reading=lambda visit: Elsewhere((("host", "show", visit.path["name"]),), no_az=_NO_AZ),
        under="hosts",
    ),
)
