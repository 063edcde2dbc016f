"""How facts about hosts, VMs and scopes change a region."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias, assert_never

from forewarn.core import facts as f
from forewarn.core import keys
from forewarn.core.folding import sets
from forewarn.core.folding.events import vm_left
from forewarn.core.folding.hosts import put_host
from forewarn.core.folding.machines import machine_left
from forewarn.core.folding.sets import put_scope
from forewarn.core.region import Power, RealHost, Region, Vm, fold, replace, scope_key
from forewarn.core.specs import Binding, ScopeKind, VmTraits, alike, with_traits

VmFact: TypeAlias = (
    f.VmCreated | f.VmBound | f.VmMoved | f.VmStarted | f.VmStopped | f.VmDeallocated | f.VmDeleted | f.VmRespecified
)
ScopeFact: TypeAlias = (
    f.ScopeCreated | f.ScopeRemoved | f.ScopeEnabled | f.ScopeRead | f.ScopesRead | f.ScopeDisabled | f.PolicySet
)


def fold_vm(region: Region, fact: VmFact) -> Region:
    """The region after a fact about one VM."""
    if isinstance(fact, f.VmCreated):
        return _vm_created(region, fact)
    vm = region.vms[fact.vm]
    match fact:
        case f.VmBound(binding=binding):
            return _bind(region, vm, binding)
        case f.VmMoved(host=host):
            return _house(region, vm, host)
        case f.VmStarted(host=host):
            boots = vm.boots + (vm.key not in region.machines)  # those of a real one are told by its boot marks
            return _house(region, with_traits(replace(vm, power=Power.RUNNING), boots=boots), host)
        case f.VmStopped():
            return replace(region, vms=region.vms.set(vm.key, replace(vm, power=Power.STOPPED)))
        case f.VmDeallocated():
            return _house(region, replace(vm, power=Power.DEALLOCATED), None)
        case f.VmDeleted():
            return _vm_deleted(region, vm, fact.at)
        case f.VmRespecified(spec=spec):
            return replace(region, vms=region.vms.set(vm.key, replace(vm, spec=spec)))
        case _:
            assert_never(fact)


def fold_scope(region: Region, fact: ScopeFact) -> Region:
    """The region after a fact about one scope, or about several that were read."""
    match fact:
        case f.ScopeEnabled():
            return _scope_enabled(region, fact)
        case f.ScopeRead(scope=key):
            return _scopes_read(region, (key,), fact)
        case f.ScopesRead(scopes=read):
            return _scopes_read(region, read, fact)
        case f.ScopeDisabled(scope=key):
            return put_scope(region, replace(region.scopes[key], enabled_at=None, last_read_at=None, lapses_at=None))
        case f.ScopeCreated(kind=kind, name=name, resource_group=resource_group, domains=domains):
            region, scope = sets.scope_made(region, scope_key(kind, name), kind, name)
            return put_scope(region, with_traits(scope, resource_group=resource_group, domains=domains))
        case f.ScopeRemoved(scope=key):
            return sets.owner_left(sets.scope_left(region, key), key)
        case f.PolicySet():
            return _policy_set(region, fact)
        case _:
            assert_never(fact)


def _vm_created(region: Region, fact: f.VmCreated) -> Region:
    spec = fact.spec
    vm = Vm(
        name=fact.name,
        spec=spec,
        seed=fact.seed,
        created_at=fact.at,
        number=fact.number,
        host=None,
        traits=alike(VmTraits(fact.update_domain, fact.fault_domain, model=fact.model)),
    )
    lone = region.lone_vms_made
    scopes = region.scopes
    if spec.kind is ScopeKind.VM:
        lone = max(lone, fact.number + 1)
    else:
        scope = scopes[vm.scope]
        role = fold(spec.role)
        counts = scope.traits.counts
        counts = counts.set(role, max(counts.get(role, 0), fact.number + 1))
        scopes = scopes.set(scope.key, with_traits(scope, members=scope.members.set(vm.key, None), counts=counts))
    region = replace(region, scopes=scopes, lone_vms_made=lone)
    return _house(sets.instance_joined(region, vm), vm, fact.host)


def _house(region: Region, vm: Vm, host: int | None) -> Region:
    """Put a VM on a host (or on none), taking it off the one it was on."""
    if vm.host is not None and vm.host != host:
        left = region.hosts[vm.host]
        region = put_host(region, replace(left, vms=tuple(key for key in left.vms if key != vm.key)))
    if host is not None:
        taken = region.hosts[host]
        region = put_host(region, replace(taken, vms=tuple(sorted({*taken.vms, vm.key}))))
        if isinstance(taken, RealHost):  # a real machine goes where there is room, and its domains are its host's
            vm = with_traits(vm, fault_domain=taken.fault_domain, update_domain=taken.update_domain)
    return replace(region, vms=region.vms.set(vm.key, replace(vm, host=host)))


def _bind(region: Region, vm: Vm, binding: Binding) -> Region:
    addresses = region.addresses
    for claim in vm.binding.claims():
        addresses = addresses.delete(claim)
    for claim in binding.claims():
        addresses = addresses.set(claim, vm.key)
    return replace(region, addresses=addresses, vms=region.vms.set(vm.key, replace(vm, binding=binding)))


def _vm_deleted(region: Region, vm: Vm, at: datetime) -> Region:
    region = machine_left(_house(_bind(region, vm, Binding()), vm, None), vm.key)
    for event_id in vm.events:
        region = vm_left(region, region.events[event_id], vm, at)
    region = replace(region, vms=region.vms.delete(vm.key))
    scope = region.scopes.get(vm.scope)
    if scope is not None and scope.kind is ScopeKind.VM:
        region = sets.scope_left(region, scope.key)
    elif scope is not None:
        region = put_scope(region, with_traits(scope, members=scope.members.delete(vm.key)))
    region = sets.owner_left(sets.instance_left(region, vm), f"vm/{vm.key}")
    return sets.owner_left(region, f"instance/{vm.key}")


def _scope_enabled(region: Region, fact: f.ScopeEnabled) -> Region:
    """A number names one document of a scope for ever, so an enabling goes on from the last one."""
    region, scope = sets.scope_made(region, fact.scope, fact.kind, fact.name)
    enabled = replace(
        scope,
        enabled_at=fact.at,
        last_read_at=fact.at,
        lapses_at=fact.lapses_at,
        incarnation=scope.incarnation + 1,
        changed_at=fact.at,
    )
    agenda = region.agenda.add(fact.lapses_at, keys.of_scope(scope.key))
    return put_scope(replace(region, agenda=agenda), enabled)


def _scopes_read(region: Region, names: tuple[str, ...], fact: f.ScopeRead | f.ScopesRead) -> Region:
    """The agenda looks again when the old entry falls due; only a time before that (a changed rule) needs its own."""
    agenda, scopes = region.agenda, region.scopes
    for name in names:
        scope = scopes[name]
        if scope.lapses_at is None or fact.lapses_at < scope.lapses_at:
            agenda = agenda.add(fact.lapses_at, keys.of_scope(scope.key))
        scopes = scopes.set(scope.key, replace(scope, last_read_at=fact.read_at, lapses_at=fact.lapses_at))
    return replace(region, agenda=agenda, scopes=scopes)


def _policy_set(region: Region, fact: f.PolicySet) -> Region:
    kind, _, name = fact.scope.partition("/")
    vm = region.vms.get(name) if ScopeKind(kind) is ScopeKind.VM else None
    region, scope = sets.scope_made(region, fact.scope, ScopeKind(kind), vm.name if vm is not None else name)
    return put_scope(region, with_traits(scope, policy=fact.policy))
