"""Virtual machines: the list.

What is filtered, and how far one has come, stands in the address: a link shows somebody else the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.core.refusal import Refused
from forewarn.web.operator.routes.fleet import list_vms
from forewarn.web.operator.schema.fleet_answers import VmAnswer
from forewarn.web.operator.schema.listing import VmPage
from forewarn.web.portal.filter_box import read_filter
from forewarn.web.portal.page import PortalPage, Visit

_ROWS = 50


@dataclass(frozen=True)
class VmList:
    """One page of the list, and where the next one begins."""

    q: str  # the words of the filter box
    scope: str  # of which alone; empty for all
    refusal: str  # why the words make no sense
    total: int  # of the region
    looked_at: int
    vms: list[VmAnswer]
    following: str | None


async def view_list(visit: Visit) -> VmList:
    """The VMs of the whole region that the filter box asks for, or of ``?scope=``, by name."""
    listed = await visit.listed()
    q, scope, total = visit.first("q").strip(), visit.first("scope"), len(listed.look.region.vms)
    try:
        more = {"scope": scope} if scope else {}
        found = list_vms(read_filter(q, VmPage, after=visit.first("after"), limit=_ROWS, **more), listed)
    except Refused as refused:
        if not q:
            raise
        return VmList(q, scope, refused.message, total, 0, [], None)
    return VmList(q, scope, "", total, found.looked_at, found.vms, found.next)


PAGES = (
    PortalPage(
        "vms",
        "/vms",
        "Virtual machines",
        view_list,
        "pages/vms.html",
        parts={"part-vms": "parts/vms.html"},
        api=("GET /v1/vms",),
        menu="VMs",
    ),
)
