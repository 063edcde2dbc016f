"""Commands about the fleet itself: making VMs, naming them, stopping, starting and deleting them."""

from __future__ import annotations

import re
from datetime import timedelta
from ipaddress import ip_address

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.draft import Draft
from forewarn.core.lookup import check_scope, find_vms
from forewarn.core.placement import find_host
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Binding, Power, ScopeKind, VmSpec, fold, replace, scope_key
from forewarn.core.work import raise_event, under

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,78}[A-Za-z0-9_])?")
TERMINATE_NOTICE = (timedelta(minutes=5), timedelta(minutes=15))


def create(draft: Draft, command: c.CreateVms) -> None:
    spec = command.spec
    _check_spec(spec)
    _check_names(draft, command.names)
    kind, set_name = spec.kind, spec.set_name
    if kind is not ScopeKind.VM and scope_key(kind, set_name) not in draft.region.scopes:
        draft.record(f.ScopeCreated(draft.now, kind, set_name))
    for name in command.names:
        _create_one(draft, name, spec, command.seed)
    if command.binding is not None:
        if len(command.names) != 1:
            raise Refused(Hint.INVALID, "An address can be given to a single VM only.")
        _bind_key(draft, fold(command.names[0]), command.binding)


def _create_one(draft: Draft, name: str, spec: VmSpec, seed: str) -> None:
    if spec.kind is ScopeKind.VM:
        number = draft.region.lone_vms_made
    else:
        number = draft.region.scopes[scope_key(spec.kind, spec.set_name)].counts.get(fold(spec.role), 0)
    update_domain = number % draft.rules.update_domains
    fault_domain = number % draft.rules.fault_domains
    host = find_host(draft, fault_domain, update_domain)
    draft.record(f.VmCreated(draft.now, name, spec, seed, number, update_domain, fault_domain, host))


def _check_spec(spec: VmSpec) -> None:
    named = {"availability set": spec.set_name, "role": spec.role}
    for what, name in named.items():
        if name and not _NAME.fullmatch(name):
            raise Refused(Hint.INVALID, _bad_name(what, name))
    if (spec.kind is ScopeKind.VM) == bool(spec.set_name):
        raise Refused(Hint.INVALID, "A VM is alone, or in one named availability set or cloud service.")
    if (spec.kind is ScopeKind.CLOUD_SERVICE) != bool(spec.role):
        raise Refused(Hint.INVALID, "A VM of a cloud service needs a role, and only such a VM has one.")
    if spec.terminate_notice is None:
        return
    shortest, longest = TERMINATE_NOTICE
    if not shortest <= spec.terminate_notice <= longest:
        raise Refused(Hint.INVALID, "The terminate notice must be between 5 and 15 minutes.")
    if spec.spot:
        raise Refused(Hint.INVALID, "Terminate notifications cannot be enabled on Spot VMs.")


def _check_names(draft: Draft, names: tuple[str, ...]) -> None:
    if not names:
        raise Refused(Hint.INVALID, "Name at least one VM.")
    seen: set[str] = set()
    for name in names:
        if not _NAME.fullmatch(name):
            raise Refused(Hint.INVALID, _bad_name("VM", name))
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


def _bind_key(draft: Draft, key: str, binding: Binding) -> None:
    binding = replace(
        binding,
        address=_plain_address("address", binding.address),
        local_address=_plain_address("local address", binding.local_address),
    )
    if binding.local_address and not ip_address(binding.local_address).is_loopback:
        raise Refused(Hint.INVALID, f"The local address {binding.local_address} is not a loopback address.")
    for claim in binding.claims():
        holder = draft.region.addresses.get(claim, key)
        if holder != key:
            raise Refused(Hint.CONFLICT, f"VM '{holder}' has {claim} already.")
    draft.record(f.VmBound(draft.now, key, binding))


def _plain_address(what: str, text: str) -> str:
    """The one spelling of an address, so that two VMs cannot claim the same."""
    try:
        return str(ip_address(text)) if text else ""
    except ValueError:
        raise Refused(Hint.INVALID, f"The {what} '{text[:80]}' is not an IP address.") from None


def delete(draft: Draft, command: c.DeleteVms) -> None:
    for vm in find_vms(draft, command.vms):
        notice = vm.spec.terminate_notice
        if notice is None or draft.region.scope_of(vm).enabled_at is None:
            draft.record(f.VmDeleted(draft.now, vm.key))
        elif not under(draft, vm, Cause.DELETION):
            raise_event(draft, Cause.DELETION, vm, command.seed, notice)


def deallocate(draft: Draft, command: c.DeallocateVms) -> None:
    for vm in find_vms(draft, command.vms):
        if vm.power is not Power.DEALLOCATED:
            draft.record(f.VmDeallocated(draft.now, vm.key))


def start(draft: Draft, command: c.StartVms) -> None:
    for vm in find_vms(draft, command.vms):
        if vm.power is Power.DEALLOCATED:
            host = find_host(draft, vm.fault_domain, vm.update_domain)
            draft.record(f.VmStarted(draft.now, vm.key, host))


def bind(draft: Draft, command: c.BindVm) -> None:
    (vm,) = find_vms(draft, (command.vm,))
    _bind_key(draft, vm.key, command.binding)


def set_policy(draft: Draft, command: c.SetPolicy) -> None:
    check_scope(draft, fold(command.scope))
    draft.record(f.PolicySet(draft.now, fold(command.scope), command.policy))
