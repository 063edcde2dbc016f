"""Microsoft.Compute/virtualMachineScaleSets."""

from __future__ import annotations

from uuid import uuid4

from forewarn.core import commands as c
from forewarn.core.region import fold
from forewarn.web.arm_ids import SCALE_SETS
from forewarn.web.resource_manager import lro
from forewarn.web.resource_manager.call import ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.compute import actions, bodies, finding, pages, scale_set_orders, states, views
from forewarn.web.resource_manager.compute.resource import ResourceKind, every, in_subscription, one
from forewarn.web.resource_manager.errors import ArmError
from forewarn.web.resource_manager.routing import Handler, Router

_ALL, _ONE = every(SCALE_SETS), one(SCALE_SETS)
_RESOURCE = ResourceKind(
    SCALE_SETS, finding.seek_scale_set, finding.find_scale_set, scale_set_orders.order, views.scale_set
)


def add_to(router: Router) -> None:
    for place in (in_subscription(SCALE_SETS), _ALL):
        router.add("GET", place, _list, (), views.EXPANDED)
    _RESOURCE.add_to(router)
    router.add("GET", _ONE, _get, (), views.EXPANDED)
    router.add("DELETE", _ONE, _delete)
    router.add("GET", f"{_ONE}/instanceView", _instance_view)
    for verb in actions.VERBS:
        router.add("POST", f"{_ONE}/{verb}", _acting(verb))
    router.add("POST", f"{_ONE}/manualUpgrade", _upgrade)
    router.add("POST", f"{_ONE}/delete", _delete_instances)
    router.add("POST", f"{_ONE}/osRollingUpgrade", _start_rolling)
    router.add("POST", f"{_ONE}/extensionRollingUpgrade", _start_rolling)
    router.add("POST", f"{_ONE}/rollingUpgrades/cancel", _cancel_rolling)
    router.add("GET", f"{_ONE}/rollingUpgrades/latest", _latest_rolling)


async def _get(desk: ArmDesk, call: Call) -> ArmReply:
    return views.reply(200, views.scale_set(desk, call, finding.find_scale_set(desk, call)))


async def _list(desk: ArmDesk, call: Call) -> ArmReply:
    group = call.names.get("group")
    sets = desk.plane.region.scale_sets.values()
    found = (each for each in sets if group is None or fold(each.resource_group) == fold(group))
    return pages.page(call, found, lambda each: each.key, lambda each: views.scale_set(desk, call, each))


async def _instance_view(desk: ArmDesk, call: Call) -> ArmReply:
    region, scale_set = desk.plane.region, finding.find_scale_set(desk, call)
    vms = [region.vms[key] for key in scale_set.instances]
    return ArmReply(200, states.scale_set_view(region, scale_set, vms))


async def _delete(desk: ArmDesk, call: Call) -> ArmReply:
    scale_set = finding.seek_scale_set(desk, call)
    if scale_set is None:
        return ArmReply(204)
    return await lro.accepted(desk, call, f"{SCALE_SETS}/delete", [c.DeleteScaleSet(scale_set.name, str(uuid4()))])


def _acting(verb: str) -> Handler:
    async def act(desk: ArmDesk, call: Call) -> ArmReply:
        region, scale_set = desk.plane.region, finding.find_scale_set(desk, call)
        numbers = actions.selection_in(call).get("instanceIds")
        vms = finding.chosen_instances(region, scale_set, numbers)
        if not numbers or "*" in numbers:
            vms = actions.applicable(verb, vms)
        return await lro.accepted(desk, call, f"{SCALE_SETS}/{verb}/action", actions.commands_for(verb, vms))

    return act


async def _upgrade(desk: ArmDesk, call: Call) -> ArmReply:
    scale_set, names = _named(desk, call)
    commands = [c.UpgradeInstances(scale_set, names)] if names else []
    return await lro.accepted(desk, call, f"{SCALE_SETS}/manualUpgrade/action", commands)


async def _start_rolling(desk: ArmDesk, call: Call) -> ArmReply:
    """Answered when the upgrade has started; its progress is ``rollingUpgrades/latest``."""
    command = c.StartRollingUpgrade(finding.find_scale_set(desk, call).name)
    return await lro.accepted(desk, call, f"{SCALE_SETS}/osRollingUpgrade/action", [command])


async def _cancel_rolling(desk: ArmDesk, call: Call) -> ArmReply:
    command = c.CancelRollingUpgrade(finding.find_scale_set(desk, call).name)
    return await lro.accepted(desk, call, f"{SCALE_SETS}/rollingUpgrades/action", [command])


async def _latest_rolling(desk: ArmDesk, call: Call) -> ArmReply:
    scale_set = finding.find_scale_set(desk, call)
    if scale_set.rolling is None:
        raise ArmError(404, "NotFound", f"There was no rolling upgrade of scale set '{scale_set.name}' yet.")
    return ArmReply(200, views.rolling_upgrade(desk, scale_set, scale_set.rolling))


async def _delete_instances(desk: ArmDesk, call: Call) -> ArmReply:
    scale_set, names = _named(desk, call)
    commands = [c.DeleteInstances(scale_set, names, str(uuid4()))] if names else []
    return await lro.accepted(desk, call, f"{SCALE_SETS}/delete/action", commands)


def _named(desk: ArmDesk, call: Call) -> tuple[str, tuple[str, ...]]:
    """The set, and the instances that the body names.

    For these two verbs an empty selection is refused, not taken for all.
    """
    scale_set = finding.find_scale_set(desk, call)
    numbers = actions.selection_in(call).get("instanceIds")
    if not numbers:
        raise bodies.required("instanceIds")
    vms = finding.chosen_instances(desk.plane.region, scale_set, numbers)
    return scale_set.name, tuple(vm.name for vm in vms)
