"""Deployments: templates carried out by putting each resource through the same routes as a client's own PUT.

A deployment makes its resources while the caller waits for the answer, and waits for nothing but that: what becomes of
them afterwards has operations of its own. So a status is final when it is first asked for, and it is kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import msgspec

from forewarn.core.commands import ForgetResource, Together
from forewarn.core.refusal import Refused
from forewarn.core.region import Resource, fold
from forewarn.web.arm_ids import IN_GROUP, group_id, part_id, resource_id
from forewarn.web.resource_manager import keeping, listing
from forewarn.web.resource_manager.call import FILTER, RETRY_AFTER_SECONDS, TOP, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.errors import ArmError, from_refusal
from forewarn.web.resource_manager.groups import resource_groups
from forewarn.web.resource_manager.lro import iso
from forewarn.web.resource_manager.reading import check_names
from forewarn.web.resource_manager.routing import Router
from forewarn.web.resource_manager.secrets import without_secrets
from forewarn.web.resource_manager.templates.expressions import TemplateError
from forewarn.web.resource_manager.templates.planning import make_plan
from forewarn.web.resource_manager.templates.plans import DeploymentPlan, NeedsReference, Planned, Surroundings

_KIND = "Microsoft.Resources/deployments"
_DEPLOYMENTS = resource_id(IN_GROUP, _KIND)
_MOST_KEPT = 800  # in a group, as Azure documents it; the oldest are forgotten then
_MOST_REFERENCES = 100  # ours: rounds; each makes at least one resource that another refers to
T = TypeVar("T")


def add_to(router: Router) -> None:
    """``router`` is also where the resources are put."""
    desk_of = _Deployments(router)
    for place in (_DEPLOYMENTS, IN_GROUP + "/deployments"):
        router.add("GET", place, desk_of.list_all, (FILTER, TOP))
        router.add("PUT", place + "/{deployment}", desk_of.put)
        router.add("GET", place + "/{deployment}", desk_of.show)
        router.add("HEAD", place + "/{deployment}", desk_of.exists)
        router.add("DELETE", place + "/{deployment}", desk_of.delete)
        router.add("POST", place + "/{deployment}/validate", desk_of.validate)
        router.add("POST", place + "/{deployment}/cancel", desk_of.cancel)
        router.add("GET", place + "/{deployment}/operationStatuses/{operation}", desk_of.status)
        router.add("GET", place + "/{deployment}/operations", desk_of.operations)


@dataclass(frozen=True)
class _Outcome:
    """How a deployment ended."""

    made: tuple[Planned, ...]
    outputs: dict[str, Any]
    error: dict[str, Any] | None = None


@dataclass(frozen=True)
class _Deployments:
    """The deployments of a region. Templates are evaluated one at a time in a thread: one may take seconds of CPU."""

    router: Router
    evaluating: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def _aside(self, evaluate: Callable[[], T]) -> T:
        async with self.evaluating:
            return await asyncio.to_thread(evaluate)

    async def put(self, desk: ArmDesk, call: Call) -> ArmReply:
        plan = await self._understood(desk, call)
        outcome = await self._carry_out(desk, call, plan)
        document = _document(desk, call, plan, outcome)
        await _keep(desk, call, document)
        accepted = {**document["properties"], "provisioningState": "Accepted"}
        for member in ("outputs", "outputResources", "error", "duration"):
            accepted.pop(member, None)
        operation = document["properties"]["correlationId"]
        url = f"{call.base_url}{document['id']}/operationStatuses/{operation}?api-version={call.api_version}"
        headers = {"Azure-AsyncOperation": url, "Retry-After": str(RETRY_AFTER_SECONDS)}
        return ArmReply(201, {**document, "properties": accepted}, headers)

    async def _carry_out(self, desk: ArmDesk, call: Call, plan: DeploymentPlan) -> _Outcome:
        """PUT the resources in order. The first failure ends it; what was made before stays, as in Azure."""
        made: list[Planned] = []
        for planned in plan.resources:
            try:
                body = await self._settled(desk, call, plan, partial(plan.body_of, planned))
                inner = _inner(call, "PUT", planned.id, planned.api_version, body)
                await self.router.answer(desk, resource_groups.in_place(desk, inner))
            except (ArmError, Refused, TemplateError) as problem:
                return _Outcome(tuple(made), {}, _failed(desk, call, [_error(plan, problem, planned.id)]))
            made.append(planned)
        try:
            outputs = await self._settled(desk, call, plan, plan.outputs)
        except (ArmError, Refused, TemplateError) as problem:
            return _Outcome(tuple(made), {}, _failed(desk, call, [_error(plan, problem, "")]))
        return _Outcome(tuple(made), outputs)

    async def _understood(self, desk: ArmDesk, call: Call) -> DeploymentPlan:
        """The plan of the request's template, or a 400; nothing is made."""
        return await self._aside(_planning(desk, call))

    async def _settled(self, desk: ArmDesk, call: Call, plan: DeploymentPlan, evaluate: Callable[[], Any]) -> Any:
        """A value of the template, with the resources fetched that it refers to."""
        for _ in range(_MOST_REFERENCES):
            try:
                return await self._aside(evaluate)
            except NeedsReference as needed:
                path = needed.resource_id
                inner = _inner(call, "GET", path, needed.api_version or call.api_version, None)
                found = await self.router.answer(desk, resource_groups.in_place(desk, inner))
                plan.references[path.lower()] = found.body
        raise TemplateError("The template refers to too many resources.")

    async def validate(self, desk: ArmDesk, call: Call) -> ArmReply:
        plan = await self._understood(desk, call)
        resources = [{"id": planned.id} for planned in plan.resources]
        properties = {
            "mode": "Incremental",
            "provisioningState": "Succeeded",
            "parameters": _shown_parameters(plan),
            "validatedResources": resources,
        }
        return ArmReply(200, without_secrets({**_head(desk, call), "properties": properties}))

    async def show(self, desk: ArmDesk, call: Call) -> ArmReply:
        return ArmReply(200, _find(desk, call))

    async def exists(self, desk: ArmDesk, call: Call) -> ArmReply:
        return ArmReply(204 if _kept(desk, call) is not None else 404)

    async def list_all(self, desk: ArmDesk, call: Call) -> ArmReply:
        prefix = fold(_prefix(desk, call.names["group"]))
        kept = desk.plane.region.resources
        found = (keeping.read(kept[key]) for key in kept if key.startswith(prefix))
        return ArmReply(200, {"value": listing.first_of(call, filter(listing.of_deployments(call), found))})

    async def delete(self, desk: ArmDesk, call: Call) -> ArmReply:
        if _kept(desk, call) is None:
            return ArmReply(204)
        await desk.plane.submit(ForgetResource(_head(desk, call)["id"]), call.origin)
        return ArmReply(204)

    async def cancel(self, desk: ArmDesk, call: Call) -> ArmReply:
        found = _find(desk, call)
        raise ArmError(
            409,
            "DeploymentCannotBeCancelled",
            f"The deployment '{found['name']}' cannot be cancelled because it is not active anymore.",
        )

    async def status(self, desk: ArmDesk, call: Call) -> ArmReply:
        properties = _find(desk, call)["properties"]
        if fold(call.names["operation"]) != fold(properties["correlationId"]):
            raise ArmError(404, "NotFound", "The operation is not known here; a later deployment took its place.")
        found = {"status": properties["provisioningState"]}
        if "error" in properties:
            found["error"] = properties["error"]
        return ArmReply(200, found)

    async def operations(self, desk: ArmDesk, call: Call) -> ArmReply:
        """What ``az deployment operation group list`` shows: one for each resource."""
        document = _find(desk, call)
        made = [
            _operation(document, place, {"targetResource": each, "provisioningState": "Succeeded", "statusCode": "OK"})
            for place, each in enumerate(document["properties"]["outputResources"])
        ]
        failed = [
            _operation(document, len(made), {"provisioningState": "Failed", "statusMessage": {"error": each}})
            for each in document["properties"].get("error", {}).get("details", [])
        ]
        return ArmReply(200, {"value": made + failed})


def _operation(document: dict[str, Any], place: int, properties: dict[str, Any]) -> dict[str, Any]:
    properties = {"provisioningOperation": "Create", "timestamp": document["properties"]["timestamp"], **properties}
    return {
        "id": part_id(document["id"], "operations", str(place)),
        "operationId": str(place),
        "properties": properties,
    }


def _planning(desk: ArmDesk, call: Call) -> Callable[[], DeploymentPlan]:
    """A function that plans the template, after a first check of the request.

    The region is looked at now, not later.
    """
    body = call.body if isinstance(call.body, dict) else {}
    properties = body.get("properties")
    if not isinstance(properties, dict) or not isinstance(properties.get("template"), dict):
        raise ArmError(
            400,
            "InvalidRequestContent",
            "A deployment has 'properties' with a 'template'; links are not followed here.",
        )
    if str(properties.get("mode", "incremental")).lower() != "incremental":
        raise ArmError(400, "InvalidDeploymentMode", "Only the deployment mode 'Incremental' is supported here.")
    group = resource_groups.require(desk, call.names["group"])
    around = Surroundings(desk.subscription, desk.tenant, group, call.names["deployment"])
    template, parameters = properties["template"], properties.get("parameters")
    return lambda: _plan(template, parameters, around)


def _plan(template: Any, parameters: Any, around: Surroundings) -> DeploymentPlan:
    try:
        plan = make_plan(template, parameters, around)
    except TemplateError as problem:
        raise _invalid(problem) from None
    except NeedsReference:
        message = "The function 'reference' cannot be used in names, conditions, counts and dependencies."
        raise _invalid(TemplateError(message)) from None
    for planned in plan.resources:
        check_names(planned.id.split("/")[1:])
    if any(fold(planned.kind) == fold(_KIND) for planned in plan.resources):
        raise _invalid(TemplateError("Deployments inside of a template are not supported here."))
    return plan


def _invalid(problem: TemplateError) -> ArmError:
    return ArmError(400, "InvalidTemplate", f"Deployment template validation failed: '{problem}'")


def _inner(call: Call, method: str, path: str, api_version: str, body: Any) -> Call:
    """A request of the deployment's own, by the same caller."""
    return replace(call, method=method, path=path, query={"api-version": api_version}, body=body, names={})


def _error(plan: DeploymentPlan, problem: ArmError | Refused | TemplateError, target: str) -> dict[str, Any]:
    if isinstance(problem, TemplateError):
        problem = _invalid(problem)
    error = (from_refusal(problem) if isinstance(problem, Refused) else problem).error()
    error["message"] = plan.without_secrets(str(error["message"]))
    return {**error, "target": error.get("target") or target} if target else error


def _failed(desk: ArmDesk, call: Call, details: list[Any]) -> dict[str, Any]:
    message = (
        "At least one resource deployment operation failed. Please list deployment operations for details. "
        "Please see https://aka.ms/arm-deployment-operations for usage details."
    )
    return {"code": "DeploymentFailed", "target": _head(desk, call)["id"], "message": message, "details": details}


# Documents


def _prefix(desk: ArmDesk, group: str) -> str:
    return resource_id(group_id(desk.subscription, group), _KIND) + "/"


def _head(desk: ArmDesk, call: Call) -> dict[str, Any]:
    name = call.names["deployment"]
    return {"id": _prefix(desk, call.names["group"]) + name, "name": name, "type": _KIND}


def _kept(desk: ArmDesk, call: Call) -> Resource | None:
    return desk.plane.region.resources.get(fold(_head(desk, call)["id"]))


def _find(desk: ArmDesk, call: Call) -> dict[str, Any]:
    kept = _kept(desk, call)
    if kept is None:
        name = call.names["deployment"]
        raise ArmError(404, "DeploymentNotFound", f"Deployment '{name}' could not be found.")
    return keeping.read(kept)


def _document(desk: ArmDesk, call: Call, plan: DeploymentPlan, outcome: _Outcome) -> dict[str, Any]:
    template = msgspec.json.encode(plan.definitions)
    properties: dict[str, Any] = {
        "templateHash": str(int.from_bytes(hashlib.sha256(template).digest()[:8])),
        "parameters": _shown_parameters(plan),
        "mode": "Incremental",
        "provisioningState": "Failed" if outcome.error else "Succeeded",
        "timestamp": iso(desk.plane.now()),
        "duration": "PT1S",
        "correlationId": str(uuid.uuid4()),
        "providers": [],
        "dependencies": [],
        "outputs": outcome.outputs,
        "outputResources": [{"id": planned.id} for planned in outcome.made],
    }
    if outcome.error:
        properties["error"] = outcome.error
    return without_secrets({**_head(desk, call), "properties": properties})


def _shown_parameters(plan: DeploymentPlan) -> dict[str, Any]:
    """What was given, without what is secret."""
    shown: dict[str, Any] = {}
    for name, declaration in plan.definitions["parameters"].items():
        kind = str(declaration["type"])
        shown[name] = {"type": kind[:1].upper() + kind[1:]}
        if name.lower() not in plan.secret:
            shown[name]["value"] = plan.parameters[name.lower()]
    return shown


async def _keep(desk: ArmDesk, call: Call, document: dict[str, Any]) -> None:
    """Keep the deployment's document; beyond ``_MOST_KEPT`` of a group its oldest are forgotten."""
    kept, prefix = desk.plane.region.resources, fold(_prefix(desk, call.names["group"]))
    keys = [key for key in kept if key.startswith(prefix)]
    oldest = sorted(keys, key=lambda key: _timestamp(kept[key].body)) if len(keys) >= _MOST_KEPT else []
    forget = [ForgetResource(kept[key].id) for key in oldest[: max(0, len(keys) + 1 - _MOST_KEPT)]]
    await desk.plane.submit(Together((*forget, keeping.keep(document))), call.origin)


def _timestamp(body: str) -> str:
    return str(msgspec.json.decode(body)["properties"]["timestamp"])
