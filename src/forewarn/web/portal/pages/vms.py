"""Virtual machines: the list."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.web.operator.routes.fleet import list_vms
from forewarn.web.operator.schema.fleet_answers import VmAnswer
from forewarn.web.operator.schema.requests import VmPage
from forewarn.web.portal.page import PortalPage, Visit

_ROWS = 50


@dataclass(frozen=True)
class VmList:
    vms: list[VmAnswer]
    following: str | None


def view_list(visit: Visit) -> VmList:
    found = list_vms(VmPage.model_validate({"after": visit.first("after"), "limit": _ROWS}), visit.look)
    return VmList(found.vms, found.next)


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
