"""What a PUT or PATCH of a virtual machine asks for."""

from __future__ import annotations

from uuid import uuid4

from forewarn.core import commands as c
from forewarn.core.region import Vm, fold, replace
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.web import arm_ids
from forewarn.web.resource_manager import nic_bindings
from forewarn.web.resource_manager.call import ArmDesk, Call
from forewarn.web.resource_manager.compute import bodies, documents, finding
from forewarn.web.resource_manager.compute.event_settings import settle_policy
from forewarn.web.resource_manager.compute.schema import Object
from forewarn.web.resource_manager.errors import ArmError, invalid

_DEFAULT_SIZE = VmSpec().size
_AVAILABILITY_SET = "properties.availabilitySet.id"


def order(desk: ArmDesk, call: Call, current: Vm | None) -> list[c.Single]:
    """The commands that make a VM, or change it, so that it is as the body says."""
    change = bodies.change_in(call, "VirtualMachine", "vm")
    base = None if current is None else documents.of_vm(desk, current)
    bodies.check_preconditions(call, base)
    name = call.names["name"] if current is None else current.name
    bodies.check_name("VM", name, "vmName")
    document = bodies.laid_over(base, change, call)
    spec = _spec(desk, call, document, current)
    commands: list[c.Single] = []
    if current is None:
        _check_free(desk, name)
        commands.append(c.CreateVms((name,), spec, str(uuid4())))
    else:
        commands += _changes(desk, current, spec)
    commands += _policy(desk, document, name, spec, current)
    commands += nic_bindings.of_vm(desk, name, spec.about.interfaces, current)
    kept = documents.keep_model(desk, arm_ids.VMS, spec.resource_group, name, document, base, f"vm/{fold(name)}")
    return [*commands, kept]


def _spec(desk: ArmDesk, call: Call, document: Object, current: Vm | None) -> VmSpec:
    properties, known = document["properties"], None if current is None else current.spec
    profile = bodies.settle(desk, document, properties, "properties", known)
    group = call.names["group"] if known is None else known.resource_group
    size = properties.get("hardwareProfile", {}).get("vmSize") or _DEFAULT_SIZE
    spec = profile.spec(group, size, document.get("tags", {}))
    kind, set_name = _set(desk, call, properties, current)
    if known is not None:
        return replace(spec, kind=kind, set_name=set_name, role=known.role, vnet=known.vnet, rest=known.rest)
    return replace(spec, kind=kind, set_name=set_name)


def _set(desk: ArmDesk, call: Call, properties: Object, current: Vm | None) -> tuple[ScopeKind, str]:
    """The set that the VM belongs to, which is chosen when the VM is made and never changes."""
    found = _availability_set(desk, call, properties)
    scale_set = properties.get("virtualMachineScaleSet", {}).get("id")
    if current is None:
        if scale_set:
            sentence = "A scale set makes its VMs itself: change its capacity instead of naming it here."
            raise invalid("properties.virtualMachineScaleSet", sentence)
        return (ScopeKind.AVAILABILITY_SET, found) if found else (ScopeKind.VM, "")
    spec = current.spec
    if found and (spec.kind, fold(spec.set_name)) != (ScopeKind.AVAILABILITY_SET, fold(found)):
        raise bodies.unchangeable("availabilitySet.id")
    if scale_set and finding.named_in(scale_set, arm_ids.SCALE_SETS, "")[1].lower() != fold(current.scale_set):
        raise bodies.unchangeable("virtualMachineScaleSet.id")
    return spec.kind, spec.set_name


def _availability_set(desk: ArmDesk, call: Call, properties: Object) -> str:
    reference = properties.get("availabilitySet", {}).get("id")
    if not reference:
        return ""
    group, name = finding.named_in(reference, arm_ids.AVAILABILITY_SETS, _AVAILABILITY_SET)
    scope = finding.seek_availability_set(desk, group, name)
    if scope is None or fold(group) != fold(call.names["group"]):
        raise ArmError(
            400,
            "InvalidResourceReference",
            f"Resource {reference[:300]} referenced by resource {call.path} was not found. Please make sure that the "
            "referenced resource exists, and that both resources are in the same resource group.",
            _AVAILABILITY_SET,
        )
    return scope.name


def _check_free(desk: ArmDesk, name: str) -> None:
    """Names are unique in a region, whatever the group."""
    taken = desk.plane.region.vms.get(fold(name))
    if taken is not None:
        group = taken.spec.resource_group
        raise ArmError(
            409, "OperationNotAllowed", f"A VM named '{taken.name}' exists already, in resource group '{group}'."
        )


def _changes(desk: ArmDesk, current: Vm, spec: VmSpec) -> list[c.Single]:
    if desk.plane.region.leaving(current):
        raise ArmError(409, "OperationNotAllowed", f"VM '{current.name}' is marked for deletion and cannot be changed.")
    return [c.RespecifyVm(current.name, spec)] if spec != current.spec else []


def _policy(desk: ArmDesk, document: Object, name: str, spec: VmSpec, current: Vm | None) -> list[c.Single]:
    """A VM alone has its own policy; in a set, the set's counts, and what stands here is only told back."""
    properties = document["properties"]
    if "scheduledEventsPolicy" not in properties:
        return []
    properties["scheduledEventsPolicy"], policy = settle_policy(properties["scheduledEventsPolicy"])
    if spec.kind is not ScopeKind.VM:
        return []
    known = None if current is None else desk.plane.region.scope_of(current).policy
    return [c.SetPolicy(f"vm/{fold(name)}", policy)] if policy != known else []
