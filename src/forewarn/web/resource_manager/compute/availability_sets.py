"""Microsoft.Compute/availabilitySets. Changes are synchronous: there is no operation to poll."""

from __future__ import annotations

from forewarn.core import commands as c
from forewarn.core.deciding.fleet import FAULT_DOMAINS_MOST, UPDATE_DOMAINS_MOST
from forewarn.core.region import Scope, fold, scope_key
from forewarn.core.specs import DEFAULT_POLICY, Domains, ScopeKind
from forewarn.web import arm_ids
from forewarn.web.arm_ids import AVAILABILITY_SETS
from forewarn.web.resource_manager.call import ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.compute import bodies, documents, finding, pages, views
from forewarn.web.resource_manager.compute.event_settings import settle_policy
from forewarn.web.resource_manager.compute.resource import add_checks, every, in_subscription, one
from forewarn.web.resource_manager.compute.schema import Object
from forewarn.web.resource_manager.errors import invalid
from forewarn.web.resource_manager.routing import Router

_ALL, _ONE = every(AVAILABILITY_SETS), one(AVAILABILITY_SETS)
_DOMAINS = {
    "platformUpdateDomainCount": ("update", UPDATE_DOMAINS_MOST),
    "platformFaultDomainCount": ("fault", FAULT_DOMAINS_MOST),
}


def add_to(router: Router) -> None:
    router.add("GET", in_subscription(AVAILABILITY_SETS), _list)
    router.add("GET", _ALL, _list)
    router.add("PUT", _ONE, _put)
    add_checks(router, AVAILABILITY_SETS, finding.find_availability_set, _put)
    router.add("GET", _ONE, _get)
    router.add("DELETE", _ONE, _delete)


async def _put(desk: ArmDesk, call: Call) -> ArmReply:
    """200 also for a new set: az and the SDKs accept no 201 here."""
    async with desk.plane.editing:
        current = finding.seek_availability_set(desk, call.names["group"], call.names["name"])
        await desk.plane.submit(c.Together(tuple(_order(desk, call, current))), call.origin)
    return ArmReply(200, views.availability_set(desk, call, finding.find_availability_set(desk, call)))


def _order(desk: ArmDesk, call: Call, current: Scope | None) -> list[c.Single]:
    change = bodies.change_in(call, "AvailabilitySet", "availabilitySet")
    base = None if current is None else documents.of_availability_set(desk, current)
    name = call.names["name"] if current is None else current.name
    group = call.names["group"] if current is None else current.resource_group
    bodies.check_name("availability set", name, "availabilitySetName")
    document = bodies.laid_over(base, change, call)
    properties, policy = document["properties"], DEFAULT_POLICY
    properties.pop("virtualMachines", None)
    domains = Domains(*(_count(properties, base, member) for member in _DOMAINS))
    if "scheduledEventsPolicy" in properties:
        properties["scheduledEventsPolicy"], policy = settle_policy(properties["scheduledEventsPolicy"])
    owner = scope_key(ScopeKind.AVAILABILITY_SET, name)
    resource_id = arm_ids.resource_id(arm_ids.group_id(desk.subscription, group), AVAILABILITY_SETS, name)
    return [
        c.PutAvailabilitySet(name, group, policy, domains),
        documents.keep(resource_id, AVAILABILITY_SETS, document, owner),
    ]


def _count(properties: Object, base: Object | None, member: str) -> int:
    """How many domains are asked for: said once, when the set is made; 0 where nothing is said."""
    if base is not None:
        if properties[member] != base["properties"][member]:
            raise bodies.unchangeable(member)
        return 0
    kind, most = _DOMAINS[member]
    count: int = properties.get(member, 0)
    if member in properties and not 1 <= count <= most:
        raise invalid(member, f"The specified {kind} domain count {count} must fall in the range 1 to {most}.")
    return count


async def _get(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, views.availability_set(desk, call, finding.find_availability_set(desk, call)))


async def _list(desk: ArmDesk, call: Call) -> ArmReply:
    group = call.names.get("group")
    scopes = desk.plane.region.scopes.values()
    sets = (scope for scope in scopes if scope.kind is ScopeKind.AVAILABILITY_SET)
    found = (scope for scope in sets if group is None or fold(scope.resource_group) == fold(group))
    return pages.page(call, found, lambda scope: scope.key, lambda scope: views.availability_set(desk, call, scope))


async def _delete(desk: ArmDesk, call: Call) -> ArmReply:
    scope = finding.seek_availability_set(desk, call.names["group"], call.names["name"])
    if scope is None:
        return ArmReply(204)
    await desk.plane.submit(c.DeleteAvailabilitySet(scope.name), call.origin)
    return ArmReply(200)
