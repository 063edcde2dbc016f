"""Real machines: those of VMs, the hosts that the server's files declare, and what could be adopted."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.web.operator.routes.machines import list_machines, list_unadopted
from forewarn.web.operator.schema.machines import MachinesAnswer, UnadoptedsAnswer
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit


@dataclass(frozen=True)
class MachinesView:
    told: MachinesAnswer
    unadopted: UnadoptedsAnswer | None  # None where the engines were not asked


async def view(visit: Visit) -> MachinesView:
    """Engines are asked only where the address says so: one that does not answer takes its time."""
    wanted = visit.first("unadopted") == "yes"
    unadopted = await list_unadopted(visit.look, visit.desk) if wanted else None
    return MachinesView(await list_machines(visit.look, visit.desk), unadopted)


PAGES = (
    PortalPage(
        "machines",
        "/machines",
        "Machines",
        view,
        "pages/machines.html",
        parts={"part-machines": "parts/machines.html"},
        api=("GET /v1/machines", "GET /v1/machines/unadopted"),
        reading=lambda visit: Elsewhere((("machine", "list"), ("machine", "list", "--unadopted"))),
        menu="Machines",
    ),
)
