"""What is in the groups: every resource in brief, kept or running."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forewarn.core.region import Orchestration, ScopeKind, VmSpec, fold
from forewarn.web.resource_manager import generic, groups
from forewarn.web.resource_manager.call import Call, Desk, Reply
from forewarn.web.resource_manager.places import group_id
from forewarn.web.resource_manager.routing import Router
from forewarn.web.whereabouts import location_of

_SETS = "Microsoft.Compute/availabilitySets"
_SCALE_SETS = "Microsoft.Compute/virtualMachineScaleSets"
_VMS = "Microsoft.Compute/virtualMachines"
_MACHINES = frozenset(map(fold, (_SETS, _SCALE_SETS, _VMS)))
_MEMBERS = ("id", "name", "type", "location", "tags", "sku")


def add_to(router: Router) -> None:
    router.add("GET", groups.GROUP + "/resources", _list)
    router.add("GET", "/subscriptions/{subscription}/resources", _list_all)


async def _list(desk: Desk, call: Call) -> Reply:
    name = fold(call.names["group"])
    return Reply(200, {"value": [each for each in _resources(desk) if fold(each["id"].split("/")[4]) == name]})


async def _list_all(desk: Desk, call: Call) -> Reply:
    return Reply(200, {"value": list(_resources(desk))})


def _resources(desk: Desk) -> Iterator[dict[str, Any]]:
    """Machines are read from the region, so that those are here too that came by another door."""
    yield from sorted(_machines(desk), key=lambda each: fold(each["id"]))
    for each in generic.kept_under(desk.plane.region, group_id(desk.subscription, "")):
        kind = fold(each.get("type", ""))
        if kind.count("/") == 1 and not kind.startswith("microsoft.resources/") and kind not in _MACHINES:
            yield {key: each[key] for key in _MEMBERS if key in each}


def _machines(desk: Desk) -> Iterator[dict[str, Any]]:
    region = desk.plane.region
    for scope in region.scopes.values():
        if scope.kind is ScopeKind.AVAILABILITY_SET:
            yield _brief(desk, scope.resource_group, _SETS, scope.name)
    for scale_set in region.scale_sets.values():
        yield _brief(desk, scale_set.resource_group, _SCALE_SETS, scale_set.name, scale_set.vm_spec)
    for vm in region.vms.values():
        its_set = region.scale_sets.get(fold(vm.scale_set)) if vm.scale_set else None
        if its_set is None or its_set.orchestration is Orchestration.FLEXIBLE:
            yield _brief(desk, vm.spec.resource_group, _VMS, vm.name, vm.spec)


def _brief(desk: Desk, group: str, kind: str, name: str, spec: VmSpec | None = None) -> dict[str, Any]:
    """A machine is where it was told to be, anything else where its group is."""
    there = groups.find(desk, group)
    location = there["location"] if there else desk.location
    tags: dict[str, str] = {}
    if spec is not None:
        location, tags = location_of(spec), dict(spec.tags)
    resource_id = f"{group_id(desk.subscription, there['name'] if there else group)}/providers/{kind}/{name}"
    return {"id": resource_id, "name": name, "type": kind, "location": location, "tags": tags}
