"""Real machines: which there are, which could be taken up, and taking them up, checking them, letting them go."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from forewarn.web.operator import adopting
from forewarn.web.operator.desk import TheAsker, TheDesk, TheLook
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.machines import (
    AdoptBody,
    AdoptedAnswer,
    CheckAnswer,
    MachinesAnswer,
    ReleasedAnswer,
    UnadoptedsAnswer,
    VmNameBody,
    WayWord,
)
from forewarn.web.operator.telling.machine_views import machines_fields

router = routes_below("/v1/machines", "machines")
AskedWay = Annotated[
    WayWord | None, Query(description="By which way; as it is bound, or usual, where left out.", examples=["network"])
]


@router.get("", summary="List real machines")
async def list_machines(look: TheLook, desk: TheDesk) -> MachinesAnswer:
    """The machines of VMs that are real, the hosts that this server's files declare, and what needs a look."""
    return machines_fields(look.region, desk.plane.hands)


@router.get("/unadopted", summary="List machines that nobody has adopted")
async def list_unadopted(look: TheLook, desk: TheDesk) -> UnadoptedsAnswer:
    """What the engines run that the region does not know. They are asked now; a host that does not answer is named."""
    return await adopting.unadopted(look.region, desk.plane.hands)


@router.post("/adopt", status_code=201, summary="Adopt a machine")
async def adopt(body: AdoptBody, asker: TheAsker, desk: TheDesk) -> AdoptedAnswer:
    """Make a VM of a machine that an engine runs already.

    Refused where another machine of the engine has its address. With `dry_run` it tells what would be changed.
    """
    return await adopting.adopt(asker, desk.plane.hands, body)


@router.get("/{vm}/check", summary="Check a machine")
async def check(vm: str, look: TheLook, desk: TheDesk, way: AskedWay = None) -> CheckAnswer:
    """Whether it is reached, whether only it can speak as it, and what each type of event would do to it."""
    return await adopting.check(look.region, desk.plane.hands, vm, way)


@router.post("/release", summary="Release a machine")
async def release(body: VmNameBody, asker: TheAsker, desk: TheDesk) -> ReleasedAnswer:
    """The region forgets the VM. The machine goes on; what adoption wrote there is taken away."""
    return await adopting.release(asker, desk.plane.hands, body.vm)
