"""What is in the groups: every resource in brief, kept or running."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from forewarn.core.region import fold
from forewarn.core.specs import Orchestration, ScopeKind, VmSpec
from forewarn.web.arm_ids import (
    AVAILABILITY_SETS,
    IN_GROUP,
    IN_SUBSCRIPTION,
    SCALE_SETS,
    VMS,
    group_id,
    resource_id,
)
from forewarn.web.documents.whereabouts import location_of
from forewarn.web.resource_manager import generic, listing
from forewarn.web.resource_manager.call import EXPAND, FILTER, TOP, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.errors import invalid
from forewarn.web.resource_manager.groups import resource_groups
from forewarn.web.resource_manager.routing import Router

_MACHINES = frozenset(map(fold, (AVAILABILITY_SETS, SCALE_SETS, VMS)))
_EXPANDED = frozenset({"createdtime", "changedtime", "provisioningstate"})
_STATE = "provisioningState"
_MEMBERS = ("id", "name", "type", "location", "tags", "sku")


def add_to(router: Router) -> None:
    for place in (IN_GROUP, IN_SUBSCRIPTION):
        router.add("GET", place + "/resources", _list, (FILTER, TOP))


async def _list(desk: ArmDesk, call: Call) -> ArmReply:
    """Of a group, or of the whole subscription. When a resource was made or changed is not known, and left out."""
    wanted, group = listing.of_resources(call), fold(call.names.get("group", ""))
    expanded = _expanded(call.query.get(EXPAND, ""))
    found = await asyncio.to_thread(_found, desk, call, wanted, group)  # among all machines that there are
    if _STATE.lower() not in expanded:
        for each in found:
            each.pop(_STATE, None)
    return ArmReply(200, {"value": found})


def _found(desk: ArmDesk, call: Call, wanted: listing.Predicate, group: str) -> list[dict[str, Any]]:
    here = (each for each in _resources(desk) if group in ("", fold(each["id"].split("/")[4])))
    return listing.first_of(call, filter(wanted, here))


def _expanded(asked: str) -> set[str]:
    names = {name.strip().lower() for name in asked.split(",") if name.strip()}
    if unknown := names - _EXPANDED:
        listed = "createdTime, changedTime and provisioningState can"
        raise invalid(EXPAND, f"'{min(unknown)[:80]}' cannot be expanded; {listed}.")
    return names


def _resources(desk: ArmDesk) -> Iterator[dict[str, Any]]:
    """Machines are read from the region, so that those created by another face are listed too."""
    yield from sorted(_machines(desk), key=lambda each: fold(each["id"]))
    for each in generic.kept_under(desk.plane.region, group_id(desk.subscription, "")):
        kind = fold(each.get("type", ""))
        if kind.count("/") == 1 and not kind.startswith("microsoft.resources/") and kind not in _MACHINES:
            state = each.get("properties", {}).get(_STATE, "Succeeded")
            yield {**{key: each[key] for key in _MEMBERS if key in each}, _STATE: state}


def _machines(desk: ArmDesk) -> Iterator[dict[str, Any]]:
    region = desk.plane.region
    for scope in region.scopes.values():
        if scope.kind is ScopeKind.AVAILABILITY_SET:
            yield _brief(desk, scope.resource_group, AVAILABILITY_SETS, scope.name)
    for scale_set in region.scale_sets.values():
        yield _brief(desk, scale_set.resource_group, SCALE_SETS, scale_set.name, scale_set.vm_spec)
    for vm in region.vms.values():
        its_set = region.scale_sets.get(fold(vm.scale_set)) if vm.scale_set else None
        if its_set is None or its_set.orchestration is Orchestration.FLEXIBLE:
            yield _brief(desk, vm.spec.resource_group, VMS, vm.name, vm.spec)


def _brief(desk: ArmDesk, group: str, kind: str, name: str, spec: VmSpec | None = None) -> dict[str, Any]:
    """A machine is where it was told to be, anything else where its group is."""
    there = resource_groups.find(desk, group)
    location = there["location"] if there else desk.location
    tags: dict[str, str] = {}
    if spec is not None:
        location, tags = location_of(spec), dict(spec.tags)
    place = group_id(desk.subscription, there["name"] if there else group)
    return {
        "id": resource_id(place, kind, name),
        "name": name,
        "type": kind,
        "location": location,
        "tags": tags,
        _STATE: "Succeeded",
    }
