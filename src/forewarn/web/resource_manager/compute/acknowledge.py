"""Microsoft.Maintenance/scheduledevents: an approval from outside the VM, of one event or of several."""

from __future__ import annotations

import re
from typing import Any

from forewarn.core.commands import Approve
from forewarn.core.region import Region, fold
from forewarn.core.specs import ScopeKind
from forewarn.web import arm_ids
from forewarn.web.resource_manager.call import ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.compute import actions, finding
from forewarn.web.resource_manager.errors import ArmError
from forewarn.web.resource_manager.routing import Router

_RESOURCE = arm_ids.resource_id(arm_ids.IN_GROUP, f"{arm_ids.COMPUTE}/{{kind}}", "{name}")
_INSTANCE = arm_ids.part_id(_RESOURCE, "virtualMachines", "{instance}")
_WHOSE = (_RESOURCE, _INSTANCE, arm_ids.IN_SUBSCRIPTION)
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


def add_to(router: Router) -> None:
    for whose in _WHOSE:
        router.add("POST", arm_ids.acknowledge_path(whose, "{event}"), _acknowledge_one)
        router.add("POST", arm_ids.acknowledge_path(whose), _acknowledge_several)
        router.add("POST", arm_ids.resource_id(whose, arm_ids.SCHEDULED_EVENTS), _acknowledge_several)


async def _acknowledge_one(desk: ArmDesk, call: Call) -> ArmReply:
    event_id = _guid(call.names["event"])
    if not _concerns(desk.plane.region, event_id, _scopes(desk, call)):
        raise ArmError(404, "InvalidScheduledEventId", "Scheduled event not found")
    await desk.plane.submit(Approve((event_id,), actions.who(call.origin)), call.origin)
    return ArmReply(200, {"value": "Successfully approved scheduled event"})


async def _acknowledge_several(desk: ArmDesk, call: Call) -> ArmReply:
    """Approve several events. Those that are not there are told by a 207."""
    wanted, scopes = _ids_in(call.body), _scopes(desk, call)
    known = tuple(event_id for event_id in wanted if _concerns(desk.plane.region, event_id, scopes))
    if known:
        await desk.plane.submit(Approve(known, actions.who(call.origin), ignore_unknown=True), call.origin)
    if len(known) == len(wanted):
        return ArmReply(200, {"value": "Successfully approved all Scheduled Events in the list"})
    return ArmReply(207, {"error": _several_answers([event_id for event_id in wanted if event_id not in known])})


def _several_answers(unknown: list[str]) -> dict[str, Any]:
    details = [{"target": each, "code": "NotFound", "message": "Scheduled event not found"} for each in unknown]
    message = (
        "The operation returned different statuses for the Scheduled Events. Review each event's result for details."
    )
    return {"code": "MultiStatusResponse", "message": message, "details": details}


def _concerns(region: Region, event_id: str, scopes: set[str] | None) -> bool:
    event = region.events.get(event_id)
    return event is not None and event.announced and (scopes is None or event.scope in scopes)


def _scopes(desk: ArmDesk, call: Call) -> set[str] | None:
    """Whose events the path speaks of; None means all scopes'."""
    if "kind" not in call.names:
        return None
    region, kind = desk.plane.region, fold(call.names["kind"])
    if kind == "virtualmachines" and "instance" not in call.names:
        return {finding.find_vm(desk, call).scope}
    if kind == "availabilitysets" and "instance" not in call.names:
        return {finding.find_availability_set(desk, call).key}
    if kind != "virtualmachinescalesets":
        raise _bad_request()
    if "instance" in call.names:
        return {finding.find_instance(desk, call)[1].scope}
    vms = finding.instances_of(region, finding.find_scale_set(desk, call))
    return {vm.scope for vm in vms if vm.spec.kind is ScopeKind.PLACEMENT_GROUP}


def _ids_in(body: Any) -> list[str]:
    ids = body.get("value") if isinstance(body, dict) else body
    if not isinstance(ids, list) or not ids:
        raise _bad_request()
    return list(dict.fromkeys(_guid(text) for text in ids))


def _guid(text: Any) -> str:
    if not isinstance(text, str) or not _GUID.fullmatch(text):
        raise _bad_request()
    return text.upper()


def _bad_request() -> ArmError:
    return ArmError(
        400,
        "BadRequest",
        "Invalid resource type or parameters. The valid ResourceParentTypes are virtualMachines, "
        "virtualMachineScaleSets and availabilitySets. ScheduledEventId has to be GUID.",
    )
