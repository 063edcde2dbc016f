"""Deleting a group deletes what is in it, as one operation that ends when the last VM has gone.

Until then the group says ``Deleting`` and takes nothing new. What is left then (its network, its empty availability
sets, the group itself) is cleared away by ``finish``, which the server also calls when it starts: a deletion outlives
the server that began it.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forewarn.core.commands import (
    DeleteAvailabilitySet,
    DeleteScaleSet,
    DeleteVms,
    ForgetResource,
    Single,
    Together,
)
from forewarn.core.facts import OperationEnded
from forewarn.core.refusal import Refused
from forewarn.core.region import Region, fold
from forewarn.core.specs import ScopeKind
from forewarn.plane.ports import JournalFault, Origin, Record
from forewarn.web.arm_ids import IN_GROUP, IN_SUBSCRIPTION, group_id
from forewarn.web.resource_manager import keeping
from forewarn.web.resource_manager.call import RETRY_AFTER_SECONDS, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.errors import ArmError
from forewarn.web.resource_manager.groups import resource_groups
from forewarn.web.resource_manager.routing import Router

_KIND = "Microsoft.Resources/resourceGroups/delete"
_RESULTS = f"{IN_SUBSCRIPTION}/operationresults/{{operation}}"
_OURS = Origin("resource-manager", "group deletion")

_log = logging.getLogger(__name__)


def add_to(router: Router) -> None:
    router.add("DELETE", IN_GROUP, _delete)
    router.add("GET", _RESULTS, _look)


async def _delete(desk: ArmDesk, call: Call) -> ArmReply:
    operation = str(uuid.uuid4())
    async with desk.plane.editing:
        group = resource_groups.require(desk, call.names["group"])
        marked = keeping.keep(resource_groups.restated(group, resource_groups.DELETING, operation=operation))
        commands = (marked, *_deletions(desk.plane.region, group["name"]))
        await desk.plane.submit(Together(commands, operation, _KIND), call.origin)
        await _clear_all(desk, call.origin)
    return ArmReply(202, None, _headers(desk, call, operation))


def _deletions(region: Region, name: str) -> Iterator[Single]:
    """The commands that delete the machines of a group."""
    seed, folded = str(uuid.uuid4()).upper(), fold(name)
    for scale_set in region.scale_sets.values():
        if fold(scale_set.resource_group) == folded:
            yield DeleteScaleSet(scale_set.name, seed)
    others = (vm for vm in region.vms.values() if not vm.scale_set)
    vms = tuple(vm.name for vm in others if fold(vm.spec.resource_group) == folded)
    if vms:
        yield DeleteVms(vms, seed)


def _headers(desk: ArmDesk, call: Call, operation: str) -> dict[str, str]:
    path = _RESULTS.format(subscription=desk.subscription, operation=operation)
    return {
        "Location": f"{call.base_url}{path}?api-version={call.api_version}",
        "Retry-After": str(RETRY_AFTER_SECONDS),
    }


async def _look(desk: ArmDesk, call: Call) -> ArmReply:
    """How far a deletion is: 202 until it is done, then 200."""
    operation = desk.plane.region.operations.get(call.names["operation"].lower())
    if operation is None:
        raise ArmError(404, "NotFound", "The operation is not known here, or it ended too long ago.")
    if operation.ended_at is None:
        return ArmReply(202, None, _headers(desk, call, operation.id))
    await finish(desk, call.origin)
    if operation.error:
        raise ArmError(409, "OperationCanceled", f"The resource group was not deleted. {operation.error}")
    return ArmReply(200)


async def finish(desk: ArmDesk, origin: Origin = _OURS) -> None:
    """Clear away groups whose machines are gone."""
    async with desk.plane.editing:
        await _clear_all(desk, origin)


async def _clear_all(desk: ArmDesk, origin: Origin) -> None:
    for group in list(_ready(desk)):
        await _clear(desk, group, origin)


def _ready(desk: ArmDesk) -> Iterator[dict[str, Any]]:
    prefix = fold(group_id(desk.subscription, ""))
    region = desk.plane.region
    for key in sorted(key for key in region.resources if key.startswith(prefix)):
        if "/" not in key.removeprefix(prefix):
            group = keeping.read(region.resources[key])
            if resource_groups.state_of(group) == resource_groups.DELETING and not resource_groups.still_deleting(
                region, group
            ):
                yield group


async def _clear(desk: ArmDesk, group: dict[str, Any], origin: Origin) -> None:
    region, name = desk.plane.region, group["name"]
    if resource_groups.has_machines(region, name):  # the deletion of one was canceled
        commands: tuple[Single, ...] = (keeping.keep(resource_groups.restated(group, "Succeeded")),)
    else:
        kept = (key for key in region.resources if key.startswith(f"{fold(group['id'])}/"))
        forget = (ForgetResource(resource_id) for resource_id in (*kept, group["id"]))
        commands = (*_empty_sets(region, name), *forget)
    try:
        await desk.plane.submit(Together(commands), origin)
    except Refused as refused:  # another request was quicker; the next look finds out what is left
        _log.info("Resource group %s could not be cleared away yet: %s", name, refused)


def _empty_sets(region: Region, name: str) -> Iterator[DeleteAvailabilitySet]:
    for scope in region.scopes.values():
        mine = scope.kind is ScopeKind.AVAILABILITY_SET and fold(scope.resource_group) == fold(name)
        if mine and not scope.members:
            yield DeleteAvailabilitySet(scope.name)


def watch(desk: ArmDesk) -> Callable[[], None]:
    """Finish deletions when their last VM has gone, whether or not a client looks. Returns how to stop that."""
    tasks: set[asyncio.Task[None]] = set()

    async def clear() -> None:
        try:
            await finish(desk)
        except JournalFault as fault:
            _log.warning("A deleted resource group could not be cleared away: %s", fault)

    def published(region: Region, records: Sequence[Record]) -> None:
        ended = (record.fact.operation_id for record in records if isinstance(record.fact, OperationEnded))
        if any(region.operations[each].kind == _KIND for each in ended if each in region.operations):
            task = asyncio.get_running_loop().create_task(clear())
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    return desk.plane.subscribe(published)
