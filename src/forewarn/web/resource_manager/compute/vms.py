"""Microsoft.Compute/virtualMachines."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

from forewarn.core import commands as c
from forewarn.core.region import Vm, fold
from forewarn.web.resource_manager import lro
from forewarn.web.resource_manager.call import FILTER, Call, Desk, Reply
from forewarn.web.resource_manager.compute import actions, filters, finding, pages, states, views, vm_orders
from forewarn.web.resource_manager.compute.finding import VMS
from forewarn.web.resource_manager.routing import Handler, Router

_ALL = f"{finding.IN_GROUP}{VMS}"
_ONE = f"{_ALL}/{{name}}"


def add_to(router: Router) -> None:
    for place in (f"{finding.IN_SUBSCRIPTION}{VMS}", _ALL):
        router.add("GET", place, _list, (FILTER,), views.EXPANDED)
    router.add("PUT", _ONE, _put)
    router.add("PATCH", _ONE, _patch)
    router.add("GET", _ONE, _get, (), views.EXPANDED)
    router.add("HEAD", _ONE, _head)
    router.add("DELETE", _ONE, _delete)
    router.add("GET", f"{_ONE}/instanceView", _instance_view)
    for verb in actions.VERBS:
        router.add("POST", f"{_ONE}/{verb}", _acting(verb))
    router.add("POST", f"{_ONE}/simulateEviction", _simulate_eviction)


async def _put(desk: Desk, call: Call) -> Reply:
    async with desk.plane.editing:
        current = finding.seek_vm(desk, call)
        commands = vm_orders.order(desk, call, current)
        headers = await lro.carry_out(desk, call, f"{VMS}/write", commands)
    state = "Creating" if current is None else "Updating"
    shown = views.vm(desk, call, finding.find_vm(desk, call), state=state)
    return views.reply(201 if current is None else 200, shown, headers)


async def _patch(desk: Desk, call: Call) -> Reply:
    finding.find_vm(desk, call)
    return await _put(desk, call)


async def _head(desk: Desk, call: Call) -> Reply:
    """Whether it is there."""
    finding.find_vm(desk, call)
    return Reply(204)


async def _get(desk: Desk, call: Call) -> Reply:
    vm = finding.find_vm(desk, call)
    return views.reply(200, views.vm(desk, call, vm, instance_view=views.wants(call, "instanceView")))


async def _instance_view(desk: Desk, call: Call) -> Reply:
    return Reply(200, states.vm_view(desk.plane.region, finding.find_vm(desk, call)))


async def _list(desk: Desk, call: Call) -> Reply:
    wanted = filters.vms(call)
    view = views.wants(call, "instanceView") or call.query.get("statusonly", "").lower() == "true"
    found = (vm for vm in _vms_in(desk, call.names.get("group")) if wanted(vm))
    return pages.page(call, found, lambda vm: vm.key, lambda vm: views.vm(desk, call, vm, instance_view=view))


def _vms_in(desk: Desk, group: str | None) -> Iterator[Vm]:
    region = desk.plane.region
    for vm in region.vms.values():
        if (group is None or fold(vm.spec.resource_group) == fold(group)) and finding.is_own_resource(region, vm):
            yield vm


async def _delete(desk: Desk, call: Call) -> Reply:
    vm = finding.seek_vm(desk, call)
    if vm is None:
        return Reply(204)
    seed = str(uuid4())
    command: c.Single = c.DeleteVms((vm.name,), seed)
    if vm.scale_set:
        command = c.DeleteInstances(vm.scale_set, (vm.name,), seed)
    return await lro.accepted(desk, call, f"{VMS}/delete", [command])


def _acting(verb: str) -> Handler:
    async def act(desk: Desk, call: Call) -> Reply:
        vm = finding.find_vm(desk, call)
        actions.selection_in(call)
        return await lro.accepted(desk, call, f"{VMS}/{verb}/action", actions.commands_for(verb, [vm]))

    return act


async def _simulate_eviction(desk: Desk, call: Call) -> Reply:
    return await actions.simulate_eviction(desk, call, finding.find_vm(desk, call))
