"""Microsoft.Compute/virtualMachines."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

from forewarn.core import commands as c
from forewarn.core.region import Vm, fold
from forewarn.web.arm_ids import VMS
from forewarn.web.resource_manager import lro
from forewarn.web.resource_manager.call import FILTER, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.compute import actions, filters, finding, pages, states, views, vm_orders
from forewarn.web.resource_manager.compute.resource import ResourceKind, every, in_subscription, one
from forewarn.web.resource_manager.routing import Handler, Router

_ALL, _ONE = every(VMS), one(VMS)
_RESOURCE = ResourceKind(VMS, finding.seek_vm, finding.find_vm, vm_orders.order, views.vm)


def add_to(router: Router) -> None:
    for place in (in_subscription(VMS), _ALL):
        router.add("GET", place, _list, (FILTER,), views.EXPANDED)
    _RESOURCE.add_to(router)
    router.add("GET", _ONE, _get, (), views.EXPANDED)
    router.add("DELETE", _ONE, _delete)
    router.add("GET", f"{_ONE}/instanceView", _instance_view)
    for verb in actions.VERBS:
        router.add("POST", f"{_ONE}/{verb}", _acting(verb))
    router.add("POST", f"{_ONE}/simulateEviction", _simulate_eviction)


async def _get(desk: ArmDesk, call: Call) -> ArmReply:
    vm = finding.find_vm(desk, call)
    return views.reply(200, views.vm(desk, call, vm, instance_view=views.wants(call, "instanceView")))


async def _instance_view(desk: ArmDesk, call: Call) -> ArmReply:
    return ArmReply(200, states.vm_view(desk.plane.region, finding.find_vm(desk, call)))


async def _list(desk: ArmDesk, call: Call) -> ArmReply:
    wanted = filters.vms(call)
    view = views.wants(call, "instanceView") or call.query.get("statusonly", "").lower() == "true"
    found = (vm for vm in _vms_in(desk, call.names.get("group")) if wanted(vm))
    return pages.page(call, found, lambda vm: vm.key, lambda vm: views.vm(desk, call, vm, instance_view=view))


def _vms_in(desk: ArmDesk, group: str | None) -> Iterator[Vm]:
    region = desk.plane.region
    for vm in region.vms.values():
        if (group is None or fold(vm.spec.resource_group) == fold(group)) and finding.is_own_resource(region, vm):
            yield vm


async def _delete(desk: ArmDesk, call: Call) -> ArmReply:
    vm = finding.seek_vm(desk, call)
    if vm is None:
        return ArmReply(204)
    seed = str(uuid4())
    command: c.Single = c.DeleteVms((vm.name,), seed)
    if vm.scale_set:
        command = c.DeleteInstances(vm.scale_set, (vm.name,), seed)
    return await lro.accepted(desk, call, f"{VMS}/delete", [command])


def _acting(verb: str) -> Handler:
    async def act(desk: ArmDesk, call: Call) -> ArmReply:
        vm = finding.find_vm(desk, call)
        actions.selection_in(call)
        return await lro.accepted(desk, call, f"{VMS}/{verb}/action", actions.commands_for(verb, [vm]))

    return act


async def _simulate_eviction(desk: ArmDesk, call: Call) -> ArmReply:
    return await actions.simulate_eviction(desk, call, finding.find_vm(desk, call))
