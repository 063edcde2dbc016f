"""Network interfaces of a uniform scale set's instances (``az vmss nic``): with the address that the instance reads.

An instance has one, made by the primary configuration of its set's model. No request puts it,
so it is computed for each answer and not kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.core.guids import derive_guid
from forewarn.core.region import ScaleSet, Vm, fold
from forewarn.core.specs import Orchestration
from forewarn.web import arm_ids
from forewarn.web.documents.interfaces import interfaces_of
from forewarn.web.resource_manager.call import ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.compute import documents, finding
from forewarn.web.resource_manager.compute.schema import Object
from forewarn.web.resource_manager.errors import resource_not_found
from forewarn.web.resource_manager.routing import Router

_SET = arm_ids.resource_id(arm_ids.IN_GROUP, arm_ids.SCALE_SETS, "{name}")
_OF_INSTANCE = f"{_SET}/virtualMachines/{{instance}}/networkInterfaces"
_KIND = f"{arm_ids.INSTANCES}/networkInterfaces"


def add_to(router: Router) -> None:
    router.add("GET", f"{_SET}/networkInterfaces", _list_of_set)
    router.add("GET", _OF_INSTANCE, _list)
    router.add("GET", f"{_OF_INSTANCE}/{{interface}}", _get)


async def _list_of_set(desk: ArmDesk, call: Call) -> ArmReply:
    scale_set = finding.find_scale_set(desk, call)
    vms = finding.instances_of(desk.plane.region, scale_set)
    return ArmReply(200, {"value": [each for vm in vms for each in _interfaces(desk, scale_set, vm)]})


async def _list(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, {"value": list(_interfaces(desk, *finding.find_instance(desk, call)))})


async def _get(desk: ArmDesk, call: Call) -> ArmReply:
    wanted, found = call.names["interface"], _interfaces(desk, *finding.find_instance(desk, call))
    for each in found:
        if fold(each["name"]) == fold(wanted):
            return ArmReply(200, each)
    raise resource_not_found(_KIND, wanted, call.names["group"])


def _interfaces(desk: ArmDesk, scale_set: ScaleSet, vm: Vm) -> Iterator[Object]:
    """None where the model says nothing of any."""
    profile = documents.of_scale_set(desk, scale_set)["properties"].get("virtualMachineProfile", {})
    configured = profile.get("networkProfile", {}).get("networkInterfaceConfigurations", [])
    if scale_set.orchestration is not Orchestration.UNIFORM or not configured:
        return
    primary = next((each for each in configured if _inner(each).get("primary")), configured[0])
    place = arm_ids.instance_id(desk.subscription, scale_set, vm)
    name = str(primary.get("name", ""))
    own = interfaces_of(desk.plane.region, vm)[0]
    mac = "-".join(own.mac[at : at + 2] for at in range(0, len(own.mac), 2))
    yield {
        "name": name,
        "id": f"{place}/networkInterfaces/{name}",
        "type": _KIND,
        "properties": {
            "provisioningState": "Succeeded",
            "resourceGuid": derive_guid(vm.vm_id, "nic").lower(),
            "primary": True,
            "macAddress": mac,
            "ipConfigurations": _configurations(
                primary, f"{place}/networkInterfaces/{name}", next((each for each, _ in own.ipv4), "")
            ),
            "virtualMachine": {"id": place},
        },
    }


def _configurations(primary: Object, place: str, address: str) -> list[Object]:
    """The first of them, with the address; a model may leave them out."""
    written: list[Object] = _inner(primary).get("ipConfigurations") or [{"name": "ipconfig1"}]
    name = str(written[0].get("name", ""))
    subnet = _inner(written[0]).get("subnet")
    properties: Object = {
        "provisioningState": "Succeeded",
        "privateIPAddress": address,
        "privateIPAllocationMethod": "Dynamic",
        "privateIPAddressVersion": "IPv4",
        "primary": True,
        **({"subnet": subnet} if subnet else {}),
    }
    return [{"name": name, "id": f"{place}/ipConfigurations/{name}", "properties": properties}]


def _inner(part: Object) -> Object:
    found: Object = part.get("properties", {})
    return found
