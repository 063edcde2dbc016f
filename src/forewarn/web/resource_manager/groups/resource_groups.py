"""Resource groups: where everything that has a name is. Deleting one is the business of ``deletion``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from forewarn.core.region import Region, fold
from forewarn.core.specs import DEFAULT_RESOURCE_GROUP
from forewarn.web.arm_ids import IN_GROUP, IN_SUBSCRIPTION, group_id
from forewarn.web.resource_manager import keeping, listing
from forewarn.web.resource_manager.call import FILTER, TOP, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.errors import ArmError, group_not_found
from forewarn.web.resource_manager.groups import subscriptions
from forewarn.web.resource_manager.places import tidy
from forewarn.web.resource_manager.routing import Router

DELETING = "Deleting"
_NAME = re.compile(r"[\w\-.()]{0,89}[\w\-()]")


def add_to(router: Router) -> None:
    router.add("GET", f"{IN_SUBSCRIPTION}/resourceGroups", _list, (FILTER, TOP))
    router.add("GET", IN_GROUP, _show)
    router.add("HEAD", IN_GROUP, _exists)
    router.add("PUT", IN_GROUP, _put)
    router.add("PATCH", IN_GROUP, _patch)


def in_place(desk: ArmDesk, call: Call) -> Call:
    """Refuse a call into a subscription or a group that is not there; the group spelled as it was made."""
    parts = tidy([part for part in call.path.split("/") if part])
    if len(parts) < 2 or parts[0] != "subscriptions":
        return call
    subscriptions.check(desk, parts[1])
    parts[1] = desk.subscription
    if len(parts) > 4 and parts[2] == "resourceGroups":
        group = require(desk, parts[3])
        if call.method in ("PUT", "PATCH"):
            _check_staying(group)
        parts[3] = group["name"]
    return replace(call, path="/" + "/".join(parts))


def require(desk: ArmDesk, name: str) -> dict[str, Any]:
    """The group's document, or a 404."""
    found = find(desk, name)
    if found is None:
        raise group_not_found(name)
    return found


def find(desk: ArmDesk, name: str) -> dict[str, Any] | None:
    """The group's document. What ``forewarn vm create`` makes is in a group that is always there."""
    region = desk.plane.region
    kept = region.resources.get(fold(group_id(desk.subscription, name)))
    if kept is not None:
        group = keeping.read(kept)
        if state_of(group) != DELETING or still_deleting(region, group):
            return restated(group, state_of(group))
        if has_machines(region, group["name"]):  # its deletion was canceled
            return restated(group, "Succeeded")
    if fold(name) == DEFAULT_RESOURCE_GROUP:
        return _document(desk, DEFAULT_RESOURCE_GROUP, desk.location, {})
    return None


def state_of(group: dict[str, Any]) -> str:
    return str(group["properties"]["provisioningState"])


def restated(group: dict[str, Any], state: str, **more: str) -> dict[str, Any]:
    """The group's document with another provisioning state, and without members that are internal."""
    return {**group, "properties": {"provisioningState": state, **more}}


def still_deleting(region: Region, group: dict[str, Any]) -> bool:
    """Whether its machines are still waiting for their end."""
    operation = region.operations.get(group["properties"].get("operation", ""))
    return operation is not None and operation.ended_at is None


def has_machines(region: Region, name: str) -> bool:
    folded = fold(name)
    return any(fold(vm.spec.resource_group) == folded for vm in region.vms.values()) or any(
        fold(each.resource_group) == folded for each in region.scale_sets.values()
    )


def _document(desk: ArmDesk, name: str, location: str, tags: dict[str, str]) -> dict[str, Any]:
    return {
        "id": group_id(desk.subscription, name),
        "name": name,
        "type": "Microsoft.Resources/resourceGroups",
        "location": location,
        "tags": tags,
        "properties": {"provisioningState": "Succeeded"},
    }


# Routes


async def _list(desk: ArmDesk, call: Call) -> ArmReply:
    prefix = fold(group_id(desk.subscription, ""))
    names = {key.removeprefix(prefix) for key in desk.plane.region.resources if key.startswith(prefix)}
    names = {name for name in names if "/" not in name} | {DEFAULT_RESOURCE_GROUP}
    found = (group for name in sorted(names) if (group := find(desk, name)) is not None)
    return ArmReply(200, {"value": listing.first_of(call, filter(listing.of_groups(call), found))})


async def _show(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, require(desk, call.names["group"]))


async def _exists(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(204 if find(desk, call.names["group"]) is not None else 404)


async def _put(desk: ArmDesk, call: Call) -> ArmReply:
    name = call.names["group"]
    if not _NAME.fullmatch(name):
        raise ArmError(
            400,
            "InvalidResourceGroup",
            f"'{name[:90]}' cannot name a resource group: use 1 to 90 letters, digits, '-', '_', '.' and brackets, "
            "not ending with '.'.",
        )
    tags = _check_body(call.body)
    async with desk.plane.editing:
        there = find(desk, name)
        location = _check_location(call.body.get("location"), there)
        group = _document(desk, there["name"] if there else name, location, tags)
        await desk.plane.submit(keeping.keep(group), call.origin)
    return ArmReply(200 if there else 201, group)


async def _patch(desk: ArmDesk, call: Call) -> ArmReply:
    tags = _check_body(call.body)
    async with desk.plane.editing:
        there = require(desk, call.names["group"])
        _check_staying(there)
        group = {**there, "tags": tags if "tags" in call.body else there["tags"]}
        await desk.plane.submit(keeping.keep(group), call.origin)
    return ArmReply(200, group)


def _check_body(body: Any) -> dict[str, str]:
    """Its tags, once it is known to be a body."""
    if not isinstance(body, dict):
        raise ArmError(400, "InvalidRequestContent", "The request content must be a JSON object.")
    tags = body.get("tags") or {}
    if not isinstance(tags, dict) or not all(isinstance(value, str) for value in tags.values()):
        raise ArmError(400, "InvalidRequestContent", "'tags' must be a JSON object of strings.", "tags")
    return tags


def _check_location(given: Any, there: dict[str, Any] | None) -> str:
    if not isinstance(given, str) or not given:
        raise ArmError(400, "LocationRequired", "The location property is required for this definition.")
    location = subscriptions.place_name(given)
    if there is None:
        return location
    _check_staying(there)
    if there["location"] != location and fold(there["name"]) != DEFAULT_RESOURCE_GROUP:
        raise ArmError(
            409,
            "InvalidResourceGroupLocation",
            f"Invalid resource group location '{location}'. "
            f"The Resource group already exists in location '{there['location']}'.",
        )
    return location


def _check_staying(group: dict[str, Any]) -> None:
    if state_of(group) == DELETING:
        raise ArmError(
            409,
            "ResourceGroupBeingDeleted",
            f"The resource group '{group['name']}' is in deprovisioning state and cannot perform this operation.",
        )
