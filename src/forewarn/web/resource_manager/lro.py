"""Long-running operations: asked once, looked at until the events that came of it have ended."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from forewarn.core.commands import Single, Together
from forewarn.core.region import Operation
from forewarn.web.arm_ids import COMPUTE, IN_SUBSCRIPTION, resource_id
from forewarn.web.resource_manager.call import RETRY_AFTER_SECONDS, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.errors import ArmError

OPERATIONS = resource_id(IN_SUBSCRIPTION, f"{COMPUTE}/locations/operations", "{location}", "{operation}")


async def carry_out(desk: ArmDesk, call: Call, kind: str, commands: Sequence[Single]) -> dict[str, str]:
    """Do it, durably, and return the headers by which the caller follows it. ``Refused`` passes through."""
    operation = str(uuid.uuid4())
    await desk.plane.submit(Together(tuple(commands), operation, kind), call.origin)
    return headers_for(desk, call, operation)


def headers_for(desk: ArmDesk, call: Call, operation: str) -> dict[str, str]:
    """Where to look. What a PUT or PATCH leads to is the resource itself, so there is no ``Location`` of its result."""
    path = OPERATIONS.format(subscription=desk.subscription, location=desk.location, operation=operation)
    url = f"{call.base_url}{path}?p={desk.tenant}"
    version = f"&api-version={call.api_version}"
    found = {
        "Azure-AsyncOperation": url + version,
        "Azure-AsyncNotification": "Enabled",
        "Retry-After": str(RETRY_AFTER_SECONDS),
    }
    return found if call.method in ("PUT", "PATCH") else {**found, "Location": f"{url}&monitor=true{version}"}


async def accepted(desk: ArmDesk, call: Call, kind: str, commands: Sequence[Single]) -> ArmReply:
    """The answer to a POST or DELETE: 202, and where to look."""
    return ArmReply(202, None, await carry_out(desk, call, kind, commands))


async def look(desk: ArmDesk, call: Call) -> ArmReply:
    """GET …/operations/{operation}, in its two forms."""
    operation = desk.plane.region.operations.get(call.names["operation"].lower())
    if operation is None:
        raise ArmError(404, "NotFound", "The operation is not known here, or it ended too long ago.")
    running = operation.ended_at is None
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    if "monitor" in call.query:
        return ArmReply(202, None, headers_for(desk, call, operation.id)) if running else ArmReply(200)
    return ArmReply(200, status_of(operation), headers if running else {})


def status_of(operation: Operation) -> dict[str, Any]:
    """The status document that the clients poll."""
    found: dict[str, Any] = {"startTime": iso(operation.started_at), "name": operation.id}
    if operation.ended_at is None:
        return {**found, "status": "InProgress"}
    found["endTime"] = iso(operation.ended_at)
    if operation.error:
        return {**found, "status": "Failed", "error": {"code": "OperationCanceled", "message": operation.error}}
    return {**found, "status": "Succeeded"}


def iso(at: datetime) -> str:
    """An instant as the service writes it."""
    return at.isoformat()
