"""Where VMs live. All VMs of a host share a fault domain and an update domain, so that the maintenance of one host
never touches two update domains of a scope. Hosts of real machines are never made up: without room there is none."""

from __future__ import annotations

from collections.abc import Collection

from forewarn.core import facts as f
from forewarn.core.draft import Draft
from forewarn.core.looking.errands import hosts_of
from forewarn.core.machines.values import ErrandKind
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import HostHealth, RealHost, Region, Vm, fold


def find_host(draft: Draft, fault_domain: int, update_domain: int, *, other_than: int | None = None) -> int:
    """A healthy host with room in the given domains; a new one where there is none."""
    for number in draft.region.vacancies.get((fault_domain, update_domain), ()):
        if number != other_than:
            return int(number)
    number = len(draft.region.hosts)
    draft.record(f.HostAdded(draft.now, number, fault_domain, update_domain, draft.rules.vms_per_host))
    return number


def find_room(
    region: Region, engine: str, kind: ErrandKind, *, other_than: Collection[str] = (), near: Vm | None = None
) -> RealHost | None:
    """A host of the engine with room: rather in the domains of the VM, then the emptiest."""
    avoided = {fold(name) for name in other_than}
    hosts = [each for each in hosts_of(region, engine) if fold(each.name) not in avoided and each.can(kind)]

    def order(host: RealHost) -> tuple[bool, int, int]:
        domains = (host.fault_domain, host.update_domain)
        strange = near is not None and domains != (near.fault_domain, near.update_domain)
        return strange, len(host.vms) + len(host.reserved), host.number

    return min((host for host in hosts if host.has_room), key=order, default=None)


def find_target(region: Region, vm: Vm, kind: ErrandKind, turned_down: Collection[str] = ()) -> RealHost | None:
    """Where a real VM is to go: back where it was if it has none, away from where it is if it is moved.

    A redeployment stays where it is if its engine has no other host at all: it is made anew there.
    """
    machine = region.machines[vm.key]
    home = region.real_host(machine.host)
    if kind in (ErrandKind.START, ErrandKind.CREATE):
        settled = home is not None and vm.key in home.vms  # it is only turned off, and keeps its place
        if home is not None and home.name not in turned_down and home.can(kind):
            if home.has_room or (settled and home.is_healthy):
                return home
            if settled and home.health is not HostHealth.DRAINING:
                return None
        return find_room(region, machine.engine, kind, other_than=turned_down, near=vm)
    found = find_room(region, machine.engine, kind, other_than=(machine.host, *turned_down), near=vm)
    alone = kind is ErrandKind.REDEPLOY and home is not None and hosts_of(region, machine.engine) == [home]
    return home if found is None and alone and home is not None and home.is_healthy else found


def room_or_refuse(region: Region, vm: Vm, kind: ErrandKind) -> RealHost:
    """For what a person asks for: refused where there is no host to do it on."""
    found = find_target(region, vm, kind)
    if found is None:
        raise no_room(region.machines[vm.key].engine, vm.name)
    return found


def no_room(engine: str, name: str) -> Refused:
    return Refused(
        Hint.CONFLICT,
        f"No host of engine '{engine}' has room for VM '{name}': add a host, or make room on one that answers.",
    )


def check_kind(region: Region, vm: Vm, kind: ErrandKind) -> None:
    """Refuse what the engine of a real VM cannot do at all, when it is asked for and not when it is due."""
    machine = region.machines.get(vm.key)
    host = None if machine is None else region.real_host(machine.host)
    if host is not None and not host.can(kind):
        raise Refused(
            Hint.CONFLICT, f"VM '{vm.name}' cannot be asked to {kind.value}: engine '{host.engine}' does not do that."
        )
    if machine is not None and kind in machine.cannot:
        raise Refused(
            Hint.CONFLICT,
            f"VM '{vm.name}' cannot be asked to {kind.value}: its machine was adopted as one to which that cannot be "
            f"done; 'forewarn machine check {vm.name}' says why.",
        )


def can(region: Region, vm: Vm, kind: ErrandKind) -> bool:
    """Whether that can be done to a real VM, as far as its engine has said."""
    machine = region.machines[vm.key]
    host = region.real_host(machine.host)
    return kind not in machine.cannot and (host is None or host.can(kind))
