"""Microsoft.Compute/virtualMachineScaleSets/virtualMachines: the instances of a scale set."""

from __future__ import annotations

from uuid import uuid4

from forewarn.core import commands as c
from forewarn.core.region import replace
from forewarn.web import arm_ids
from forewarn.web.arm_ids import INSTANCES
from forewarn.web.resource_manager import lro
from forewarn.web.resource_manager.call import FILTER, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.compute import actions, bodies, documents, filters, finding, pages, states, views
from forewarn.web.resource_manager.compute.merging import merge
from forewarn.web.resource_manager.compute.schema import Object
from forewarn.web.resource_manager.routing import Handler, Router

_ALL = arm_ids.resource_id(arm_ids.IN_GROUP, INSTANCES, "{name}")
_ONE = f"{_ALL}/{{instance}}"


def add_to(router: Router) -> None:
    router.add("GET", _ALL, _list, (FILTER,), views.EXPANDED)
    router.add("GET", _ONE, _get, (), views.EXPANDED)
    router.add("PUT", _ONE, _put)
    router.add("PATCH", _ONE, _put)
    router.add("DELETE", _ONE, _delete)
    router.add("GET", f"{_ONE}/instanceView", _instance_view)
    for verb in actions.VERBS:
        router.add("POST", f"{_ONE}/{verb}", _acting(verb))
    router.add("POST", f"{_ONE}/simulateEviction", _simulate_eviction)


async def _list(desk: ArmDesk, call: Call) -> ArmReply:
    scale_set = finding.find_scale_set(desk, call)
    wanted = filters.instances(call, scale_set)
    region, shown = desk.plane.region, views.Instances(desk, call, scale_set)
    vms = (vm for vm in map(region.vms.__getitem__, scale_set.instances) if wanted(vm))
    return pages.page(call, vms, lambda vm: f"{vm.number:012}", shown.entry)


async def _get(desk: ArmDesk, call: Call) -> ArmReply:
    scale_set, vm = finding.find_instance(desk, call)
    shown = views.Instances(desk, call, scale_set)
    return views.reply(200, shown.view(vm, instance_view=views.wants(call, "instanceView")))


async def _instance_view(desk: ArmDesk, call: Call) -> ArmReply:
    _, vm = finding.find_instance(desk, call)
    return ArmReply(200, states.vm_view(desk.plane.region, vm))


async def _put(desk: ArmDesk, call: Call) -> ArmReply:
    """An instance's own are its tags and its protection; the rest of the body is its model's, and not looked at."""
    async with desk.plane.editing:
        scale_set, vm = finding.find_instance(desk, call)
        base = documents.of_instance(desk, scale_set, vm)
        bodies.check_preconditions(call, {"etag": '"1"', **base})
        change = bodies.change_in(call, "VirtualMachineScaleSetVM", "vmssVm")
        document = merge(base, _own(change))
        document["etag"] = documents.next_etag({"etag": '"1"', **base})
        protection = document.get("properties", {}).get("protectionPolicy", {})
        tags = tuple(sorted(document["tags"].items()))
        commands: list[c.Single] = [
            *([c.RespecifyVm(vm.name, replace(vm.spec, tags=tags))] if dict(tags) != dict(vm.spec.tags) else []),
            c.ProtectInstance(vm.name, documents.protects(protection)),
            documents.keep(
                arm_ids.instance_id(desk.subscription, scale_set, vm), INSTANCES, document, f"instance/{vm.key}"
            ),
        ]
        headers = await lro.carry_out(desk, call, f"{INSTANCES}/write", commands)
    scale_set, vm = finding.find_instance(desk, call)
    return views.reply(200, views.Instances(desk, call, scale_set).view(vm, state="Updating"), headers)


def _own(change: Object) -> Object:
    own: Object = {"tags": change["tags"]} if "tags" in change else {}
    protection = change.get("properties", {}).get("protectionPolicy")
    return own if protection is None else {**own, "properties": {"protectionPolicy": protection}}


async def _delete(desk: ArmDesk, call: Call) -> ArmReply:
    scale_set, vm = finding.find_instance(desk, call)
    command = c.DeleteInstances(scale_set.name, (vm.name,), str(uuid4()))
    return await lro.accepted(desk, call, f"{INSTANCES}/delete", [command])


def _acting(verb: str) -> Handler:
    async def act(desk: ArmDesk, call: Call) -> ArmReply:
        _, vm = finding.find_instance(desk, call)
        actions.selection_in(call)
        return await lro.accepted(desk, call, f"{INSTANCES}/{verb}/action", actions.commands_for(verb, [vm]))

    return act


async def _simulate_eviction(desk: ArmDesk, call: Call) -> ArmReply:
    _, vm = finding.find_instance(desk, call)
    return await actions.simulate_eviction(desk, call, vm)
