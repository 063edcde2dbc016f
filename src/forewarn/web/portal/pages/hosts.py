"""Hosts: the list, and one with its VMs, its open work and who holds that back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from forewarn.core.looking.lookup import host_named
from forewarn.core.region import Host, HostHealth, Region
from forewarn.plane.read_models.census import WORK
from forewarn.web.operator.routes.hosts import list_hosts
from forewarn.web.operator.schema.fleet_answers import EventAnswer, HostAnswer, HostsAnswer, VmAnswer
from forewarn.web.operator.schema.listing import HostPage
from forewarn.web.operator.telling.views import event_fields, host_fields, vm_fields
from forewarn.web.portal.doors.reading import options
from forewarn.web.portal.forms import NotRight, checked, refuse_other_words
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit, reverse_of

_ROWS = 50  # a screen and a half of a desk, as all lists of the portal
_NO_AZ = "Users of Azure do not see hosts."
_FILTERS = ("health", "ud", "fd", "work", "down")


@dataclass(frozen=True)
class HostList:
    """One page of the list, and where the next one begins."""

    asked: str  # what stands in the filter box
    reverse: bool
    total: int = 0
    hosts: tuple[HostAnswer, ...] = ()
    at_work: frozenset[str] = frozenset()  # names of those whose work has not ended
    following: str | None = None
    refusal: str = ""


@dataclass(frozen=True)
class HostView:
    host: HostAnswer
    vms: list[VmAnswer]
    work: list[EventAnswer]  # events of this host that have not ended, also of VMs that have left it
    awaited: list[EventAnswer]  # those of them that hold the others back


async def part_of(visit: Visit, after: str, limit: int) -> HostsAnswer:
    """Those that the filters of the address choose, from there on."""
    refuse_other_words(visit.first("q"), _FILTERS)
    page = checked(HostPage, {**_filters(visit), **reverse_of(visit), "after": after, "limit": limit})
    return await asyncio.to_thread(list_hosts, page, await visit.listed())


def _filters(visit: Visit) -> dict[str, str]:
    """From the filter box, ``ud:2 work:yes``; a link may also name them one by one."""
    words = (word.partition(":") for word in visit.first("q").split())
    typed = {name: value for name, colon, value in words if colon and name in _FILTERS}
    return {name: visit.first(name) for name in _FILTERS if visit.first(name)} | typed


def _asked(visit: Visit) -> str:
    return " ".join(f"{name}:{value}" for name, value in _filters(visit).items())


async def view_list(visit: Visit) -> HostList:
    """By number; those that fit all filters of the address. A filter that cannot be is told at its field."""
    shown = HostList(_asked(visit), bool(reverse_of(visit)), len(visit.look.region.hosts))
    try:
        found = await part_of(visit, visit.first("after")[:512], _ROWS)
    except NotRight as problem:
        return replace(shown, refusal=problem.message)
    listed = await visit.listed()
    told, region = listed.census.hosts, listed.look.region
    there = (host_named(region, host.name) for host in found.hosts if host.health != HostHealth.LEFT)
    at_work = frozenset(host.name for host in there if told[host.number] & WORK)
    return replace(shown, hosts=tuple(found.hosts), at_work=at_work, following=found.next)


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
    chosen = {**_filters(visit), **reverse_of(visit)}
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
