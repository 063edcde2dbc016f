"""Ids of the Resource Manager's resources, all made here.

A VM reads its own id at ``/metadata/instance`` and compares it with what ``az`` shows: the two must be the same
letters. Reading an id is ``resource_manager/places``; ids are compared without regard to case.
"""

from __future__ import annotations

from itertools import zip_longest

from forewarn.core.region import ScaleSet, Scope, Vm
from forewarn.core.specs import Orchestration

COMPUTE = "Microsoft.Compute"
VMS = f"{COMPUTE}/virtualMachines"
SCALE_SETS = f"{COMPUTE}/virtualMachineScaleSets"
INSTANCES = f"{SCALE_SETS}/virtualMachines"
AVAILABILITY_SETS = f"{COMPUTE}/availabilitySets"
HOSTS = f"{COMPUTE}/hostGroups/hosts"
SCHEDULED_EVENTS = "Microsoft.Maintenance/scheduledevents"


def subscription_id(subscription: str) -> str:
    return f"/subscriptions/{subscription}"


def group_id(subscription: str, group: str) -> str:
    return f"/subscriptions/{subscription}/resourceGroups/{group}"


IN_SUBSCRIPTION = subscription_id("{subscription}")  # as patterns of routes
IN_GROUP = group_id("{subscription}", "{group}")


def resource_id(scope: str, kind: str, *names: str) -> str:
    """The id of a resource of ``kind``: Microsoft.Compute/virtualMachines, web gives
    ``…/providers/Microsoft.Compute/virtualMachines/web``.

    ``scope`` is a subscription or group, or the resource to which another provider adds something.
    A kind of several parts wants a name for each. Without the last name it is the id of a collection.
    """
    namespace, *kinds = kind.split("/")
    parts = [part for pair in zip_longest(kinds, names) for part in pair if part is not None]
    return "/".join((scope, "providers", namespace, *parts))


def part_id(whole: str, kind: str, name: str) -> str:
    """The id of what is a part of another resource, as a subnet is of its network."""
    return f"{whole}/{kind}/{name}"


def acknowledge_path(scope: str, *event: str) -> str:
    """Where an event of a resource or of a subscription is approved from outside; without its id, several of them."""
    return f"{resource_id(scope, SCHEDULED_EVENTS, *event)}/acknowledge"


def vm_id(subscription: str, vm: Vm) -> str:
    """The id of a VM that is a resource of its own, which an instance of a uniform scale set is not."""
    return resource_id(group_id(subscription, vm.spec.resource_group), VMS, vm.name)


def scale_set_id(subscription: str, scale_set: ScaleSet) -> str:
    return resource_id(group_id(subscription, scale_set.resource_group), SCALE_SETS, scale_set.name)


def instance_id(subscription: str, scale_set: ScaleSet, vm: Vm) -> str:
    return part_id(scale_set_id(subscription, scale_set), "virtualMachines", instance_name(scale_set, vm))


def instance_name(scale_set: ScaleSet, vm: Vm) -> str:
    """What a scale set calls its instance, Azure's ``instanceId``: a number, or in a flexible one the VM's name."""
    return str(vm.number) if scale_set.orchestration is Orchestration.UNIFORM else vm.name


def availability_set_id(subscription: str, scope: Scope) -> str:
    return resource_id(group_id(subscription, scope.resource_group), AVAILABILITY_SETS, scope.name)
