"""Virtual machines: the list, with what is filtered in the address, and the form that makes more."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from forewarn.core.refusal import Refused
from forewarn.web.operator.errors import refusal_of
from forewarn.web.operator.routes.fleet import list_vms
from forewarn.web.operator.schema.fleet_answers import VmAnswer, VmsAnswer
from forewarn.web.operator.schema.listing import VmPage
from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.deeds.deed import PortalDeed
from forewarn.web.portal.doors.reading import options
from forewarn.web.portal.forms import Given, NotRight, checked
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit, reverse_of

_ROWS = 50  # a screen and a half of a desk, as all lists of the portal
_FILTERS = ("power", "ud", "fd", "host", "spot", "pending", "scope")
BULK = ("restart", "redeploy", "reimage", "stop", "deallocate", "start", "evict", "delete")


@dataclass(frozen=True)
class VmList:
    """One page of the list, and where the next one begins."""

    asked: str  # what stands in the filter box
    reverse: bool
    total: int = 0  # of the region
    vms: tuple[VmAnswer, ...] = ()
    following: str | None = None
    looked_at: int | None = None
    refusal: str = ""
    bulk: tuple[PortalDeed, ...] = field(default=tuple(DEEDS[key] for key in BULK))


def filters_of(asked: str) -> dict[str, str]:
    """``web power:stopped ud:2``: words with a colon are filters, the others are a part of the name."""
    found: dict[str, str] = {}
    names = []
    for word in asked.split():
        name, colon, value = word.partition(":")
        if colon and name in _FILTERS:
            found[name] = value
        else:
            names.append(word)
    return {**found, "name": " ".join(names)} if names else found


async def part_of(visit: Visit, after: str, limit: int) -> VmsAnswer:
    """Those that the filter of the address chooses, from there on."""
    page = checked(VmPage, {**filters_of(visit.first("q")), **reverse_of(visit), "after": after, "limit": limit})
    return await asyncio.to_thread(list_vms, page, await visit.listed())


async def view_list(visit: Visit) -> VmList:
    """By name, 50 at a time. A filter that cannot be is told at its field."""
    asked = visit.first("q")
    shown = VmList(asked, bool(reverse_of(visit)), len(visit.look.region.vms))
    try:
        found = await part_of(visit, visit.first("after")[:512], _ROWS)
    except NotRight as problem:
        return replace(shown, refusal=problem.message)
    except Refused as problem:
        told = refusal_of(problem, visit.desk)
        return replace(shown, refusal=told[2] if told else problem.message)
    return replace(shown, vms=tuple(found.vms), following=found.next, looked_at=found.looked_at)


@dataclass(frozen=True)
class NewVms:
    """The form for new VMs: it leads to the confirmation of its deed."""

    deed: PortalDeed
    given: Given


async def view_new(visit: Visit) -> NewVms:
    return NewVms(DEEDS["create-vms"], visit.query)


def _reading(visit: Visit) -> Elsewhere:
    chosen = {**filters_of(visit.first("q")), **reverse_of(visit)}
    return Elsewhere((("vm", "list", *options(chosen)),), chosen, az=(("vm", "list", "-o", "table"),))


PAGES = (
    PortalPage(
        "vms",
        "/vms",
        "Virtual machines",
        view_list,
        "pages/vms.html",
        parts={"part-vms": "parts/vms.html"},
        api=("GET /v1/vms",),
        reading=_reading,
        menu="VMs",
    ),
    PortalPage(
        "new-vms",
        "/vms/new",
        "Add virtual machines",
        view_new,
        "pages/new_vms.html",
        api=("POST /v1/vms",),
        under="vms",
    ),
)
