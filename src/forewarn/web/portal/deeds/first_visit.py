"""A region to look at: VMs of every kind, made by several requests, for who has just started a server."""

from __future__ import annotations

from typing import Any

from forewarn.core.region import Region
from forewarn.web.operator.desk import Asker, Desk
from forewarn.web.operator.routes import fleet, scale_sets
from forewarn.web.operator.schema.requests import CreateVmsBody
from forewarn.web.operator.schema.scale_set_requests import CreateScaleSetBody
from forewarn.web.portal.deeds.deed import Outlook, PortalDeed
from forewarn.web.portal.doors.twins import ApiCall, Twin, cannot, forewarn
from forewarn.web.portal.forms import Filled
from forewarn.web.portal.written import count

_VMS: tuple[dict[str, Any], ...] = (
    {"name": "app", "count": 3, "availability_set": "apps", "read": True},
    {"name": "edge", "count": 2, "cloud_service": "shop", "role": "FrontEnd", "read": True},
    {"name": "cheap", "count": 2, "spot": True, "read": True},
    {"name": "ledger", "terminate_notice_seconds": 600, "read": True},
)
_SET: dict[str, Any] = {"name": "crew", "capacity": 4, "terminate_notice_seconds": 600}
LINES = (
    "vm create app --count 3 --availability-set apps --read",
    "vm create edge --count 2 --cloud-service shop --role FrontEnd --read",
    "vm create cheap --count 2 --spot --read",
    "vm create ledger --terminate-notice 10m --read",
    "vmss create crew --capacity 4 --terminate-notice 10m",
)


async def _make(filled: Filled, asker: Asker, desk: Desk) -> Any:
    made = [name for body in _VMS for name in (await fleet.create(CreateVmsBody(**body), asker)).created]
    pool = await scale_sets.create(CreateScaleSetBody(**_SET), asker)
    return [*made, *pool.created]


def _told(answer: Any) -> Outlook:
    return Outlook(f"{count(len(answer), 'VM')} will be created, of every kind.", made=tuple(answer))


def _twins(filled: Filled, region: Region) -> tuple[Twin, ...]:
    return (forewarn(*(line.split() for line in LINES)), cannot("az", "az makes them one by one: see Add VMs."))


DEEDS = (
    PortalDeed(
        key="create-dozen",
        title="Make a dozen VMs",
        question=lambda filled: "Make a dozen VMs of every kind?",
        fields=(),
        do=_make,
        tell=_told,
        call=lambda filled: ApiCall("POST", "/v1/vms", _VMS[0]),
        further=lambda filled: (
            *(ApiCall("POST", "/v1/vms", body) for body in _VMS[1:]),
            ApiCall("POST", "/v1/scale-sets", _SET),
        ),
        twins=_twins,
        hint="In an availability set, a cloud service, a scale set, Spot, and one with a terminate notice.",
    ),
)
