"""What a path or a body names, or the 404 that the service gives."""

from __future__ import annotations

from collections.abc import Sequence

from forewarn.core.region import Region, ScaleSet, Scope, Vm, fold, scope_key
from forewarn.core.specs import Orchestration, ScopeKind
from forewarn.web.arm_ids import AVAILABILITY_SETS, SCALE_SETS, VMS
from forewarn.web.resource_manager.call import ArmDesk, Call
from forewarn.web.resource_manager.errors import ArmError, invalid, resource_not_found
from forewarn.web.resource_manager.places import parse


def set_of(region: Region, vm: Vm) -> ScaleSet | None:
    """The scale set that a VM is an instance of."""
    return region.scale_sets.get(fold(vm.scale_set)) if vm.scale_set else None


def is_own_resource(region: Region, vm: Vm) -> bool:
    """Whether the VM is a resource: an instance of a uniform scale set is a part of one."""
    scale_set = set_of(region, vm)
    return scale_set is None or scale_set.orchestration is Orchestration.FLEXIBLE


# By the path


def seek_vm(desk: ArmDesk, call: Call) -> Vm | None:
    region = desk.plane.region
    vm = region.vms.get(fold(call.names["name"]))
    if vm is None or fold(vm.spec.resource_group) != fold(call.names["group"]):
        return None
    return vm if is_own_resource(region, vm) else None


def find_vm(desk: ArmDesk, call: Call) -> Vm:
    vm = seek_vm(desk, call)
    if vm is None:
        raise resource_not_found(VMS, call.names["name"], call.names["group"])
    return vm


def seek_scale_set(desk: ArmDesk, call: Call) -> ScaleSet | None:
    scale_set = desk.plane.region.scale_sets.get(fold(call.names["name"]))
    here = scale_set is not None and fold(scale_set.resource_group) == fold(call.names["group"])
    return scale_set if here else None


def find_scale_set(desk: ArmDesk, call: Call) -> ScaleSet:
    scale_set = seek_scale_set(desk, call)
    if scale_set is None:
        raise resource_not_found(SCALE_SETS, call.names["name"], call.names["group"])
    return scale_set


def seek_availability_set(desk: ArmDesk, group: str, name: str) -> Scope | None:
    scope = desk.plane.region.scopes.get(scope_key(ScopeKind.AVAILABILITY_SET, name))
    return scope if scope is not None and fold(scope.resource_group) == fold(group) else None


def find_availability_set(desk: ArmDesk, call: Call) -> Scope:
    scope = seek_availability_set(desk, call.names["group"], call.names["name"])
    if scope is None:
        raise resource_not_found(AVAILABILITY_SETS, call.names["name"], call.names["group"])
    return scope


# Instances


def find_instance(desk: ArmDesk, call: Call) -> tuple[ScaleSet, Vm]:
    scale_set = find_scale_set(desk, call)
    number = call.names["instance"]
    if scale_set.orchestration is Orchestration.UNIFORM and not _is_number(number):
        raise invalid("instanceId", "Virtual Machine Scale Set VM instanceId must be a number.")
    vm = _instance(desk.plane.region, scale_set, number)
    if vm is None:
        raise ArmError(404, "NotFound", "The entity was not found in this Azure location.")
    return scale_set, vm


def instances_of(region: Region, scale_set: ScaleSet) -> list[Vm]:
    """The instances of a scale set, in the order of their making."""
    return sorted((region.vms[key] for key in scale_set.instances), key=lambda vm: vm.number)


def chosen_instances(region: Region, scale_set: ScaleSet, numbers: Sequence[str] | None) -> list[Vm]:
    """The instances with these ids; all where none is given, or ``*`` is."""
    if not numbers or "*" in numbers:
        return instances_of(region, scale_set)
    found = []
    for number in dict.fromkeys(numbers):
        vm = _instance(region, scale_set, number)
        if vm is None:
            sentence = (
                f"The provided instanceId {number[:80]} is not an active Virtual Machine Scale Set VM instanceId."
            )
            raise invalid("instanceIds", sentence)
        found.append(vm)
    return found


def _instance(region: Region, scale_set: ScaleSet, number: str) -> Vm | None:
    uniform = scale_set.orchestration is Orchestration.UNIFORM
    vm = region.vms.get(fold(f"{scale_set.name}_{number}" if uniform else number))
    return vm if vm is not None and vm.key in scale_set.instances else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


# By an id in a body


def named_in(reference: str, kind: str, at: str) -> tuple[str, str]:
    """The group and the name in an id of that kind, or the service's word about what is none."""
    place = parse(reference)
    if not reference.startswith("/") or place is None or fold(place.kind) != fold(kind) or place.is_collection:
        raise ArmError(
            400,
            "LinkedInvalidPropertyId",
            f"Property id '{reference[:200]}' at path '{at}' is invalid. Expect fully qualified resource Id that start "
            "with '/subscriptions/{subscriptionId}' or '/providers/{resourceProviderNamespace}/'.",
            at,
        )
    return place.group, place.name
