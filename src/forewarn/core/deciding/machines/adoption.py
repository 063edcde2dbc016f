"""Real machines that become VMs of a region, and that it lets go of."""

from __future__ import annotations

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.deciding.bindings import bind_key
from forewarn.core.deciding.fleet import check_names, check_spec, next_number
from forewarn.core.deciding.machines import errands
from forewarn.core.draft import Draft
from forewarn.core.looking.lookup import vm_named
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, OpenErrand
from forewarn.core.refusal import Hint, Refused, nothing_named
from forewarn.core.region import fold, replace, scope_key
from forewarn.core.specs import NO_BINDING, ScopeKind

_DONE = {
    ErrandKind.CREATE: "made",
    ErrandKind.START: "started",
    ErrandKind.STOP: "turned off",
    ErrandKind.OFF: "turned off",
    ErrandKind.DELETE: "deleted",
    ErrandKind.RESTART: "restarted",
    ErrandKind.MIGRATE: "moved",
    ErrandKind.REDEPLOY: "redeployed",
    ErrandKind.REIMAGE: "reimaged",
}


def adopt(draft: Draft, command: c.AdoptMachine) -> None:
    """The VM lives where its machine is, and in that host's domains."""
    host = draft.region.real_host(command.host)
    if host is None or not host.takes_part:
        raise nothing_named("host", command.host)
    if command.spec.engine not in ("", host.engine):
        raise Refused(Hint.INVALID, f"Host '{host.name}' is one of engine '{host.engine}'.")
    if command.spec.kind is ScopeKind.PLACEMENT_GROUP:
        raise Refused(Hint.INVALID, "Instances of a scale set are made by the set; none can be adopted into one.")
    if not host.is_healthy:
        what = "wait until it answers" if not host.answers else "let it take machines again first ('host resume')"
        raise Refused(Hint.CONFLICT, f"Host '{host.name}' is {host.health.value}; {what}.")
    if not command.ref or command.power is MachinePower.GONE:
        raise Refused(Hint.INVALID, "There is no such machine: name one that its engine lists.")
    holder = draft.region.refs.get((host.engine, command.ref))
    if holder is not None:
        raise Refused(Hint.CONFLICT, f"Machine '{command.ref}' is VM '{draft.region.vms[holder].name}' already.")
    spec = replace(command.spec, engine=host.engine)
    check_spec(spec)
    check_names(draft, (command.vm,))
    if spec.kind is not ScopeKind.VM and scope_key(spec.kind, spec.set_name) not in draft.region.scopes:
        draft.record(f.ScopeCreated(draft.now, spec.kind, spec.set_name, spec.resource_group))
    number, key = next_number(draft, spec), fold(command.vm)
    draft.record(
        f.VmCreated(
            draft.now, command.vm, spec, command.seed, number, host.update_domain, host.fault_domain, host.number
        )
    )
    seen = (command.ref, command.boot_mark, command.power)
    cannot = tuple(sorted(command.cannot))
    draft.record(mf.MachineAdopted(draft.now, key, host.engine, host.name, *seen, cannot, command.way))
    if command.binding != NO_BINDING:
        bind_key(draft, key, command.binding)


def release(draft: Draft, command: c.ReleaseMachine) -> None:
    """Forget a VM and leave its machine as it is.

    Refused while something is being done to the machine: nobody would end its pause afterwards, or start again what was
    turned off to be moved.
    """
    vm = vm_named(draft.region, command.vm)
    machine = draft.region.machines.get(vm.key)
    if machine is None:
        raise Refused(Hint.CONFLICT, f"VM '{vm.name}' has no machine to release: it is only pretended.")
    for found in (draft.region.errands[each] for each in machine.errands):
        if found.tried_at is not None and not _may_be_dropped(draft, found):
            raise Refused(Hint.CONFLICT, f"VM '{vm.name}' is {_being_done(found.errand)}.")
    draft.record(mf.MachineReleased(draft.now, vm.key))
    draft.record(f.VmDeleted(draft.now, vm.key))


def _may_be_dropped(draft: Draft, found: OpenErrand) -> bool:
    """Whether people may let go in the middle of an errand: its host does not answer, or it has not worked for long."""
    hosts = (draft.region.real_host(name) for name in (found.errand.host, found.errand.to) if name)
    return errands.is_overdue(draft, found) or any(host is None or not host.answers for host in hosts)


def _being_done(errand: Errand) -> str:
    if errand.until is not None:
        return f"paused until {errand.until:%H:%M:%S} UTC; release it when it goes on"
    return f"being {_DONE[errand.kind]}; release it when that is done"
