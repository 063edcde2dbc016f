"""Faults: what goes wrong on purpose between the metadata face of this node and its callers."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.web.operator.routes.faults import list_faults
from forewarn.web.operator.schema.answers import FaultAnswer
from forewarn.web.portal.deeds.faults import EFFECTS
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit


@dataclass(frozen=True)
class Faults:
    node: str
    metadata: str
    faults: list[FaultAnswer]
    effects: dict[str, str]


async def view(visit: Visit) -> Faults:
    found = await list_faults(visit.desk)
    return Faults(visit.desk.plane.membership.node.name, visit.desk.metadata_url, found.faults, EFFECTS)


PAGES = (
    PortalPage(
        "faults",
        "/faults",
        "Faults",
        view,
        "pages/faults.html",
        parts={"part-faults": "parts/faults.html"},
        api=("GET /v1/faults",),
        reading=lambda visit: Elsewhere((("fault", "list"),)),
        menu="Faults",
    ),
)
