"""Commands about the fleet itself: making VMs, naming them, stopping, starting and deleting them."""

from __future__ import annotations

import re
from datetime import timedelta

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.deciding.bindings import bind_by_nic, bind_key
from forewarn.core.deciding.events import leave_host, raise_event, under
from forewarn.core.deciding.machines import errands
from forewarn.core.deciding.placement import find_host, find_room, no_room, room_or_refuse
from forewarn.core.draft import Draft
from forewarn.core.looking.errands import heading_for
from forewarn.core.looking.lookup import find_vms, scope_named
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import ErrandKind
from forewarn.core.refusal import Hint, Refused, nothing_named
from forewarn.core.region import DOWN, Power, RealHost, Region, Vm, fold, replace, scope_key
from forewarn.core.rules import Rules
from forewarn.core.specs import REGIONS_DOMAINS, Domains, ScopeKind, VmSpec

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,78}[A-Za-z0-9_])?")
UPDATE_DOMAINS_MOST = 20  # of an availability set, as the Compute API has it
FAULT_DOMAINS_MOST = 3  # Azure's availability sets have at most three
OS_IMAGE_NOTICE = timedelta(minutes=15)  # the Compute API's only value: PT15M
TERMINATE_NOTICE = (timedelta(minutes=5), timedelta(minutes=15))  # the Compute API's bounds: PT5M to PT15M


def create(draft: Draft, command: c.CreateVms) -> None:
    spec = command.spec
    if spec.kind is ScopeKind.PLACEMENT_GROUP:
        raise Refused(Hint.INVALID, "Instances of a scale set are made by the set; change its capacity.")
    check_spec(spec)
    check_names(draft, command.names)
    kind, set_name = spec.kind, spec.set_name
    if kind is not ScopeKind.VM and scope_key(kind, set_name) not in draft.region.scopes:
        draft.record(f.ScopeCreated(draft.now, kind, set_name, spec.resource_group))
    _check_room(draft, spec, len(command.names))
    for name in command.names:
        number = next_number(draft, spec)
        create_one(draft, name, spec, command.seed, number, at=command.host)
    if command.binding is not None:
        if len(command.names) != 1:
            raise Refused(Hint.INVALID, "An address can be given to a single VM only.")
        bind_key(draft, fold(command.names[0]), command.binding)


def _check_room(draft: Draft, spec: VmSpec, more: int) -> None:
    """An availability set holds so many VMs; one that is fuller, since an earlier setting, stays so."""
    size = draft.rules.availability_set_size
    if spec.kind is not ScopeKind.AVAILABILITY_SET or not size:
        return
    members = len(draft.region.scopes[scope_key(spec.kind, spec.set_name)].members)
    if members + more > size:
        raise Refused(
            Hint.CONFLICT,
            f"Availability set '{spec.set_name}' has {members} VMs, and at most {size} may be in one; use another set, "
            "or raise the setting availability_set_size (0 means no limit).",
        )


def next_number(draft: Draft, spec: VmSpec) -> int:
    """The number of the next VM in its set, or among the lone VMs."""
    if spec.kind is ScopeKind.VM:
        return draft.region.lone_vms_made
    return draft.region.scopes[scope_key(spec.kind, spec.set_name)].traits.counts.get(fold(spec.role), 0)


def create_one(draft: Draft, name: str, spec: VmSpec, seed: str, number: int, model: int = 0, *, at: str = "") -> None:
    """Place a VM and make it."""
    if spec.engine:
        _create_real(draft, name, spec, seed, number, model, at)
        return
    if at:
        raise Refused(Hint.INVALID, f"VM '{name}' is only pretended: name a host for real machines only.")
    domains = domains_of(draft.region, draft.rules, scope_key(spec.kind, spec.set_name or name))
    update_domain, fault_domain = number % domains.update, number % domains.fault
    host = find_host(draft, fault_domain, update_domain)
    draft.record(f.VmCreated(draft.now, name, spec, seed, number, update_domain, fault_domain, host, model))


def _create_real(draft: Draft, name: str, spec: VmSpec, seed: str, number: int, model: int, at: str) -> None:
    """Create a VM on a real host and order its machine; it counts as down until that runs."""
    host = _host_named(draft.region, at, spec.engine) if at else find_room(draft.region, spec.engine, ErrandKind.CREATE)
    if host is None or not host.has_room:
        raise no_room(spec.engine, name)
    domains = (host.update_domain, host.fault_domain)
    draft.record(f.VmCreated(draft.now, name, spec, seed, number, *domains, host.number, model))
    draft.record(mf.MachineAdopted(draft.now, fold(name), spec.engine, host.name))
    errands.ask(draft, draft.region.vms[fold(name)], ErrandKind.CREATE, host.name)


def _host_named(region: Region, name: str, engine: str) -> RealHost:
    host = region.real_host(name)
    if host is None or not host.takes_part:
        raise nothing_named("host", name)
    if host.engine != engine:
        raise Refused(Hint.INVALID, f"Host '{host.name}' is one of engine '{host.engine}', not of '{engine}'.")
    return host


def respecify(draft: Draft, command: c.RespecifyVm) -> None:
    (vm,) = find_vms(draft.region, (command.vm,))
    old, new = vm.spec, command.spec
    if (old.kind, fold(old.set_name), fold(old.role)) != (new.kind, fold(new.set_name), fold(new.role)):
        raise Refused(Hint.CONFLICT, f"VM '{vm.name}' cannot be moved to another set; delete it and create it there.")
    check_group("VM", vm.name, old.resource_group, new.resource_group)
    check_spec(replace(new, set_name=vm.scale_set) if vm.scale_set else new)
    new = replace(new, set_name=old.set_name, role=old.role, resource_group=old.resource_group)
    new = replace(new, engine=old.engine, blueprint=old.blueprint)
    if old != new:
        draft.record(f.VmRespecified(draft.now, vm.key, new))


def put_availability_set(draft: Draft, command: c.PutAvailabilitySet) -> None:
    key = scope_key(ScopeKind.AVAILABILITY_SET, command.name)
    scope = draft.region.scopes.get(key)
    if scope is None:
        check_name("availability set", command.name)
        _check_domains(command.domains)
        kind = ScopeKind.AVAILABILITY_SET
        draft.record(f.ScopeCreated(draft.now, kind, command.name, command.resource_group, command.domains))
        scope = draft.region.scopes[key]
    check_group("Availability set", scope.name, scope.resource_group, command.resource_group)
    _check_same(scope.name, command.domains, domains_of(draft.region, draft.rules, key))
    if scope.policy != command.policy:
        draft.record(f.PolicySet(draft.now, key, command.policy))


def domains_of(region: Region, rules: Rules, scope: str) -> Domains:
    """How many domains the VMs of a scope are spread over: its own numbers, or the region's where it has none."""
    found = region.scopes.get(scope)
    own = REGIONS_DOMAINS if found is None else found.traits.domains
    return Domains(own.update or rules.update_domains, own.fault or rules.fault_domains)


def _check_domains(domains: Domains) -> None:
    for what, count, most in (
        ("update", domains.update, UPDATE_DOMAINS_MOST),
        ("fault", domains.fault, FAULT_DOMAINS_MOST),
    ):
        if count and not 1 <= count <= most:
            raise Refused(Hint.INVALID, f"An availability set has 1 to {most} {what} domains, not {count}.")


def _check_same(name: str, wanted: Domains, actual: Domains) -> None:
    """Refuse other numbers of domains than an availability set has: its VMs have their places already."""
    if wanted.update not in (0, actual.update) or wanted.fault not in (0, actual.fault):
        sentence = f"{actual.update} update domains and {actual.fault} fault domains, which cannot be changed"
        raise Refused(Hint.CONFLICT, f"Availability set '{name}' has {sentence}.")


def delete_availability_set(draft: Draft, command: c.DeleteAvailabilitySet) -> None:
    key = scope_key(ScopeKind.AVAILABILITY_SET, command.name)
    scope = draft.region.scopes.get(key)
    if scope is None:
        raise Refused(Hint.NOT_FOUND, f"There is no availability set named '{command.name}'.")
    if scope.members:
        raise Refused(Hint.CONFLICT, f"Availability set '{scope.name}' has VMs in it; delete those first.")
    draft.record(f.ScopeRemoved(draft.now, key))


def check_spec(spec: VmSpec) -> None:
    """Refuse a specification that no VM could have."""
    named = {"availability set": spec.set_name, "role": spec.role}
    for what, name in named.items():
        if name:
            check_name(what, name)
    if (spec.kind is ScopeKind.VM) == bool(spec.set_name):
        raise Refused(Hint.INVALID, "A VM is alone, or in one named availability set or cloud service.")
    if (spec.kind is ScopeKind.CLOUD_SERVICE) != bool(spec.role):
        raise Refused(Hint.INVALID, "A VM of a cloud service needs a role, and only such a VM has one.")
    if spec.os_image_notice not in (None, OS_IMAGE_NOTICE):
        raise Refused(Hint.INVALID, "The OS image notice must be 15 minutes.")
    if spec.terminate_notice is None:
        return
    shortest, longest = TERMINATE_NOTICE
    if not shortest <= spec.terminate_notice <= longest:
        raise Refused(Hint.INVALID, "The terminate notice must be between 5 and 15 minutes.")
    if spec.spot:
        raise Refused(Hint.INVALID, "Terminate notifications cannot be enabled on Spot VMs.")


def check_group(what: str, name: str, actual: str, wanted: str) -> None:
    """Names are unique in a region, whatever the group: a second one of that name is refused."""
    if fold(actual) != fold(wanted):
        raise Refused(Hint.CONFLICT, f"{what} '{name}' exists already, in resource group '{actual}'.")


def check_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Refused(Hint.INVALID, _bad_name(what, name))


def check_names(draft: Draft, names: tuple[str, ...]) -> None:
    """Refuse names that no VM may have, or that one has."""
    if not names:
        raise Refused(Hint.INVALID, "Name at least one VM.")
    seen: set[str] = set()
    for name in names:
        check_name("VM", name)
        if fold(name) in draft.region.vms:
            raise Refused(Hint.CONFLICT, f"A VM named '{name}' exists already.")
        if fold(name) in seen:
            raise Refused(Hint.INVALID, f"The name '{name}' is given twice.")
        seen.add(fold(name))


def _bad_name(what: str, name: str) -> str:
    return (
        f"'{name[:80]}' cannot name a {what}: use 1 to 80 letters, digits, '.', '_' and '-', "
        "beginning with a letter or digit and ending with one or with '_'."
    )


def delete(draft: Draft, command: c.DeleteVms) -> None:
    for vm in find_vms(draft.region, command.vms):
        if vm.scale_set:
            raise Refused(
                Hint.CONFLICT, f"VM '{vm.name}' belongs to scale set '{vm.scale_set}'; delete the instance there."
            )
        delete_vm(draft, vm, command.seed)


def delete_vm(draft: Draft, vm: Vm, seed: str) -> None:
    """Delete a VM at once, or by a Terminate event where it has a notice and its scope is enabled.

    Where a deletion is already under way, nothing is added.
    """
    if under(draft, vm, Cause.DELETION):
        return
    notice = vm.spec.terminate_notice
    if vm.key in draft.region.machines:
        errands.clear_way(draft, vm, "the VM is to be deleted")
        read = notice is not None and draft.region.scope_of(vm).enabled_at is not None
        raise_event(draft, Cause.DELETION, vm, seed, notice if read else timedelta(0), announce=read)
    elif notice is None or draft.region.scope_of(vm).enabled_at is None:
        draft.record(f.VmDeleted(draft.now, vm.key))
    else:
        raise_event(draft, Cause.DELETION, vm, seed, notice)


def deallocate(draft: Draft, command: c.DeallocateVms) -> None:
    for vm in find_vms(draft.region, command.vms):
        if vm.key in draft.region.machines:
            _turn_off(draft, vm, ErrandKind.OFF, frozenset({Power.DEALLOCATED, Power.DELETING}))
        elif vm.power is not Power.DEALLOCATED:
            draft.record(f.VmDeallocated(draft.now, vm.key))


def stop(draft: Draft, command: c.StopVms) -> None:
    for vm in find_vms(draft.region, command.vms):
        if vm.key in draft.region.machines:
            _turn_off(draft, vm, ErrandKind.STOP, DOWN | {Power.DELETING})
        elif vm.power not in DOWN:
            draft.record(f.VmStopped(draft.now, vm.key))


def _turn_off(draft: Draft, vm: Vm, kind: ErrandKind, already: frozenset[Power]) -> None:
    """Have a real machine turned off; it counts as off once it was seen so.

    Where that is already under way, the command waits for the errand that is open.
    """
    if heading_for(draft.region, vm) not in already:
        errands.clear_way(draft, vm, "the VM is to be turned off")
        errands.ask(draft, vm, kind)
    else:
        _await_last(draft, vm)


def _await_last(draft: Draft, vm: Vm) -> None:
    draft.awaits.update(dict.fromkeys(draft.region.machines[vm.key].errands[-1:]))


def _start_real(draft: Draft, vm: Vm) -> None:
    if heading_for(draft.region, vm) in DOWN:
        errands.ask(draft, vm, ErrandKind.START, room_or_refuse(draft.region, vm, ErrandKind.START).name)
    else:
        _await_last(draft, vm)


def start(draft: Draft, command: c.StartVms) -> None:
    for vm in find_vms(draft.region, command.vms):
        if vm.key in draft.region.machines:
            _start_real(draft, vm)
        elif vm.power is Power.STOPPED and vm.host is not None:
            draft.record(f.VmStarted(draft.now, vm.key, vm.host))
        elif vm.power is Power.DEALLOCATED:
            host = find_host(draft, vm.fault_domain, vm.update_domain)
            draft.record(f.VmStarted(draft.now, vm.key, host))
            leave_host(draft, vm.key)


def bind(draft: Draft, command: c.BindVm) -> None:
    (vm,) = find_vms(draft.region, (command.vm,))
    bind_key(draft, vm.key, command.binding)


def bind_nic(draft: Draft, command: c.BindNic) -> None:
    (vm,) = find_vms(draft.region, (command.vm,))
    bind_by_nic(draft, vm, command.address, command.former)


def set_policy(draft: Draft, command: c.SetPolicy) -> None:
    scope_named(draft.region, fold(command.scope))  # or it is refused
    draft.record(f.PolicySet(draft.now, fold(command.scope), command.policy))
