"""Resources that the region keeps and tells back: networks, disks, identities, whatever a template brings along.

Parts of Microsoft.Network resources (subnets, rules) live inside their parents, as there: put one, and its parent shows
it; put a parent with parts, and each has an address of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forewarn.core.commands import ForgetResource, Together
from forewarn.core.region import Region, Resource, fold, scope_key
from forewarn.core.specs import ScopeKind
from forewarn.web.arm_ids import IN_SUBSCRIPTION
from forewarn.web.resource_manager import network, nic_bindings
from forewarn.web.resource_manager.call import ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.compute.merging import merge
from forewarn.web.resource_manager.errors import ArmError, resource_not_found
from forewarn.web.resource_manager.keeping import keep, read
from forewarn.web.resource_manager.places import Place, parse, require
from forewarn.web.resource_manager.routing import Router

_REST = f"{IN_SUBSCRIPTION}/{{rest*}}"
_COMPUTE = frozenset(
    {
        "microsoft.compute/virtualmachines",
        "microsoft.compute/virtualmachinescalesets",
        "microsoft.compute/virtualmachinescalesets/virtualmachines",
        "microsoft.compute/availabilitysets",
        "microsoft.resources/deployments",
    }
)
_NEVER_CREATED = frozenset({"microsoft.compute", "microsoft.storage"})  # whose clients take a 201 for a failure
_SERVICE_MEMBERS = frozenset({"id", "name", "type", "etag"})


def add_to(router: Router) -> None:
    """Last of all: these routes take every path in the subscription that no other route has taken."""
    for method, handler in (("GET", _get), ("HEAD", _head), ("PUT", _put), ("PATCH", _patch), ("DELETE", _delete)):
        router.add(method, _REST, handler)


def find(desk: ArmDesk, resource_id: str) -> dict[str, Any] | None:
    """What is kept under an id, be it a resource of its own or part of another."""
    region = desk.plane.region
    kept = region.resources.get(fold(resource_id))
    if kept is not None:
        return read(kept)
    place = parse(resource_id)
    return _part(region, place) if place is not None and not place.is_collection else None


def kept_under(region: Region, prefix: str) -> Iterator[dict[str, Any]]:
    """Every kept document whose id begins so, in the order of their ids. ``prefix`` ends with a slash."""
    folded = fold(prefix)
    for key in sorted(key for key in region.resources if key.startswith(folded)):
        yield read(region.resources[key])


def _part(region: Region, place: Place) -> dict[str, Any] | None:
    parent = _holder(region, place)
    if parent is None:
        return None
    parts = _parts(parent, place.kinds[-1])[1]
    return next((part for part in parts if fold(str(part.get("name", ""))) == fold(place.name)), None)


def _holder(region: Region, place: Place) -> dict[str, Any] | None:
    """The kept parent that a part lives in."""
    parent = place.parent
    if parent is None or fold(place.namespace) != network.NAMESPACE:
        return None
    kept = region.resources.get(fold(parent.id))
    return None if kept is None else read(kept)


def _parts(parent: dict[str, Any], kind: str) -> tuple[str, list[dict[str, Any]]]:
    """The list in a parent that holds such parts, under the name it has there."""
    properties = parent.get("properties", {})
    for key, value in properties.items():
        if fold(key) == fold(kind) and isinstance(value, list):
            return key, [part for part in value if isinstance(part, dict)]
    return kind, []


# Reading


async def _get(desk: ArmDesk, call: Call) -> ArmReply:
    place = require(call.path)
    if place.is_collection:
        return ArmReply(200, {"value": list(_collection(desk.plane.region, place))})
    found = find(desk, place.id)
    if found is None:
        raise _not_found(place)
    return ArmReply(200, found, _tagged(found))


async def _head(desk: ArmDesk, call: Call) -> ArmReply:
    place = require(call.path)
    if not place.is_collection and find(desk, place.id) is None:
        raise _not_found(place)
    return ArmReply(204)


def _collection(region: Region, place: Place) -> Iterator[dict[str, Any]]:
    """The resources of one kind in one place, or (asked of the subscription) in all its groups."""
    parent = _holder(region, place)
    if parent is not None:
        yield from _parts(parent, place.kinds[-1])[1]
        return
    everywhere = not place.group and len(place.kinds) == 1
    marker = f"/providers/{fold(place.namespace)}/{fold(place.kinds[-1])}/"
    prefix = fold(place.scope if everywhere else place.id) + "/"
    for key in sorted(key for key in region.resources if key.startswith(prefix)):
        rest = key.rpartition(marker)[2] if everywhere and marker in key else key.removeprefix(prefix)
        if "/" not in rest:
            yield read(region.resources[key])


def _tagged(found: dict[str, Any]) -> dict[str, str]:
    etag = found.get("etag")
    return {"ETag": etag} if isinstance(etag, str) and etag.isascii() and etag.isprintable() else {}


def _not_found(place: Place) -> ArmError:
    name = "/".join(place.names)
    return resource_not_found(place.kind, name, place.group)


# Writing


async def _put(desk: ArmDesk, call: Call) -> ArmReply:
    async with desk.plane.editing:
        return await _store(desk, call, _named(call), _check_body(call.body))


async def _store(desk: ArmDesk, call: Call, place: Place, body: dict[str, Any]) -> ArmReply:
    region = desk.plane.region
    _check_parent(region, place)
    previous = find(desk, place.id)
    _check_location(place, body, previous)
    holder = _holder(region, place)
    resource = _made(place, body)
    if holder is not None:
        await _keep_part(desk, call, place, holder, resource)
    else:
        await _keep(desk, call, place, resource, previous)
    found = find(desk, place.id)
    assert found is not None
    made = previous is None and fold(place.namespace) not in _NEVER_CREATED
    return ArmReply(201 if made else 200, found, _tagged(found))


async def _patch(desk: ArmDesk, call: Call) -> ArmReply:
    place, body = _named(call), _check_body(call.body)
    async with desk.plane.editing:
        previous = find(desk, place.id)
        if previous is None:
            raise _not_found(place)
        properties = merge(previous["properties"], body.get("properties") or {}, is_patch=True)
        return await _store(desk, call, place, {**previous, **body, "properties": properties})


async def _delete(desk: ArmDesk, call: Call) -> ArmReply:
    async with desk.plane.editing:
        return await _remove(desk, call, _named(call))


async def _remove(desk: ArmDesk, call: Call, place: Place) -> ArmReply:
    region = desk.plane.region
    kept = region.resources.get(fold(place.id))
    if kept is not None:
        parts = [key for key in region.resources if key.startswith(f"{fold(place.id)}/")]
        forget = tuple(ForgetResource(resource_id) for resource_id in (*parts, place.id))
        await desk.plane.submit(Together((*forget, *nic_bindings.of_interface(desk, place.id, None))), call.origin)
        return ArmReply(200)
    holder = _holder(region, place)
    if holder is None or _part(region, place) is None:
        return ArmReply(204)
    key, parts_left = _parts(holder, place.kinds[-1])
    holder["properties"][key] = [part for part in parts_left if fold(str(part.get("name"))) != fold(place.name)]
    await _keep_document(desk, call, holder)
    return ArmReply(200)


def _named(call: Call) -> Place:
    """One resource, and none that has routes of its own."""
    place = require(call.path)
    if place.is_collection or fold(place.kind) in _COMPUTE:
        raise ArmError(405, "MethodNotAllowed", f"The method {call.method} is not supported for this resource.")
    return place


def _check_body(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise ArmError(400, "InvalidRequestContent", "The request content must be a JSON object.")
    for member in ("properties", "tags"):
        if not isinstance(body.get(member) or {}, dict):
            raise ArmError(400, "InvalidRequestContent", f"'{member}' must be a JSON object.", member)
    for tag, value in (body.get("tags") or {}).items():
        if not isinstance(value, str):
            raise ArmError(400, "InvalidTagValue", f"The value of tag '{tag}' is not a string.", "tags")
    if not isinstance(body.get("location", ""), str):
        raise ArmError(400, "InvalidRequestContent", "'location' must be a string.", "location")
    return body


def _check_location(place: Place, body: dict[str, Any], previous: dict[str, Any] | None) -> None:
    at_top = len(place.kinds) == 1 and fold(place.namespace) in (network.NAMESPACE, "microsoft.compute")
    location = body.get("location") or ""
    if at_top and not location:
        raise ArmError(400, "LocationRequired", "The location property is required for this definition.")
    there = (previous or {}).get("location", location)
    if location and fold(there.replace(" ", "")) != fold(location.replace(" ", "")):
        raise ArmError(
            409,
            "InvalidResourceLocation",
            f"The resource '{place.name}' already exists in location '{there}' in resource group '{place.group}'. "
            f"A resource with the same name cannot be created in location '{location}'. "
            "Please select a new resource name.",
        )


def _check_parent(region: Region, place: Place) -> None:
    parent = place.parent
    if parent is None or fold(parent.id) in region.resources or _part(region, parent) is not None:
        return
    known = {
        "microsoft.compute/virtualmachines": region.vms.get(fold(parent.name)),
        "microsoft.compute/virtualmachinescalesets": region.scale_sets.get(fold(parent.name)),
        "microsoft.compute/availabilitysets": region.scopes.get(scope_key(ScopeKind.AVAILABILITY_SET, parent.name)),
    }
    if known.get(fold(parent.kind)) is None:
        raise ArmError(
            404,
            "ParentResourceNotFound",
            f"Failed to perform '{place.kind}' operation on resource '{place.name}', because the parent resource "
            f"'{parent.id}' could not be found.",
        )


def _made(place: Place, body: dict[str, Any]) -> dict[str, Any]:
    """The document as the service tells it back."""
    given = {key: value for key, value in body.items() if key not in _SERVICE_MEMBERS and value is not None}
    properties = {**(body.get("properties") or {}), "provisioningState": "Succeeded"}
    return {**place.head(), **given, "properties": properties}


async def _keep_part(desk: ArmDesk, call: Call, place: Place, holder: dict[str, Any], resource: dict[str, Any]) -> None:
    key, parts = _parts(holder, place.kinds[-1])
    others = [part for part in parts if fold(str(part.get("name"))) != fold(place.name)]
    holder.setdefault("properties", {})[key] = [*others, resource]
    parent = place.parent
    assert parent is not None
    await _keep(desk, call, parent, holder, holder)


async def _keep(
    desk: ArmDesk, call: Call, place: Place, resource: dict[str, Any], previous: dict[str, Any] | None
) -> None:
    if fold(place.namespace) == network.NAMESPACE:
        region = desk.plane.region
        network.complete(resource, previous, _taken(region, place), _prefixes(region, resource))
    await _keep_document(desk, call, resource)


async def _keep_document(desk: ArmDesk, call: Call, resource: dict[str, Any]) -> None:
    kept = keep(resource)
    follows = nic_bindings.of_interface(desk, kept.id, Resource(kept.id, kept.body))
    await desk.plane.submit(Together((kept, *follows)) if follows else kept, call.origin)


def _taken(region: Region, place: Place) -> set[str]:
    """The addresses that others have. A resource's own do not stand in its way."""
    if fold(place.kinds[0]) not in ("networkinterfaces", "publicipaddresses"):
        return set()
    marker, own = f"/{fold(place.namespace)}/{fold(place.kinds[0])}/", fold(place.id)
    others = (kept for key, kept in region.resources.items() if marker in key and key != own)
    return {address for kept in others for address in network.addresses_in(kept.body)}


def _prefixes(region: Region, resource: dict[str, Any]) -> dict[str, str]:
    """Address ranges of the subnets that an interface names."""
    found: dict[str, str] = {}
    configurations = resource["properties"].get("ipConfigurations")
    for part in configurations if isinstance(configurations, list) else []:
        inner = part.get("properties") if isinstance(part, dict) else None
        subnet = inner.get("subnet") if isinstance(inner, dict) else None
        place = parse(str(subnet.get("id", ""))) if isinstance(subnet, dict) else None
        parent = _holder(region, place) if place is not None else None
        found.update(network.prefixes_of(parent) if parent is not None else {})
    return found
