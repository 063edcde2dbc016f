"""Virtual machines: the list.

What is filtered, and how far one has come, stands in the address: a link shows somebody else the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.web.operator.routes.fleet import list_vms
from forewarn.web.operator.schema.fleet_answers import VmAnswer
from forewarn.web.operator.schema.listing import VmPage
from forewarn.web.portal.page import PortalPage, Visit

_ROWS = 50


@dataclass(frozen=True)
class VmList:
    """One page of the list, and where the next one begins."""

    scope: str  # of which alone; empty for all
    total: int  # of the region
    vms: list[VmAnswer]
    following: str | None


async def view_list(visit: Visit) -> VmList:
    """The VMs of the whole region, or of ``?scope=``, by name."""
    scope = visit.first("scope")
    asked = {"after": visit.first("after"), "scope": scope, "limit": _ROWS}
    found = list_vms(VmPage.model_validate(asked), await visit.listed())
    return VmList(scope, found.total, found.vms, found.next)


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
