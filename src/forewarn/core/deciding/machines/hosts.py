"""Commands about hosts of engines: those that take part, fall silent, come back, or are lost."""

from __future__ import annotations

import re

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.deciding.events import cancel_work, maintain_host
from forewarn.core.deciding.fleet import check_name
from forewarn.core.deciding.machines import errands
from forewarn.core.deciding.placement import can, check_kind, room_or_refuse
from forewarn.core.draft import Draft
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import ErrandKind, MachinePower
from forewarn.core.refusal import Hint, Refused, nothing_named
from forewarn.core.region import DOWN, Host, HostHealth, RealHost, fold

_PRETENDED = re.compile(r"host-\d+")
DOMAINS_MOST = 1000  # ours: far beyond any room of racks, and a slip of the keyboard is told


def register(draft: Draft, command: c.RegisterHost) -> None:
    """A host that has left may come back under its name, with its number; one that takes part is not changed so."""
    check_name("host", command.name)
    if _PRETENDED.fullmatch(fold(command.name)):
        raise Refused(Hint.INVALID, f"'{command.name}' cannot name a real host: pretended ones are called so.")
    for what, value in (("fault domain", command.fault_domain), ("update domain", command.update_domain)):
        if not 0 <= value < DOMAINS_MOST:
            raise Refused(Hint.INVALID, f"The {what} of host '{command.name}' is {value}: use 0 to {DOMAINS_MOST - 1}.")
    if command.capacity < 1 or not command.engine:
        raise Refused(Hint.INVALID, f"Host '{command.name}' needs an engine, and room for at least one VM.")
    known = draft.region.real_host(command.name)
    if known is not None and known.takes_part:
        raise Refused(Hint.CONFLICT, f"A host named '{known.name}' takes part already.")
    draft.record(
        mf.HostRegistered(
            draft.now,
            len(draft.region.hosts) if known is None else known.number,
            command.name,
            command.engine,
            command.fault_domain,
            command.update_domain,
            command.capacity,
            tuple(sorted(command.kinds)),
        )
    )


def remove(draft: Draft, command: c.RemoveHost) -> None:
    host = _named(draft, command.name)
    busy = [
        each for each in draft.region.errands.values() if fold(host.name) in _places(each.errand.host, each.errand.to)
    ]
    if host.vms or host.reserved or busy:
        raise Refused(
            Hint.CONFLICT,
            f"Host '{host.name}' has {len(host.vms)} VMs and {len(busy)} errands: move, delete or release those VMs "
            "first.",
        )
    draft.record(mf.HostLeft(draft.now, host.number))


def drain(draft: Draft, command: c.DrainHost) -> None:
    """Empty a host: VMs are migrated while they run where that is possible, else redeployed. VMs that are down stay."""
    host = _named(draft, command.name)
    if host.health is HostHealth.DRAINING or (not host.answers and host.was is HostHealth.DRAINING):
        raise Refused(Hint.CONFLICT, f"Host '{host.name}' is draining already.")
    if not host.answers:
        raise Refused(Hint.CONFLICT, f"Host '{host.name}' is {host.health.value}; wait until it answers.")
    draft.record(mf.HostDraining(draft.now, host.number))
    leaving = [vm for vm in map(draft.region.vms.__getitem__, sorted(host.vms)) if vm.power not in DOWN]
    for vm in leaving:
        kind = ErrandKind.MIGRATE if can(draft.region, vm, ErrandKind.MIGRATE) else ErrandKind.REDEPLOY
        check_kind(draft.region, vm, kind)
        room_or_refuse(draft.region, vm, kind)
    if leaving:
        maintain_host(
            draft, Cause.LIVE_MIGRATION, draft.region.hosts[host.number], command.seed, instead=Cause.REDEPLOY
        )


def resume(draft: Draft, command: c.ResumeHost) -> None:
    """Let a host take VMs again. Events that the draining has scheduled stay, until they are done or canceled."""
    host = _named(draft, command.name)
    if (host.health if host.answers else host.was) is HostHealth.HEALTHY:
        raise Refused(Hint.CONFLICT, f"Host '{host.name}' takes machines: there is nothing to resume.")
    draft.record(mf.HostResumed(draft.now, host.number))


def _places(*names: str) -> set[str]:
    return {fold(name) for name in names}


def fell_silent(draft: Draft, command: c.HostFellSilent) -> None:
    """Nothing is placed there from now on. What runs there may be running: silence is not an answer."""
    host = _named(draft, command.name)
    if host.health not in (HostHealth.SILENT, HostHealth.FENCED):
        draft.record(mf.HostSilent(draft.now, host.number))


def answered(draft: Draft, command: c.HostAnswered) -> None:
    """Back before it was lost: nothing is lost. Lost before: its listing shows first that nothing runs twice."""
    host = _named(draft, command.name)
    if host.health is HostHealth.SILENT:
        for found in list(draft.region.errands.values()):
            if found.errand.kind is ErrandKind.FENCE and fold(found.errand.host) == fold(host.name):
                errands.give_up(draft, found, "the host answers again")
        draft.record(mf.HostBack(draft.now, host.number))


def fence(draft: Draft, command: c.FenceHost) -> None:
    host = _named(draft, command.name)
    if host.health is not HostHealth.SILENT:
        raise Refused(Hint.CONFLICT, f"Host '{host.name}' is {host.health.value}; only a silent one is fenced.")
    kinds = [each.errand.kind for each in draft.region.errands.values() if fold(each.errand.host) == fold(host.name)]
    if ErrandKind.FENCE not in kinds:
        errands.make_of_host(draft, host, ErrandKind.FENCE, draft.now.isoformat())


def confirm_lost(draft: Draft, command: c.ConfirmLost) -> None:
    """A person knows that the host is off."""
    host = _named(draft, command.name)
    if host.health is not HostHealth.SILENT:
        raise Refused(
            Hint.CONFLICT,
            f"Host '{host.name}' is {host.health.value}; only one that is silent can be called lost.",
        )
    for found in list(draft.region.errands.values()):
        if found.errand.kind is ErrandKind.FENCE and fold(found.errand.host) == fold(host.name):
            errands.give_up(draft, found, "a person says that the host is off")
    lose(draft, host.name, draft.now.isoformat(), command.by or "a person")


def lose(draft: Draft, name: str, seed: str, by: str = "") -> None:
    """The host is known to be off. What it ran is rebuilt elsewhere, as after any failure of a host."""
    host = _named(draft, name)
    if host.health is not HostHealth.SILENT:  # it has answered meanwhile
        return
    draft.record(mf.HostFenced(draft.now, host.number, by))
    for key in sorted(host.vms):
        _off_with(draft, key, host)
    headed_there = [each for each in draft.region.errands.values() if fold(each.errand.to) == fold(host.name)]
    for found in sorted(headed_there, key=lambda each: each.errand.id):
        if found.errand.vm not in host.vms:
            _not_there(draft, found.errand.id)
    cancel_work(draft, draft.region.hosts[host.number])
    maintain_host(draft, Cause.FAILURE, draft.region.hosts[host.number], seed)


def _off_with(draft: Draft, key: str, host: Host) -> None:
    """A machine of a host that is off is off: what was to be done to it is over, or has no object any more."""
    machine = draft.region.machines.get(key)
    if machine is None:
        return
    if machine.power not in (MachinePower.OFF, MachinePower.GONE):
        draft.record(mf.MachineSeen(draft.now, key, machine.host, MachinePower.OFF))
    for errand_id in machine.errands:
        found = draft.region.errands.get(errand_id)
        if found is None or found.errand.kind is ErrandKind.DELETE:
            continue
        kind, to = found.errand.kind, found.errand.to
        on_its_way = found.tried_at is not None and fold(to) not in ("", fold(host.name))
        if kind in (ErrandKind.STOP, ErrandKind.OFF):
            errands.end(draft, found)
        elif kind is ErrandKind.REDEPLOY and on_its_way:  # it may run there already, so it goes nowhere else
            errands.place(draft, found, to)
            break  # what waits for it is for the machine as it will be then
        else:
            if kind is ErrandKind.MIGRATE and on_its_way:
                vm, event = draft.region.vms[key], found.errand.event
                errands.make(draft, vm, ErrandKind.REDEPLOY, found.errand.id, event=event, to=to)
            errands.give_up(draft, found, f"{host.name} was lost")


def _not_there(draft: Draft, errand_id: str) -> None:
    """An errand was to end at a host that is lost: a redeployment goes to another one, the rest is given up."""
    found = draft.region.errands.get(errand_id)
    if found is None:
        return
    if found.errand.kind is ErrandKind.REDEPLOY:
        errands.place_again(draft, found)
    else:
        errands.give_up(draft, found, f"{found.errand.to} was lost")


def _named(draft: Draft, name: str) -> RealHost:
    host = draft.region.real_host(name)
    if host is None or not host.takes_part:
        raise nothing_named("host", name)
    return host
