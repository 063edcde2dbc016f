"""VM sizes, for clients that look before they ask. Any size may be asked for; these are those that are listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from forewarn.web.arm_ids import COMPUTE, IN_SUBSCRIPTION, resource_id
from forewarn.web.resource_manager.call import FILTER, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.groups.subscriptions import place_name, places
from forewarn.web.resource_manager.listing import not_understood
from forewarn.web.resource_manager.routing import Router

_COMPUTE = resource_id(IN_SUBSCRIPTION, COMPUTE)
_ZONES = ("1", "2", "3")
_LOCATION = re.compile(r"location\s+eq\s+'([^']*)'", re.IGNORECASE)
# name, virtual processors, memory in GiB
_SIZES = (
    ("Standard_B1s", 1, 1),
    ("Standard_B2s", 2, 4),
    ("Standard_B2ms", 2, 8),
    ("Standard_DS1_v2", 1, 3.5),
    ("Standard_DS2_v2", 2, 7),
    ("Standard_D2s_v3", 2, 8),
    ("Standard_D4s_v3", 4, 16),
    ("Standard_D2s_v5", 2, 8),
    ("Standard_D4s_v5", 4, 16),
    ("Standard_D8s_v5", 8, 32),
    ("Standard_D2as_v5", 2, 8),
    ("Standard_E2s_v5", 2, 16),
    ("Standard_F2s_v2", 2, 4),
)


def add_to(router: Router) -> None:
    router.add("GET", _COMPUTE + "/skus", _list_skus, (FILTER,))
    router.add("GET", _COMPUTE + "/locations/{location}/vmSizes", _list_sizes)


async def _list_skus(desk: ArmDesk, call: Call) -> ArmReply:
    text = call.query.get(FILTER, "").strip()
    wanted = _LOCATION.fullmatch(text)
    if text and wanted is None:
        raise not_understood(text)
    place = place_name(wanted[1]) if wanted else ""
    return ArmReply(200, {"value": [sku for sku in _skus(desk) if place in ("", *sku["locations"])]})


def _skus(desk: ArmDesk) -> Iterator[dict[str, Any]]:
    for place in places(desk):
        for name, processors, memory in _SIZES:
            values = {
                "vCPUs": processors,
                "MemoryGB": memory,
                "HyperVGenerations": "V1,V2",
                "CpuArchitectureType": "x64",
            }
            yield {
                "resourceType": "virtualMachines",
                "name": name,
                "tier": "Standard",
                "size": name.removeprefix("Standard_"),
                "locations": [place],
                "locationInfo": [{"location": place, "zones": list(_ZONES), "zoneDetails": []}],
                "capabilities": [{"name": key, "value": str(value)} for key, value in values.items()],
                "restrictions": [],
            }


async def _list_sizes(desk: ArmDesk, call: Call) -> ArmReply:
    found = [
        {
            "name": name,
            "numberOfCores": processors,
            "memoryInMB": int(memory * 1024),
            "maxDataDiskCount": 4,
            "osDiskSizeInMB": 1047552,
            "resourceDiskSizeInMB": 16384,
        }
        for name, processors, memory in _SIZES
    ]
    return ArmReply(200, {"value": found})
