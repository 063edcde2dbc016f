"""Errands as they are seen without changing anything: which are due, what ends one, and what a VM is heading for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from forewarn.core.machines.values import (
    ENDS_RUNNING,
    STARTS,
    Errand,
    ErrandKind,
    MachinePower,
    OpenErrand,
    RealMachine,
    SeenWhy,
    Sighting,
)
from forewarn.core.region import Event, Power, RealHost, Region, Vm, fold

_ENDS_DOWN = {ErrandKind.STOP: Power.STOPPED, ErrandKind.OFF: Power.DEALLOCATED, ErrandKind.DELETE: Power.DELETING}


def due_errands(region: Region) -> Iterator[OpenErrand]:
    """All that a hand may try now, in no order that matters: the first of each machine, and those of hosts."""
    for found in region.errands.values():
        if is_due(region, found):
            yield found


def is_due(region: Region, found: OpenErrand) -> bool:
    """Whether its turn has come, it is known where to, and no other copy of the machine runs, or is being put down."""
    if not found.errand.vm:
        return True
    machine = region.machines[found.errand.vm]
    free = not machine.doubled and not machine.held and found.stuck_at is None
    free = free and not _would_start_another(machine, found.errand)
    return found.is_placed and free and machine.errands[0] == found.errand.id


def _would_start_another(machine: RealMachine, errand: Errand) -> bool:
    """Whether the machine was seen to run where this errand would not find it."""
    return errand.kind in STARTS and bool(machine.also) and fold(machine.also) != fold(errand.to)


def current(region: Region, vm: str) -> OpenErrand | None:
    """The first open errand of a machine: what is being done to it, or will be next."""
    machine = region.machines.get(vm)
    return region.errands[machine.errands[0]] if machine is not None and machine.errands else None


def errands_of(region: Region, event: Event) -> Iterator[OpenErrand]:
    """The open errands that an event's impact waits for."""
    for key in event.vms:
        machine = region.machines.get(key)
        for errand_id in machine.errands if machine is not None else ():
            if region.errands[errand_id].errand.event == event.id:
                yield region.errands[errand_id]


def is_pretended(region: Region, event: Event) -> bool:
    """Whether any VM of the event is pretended: only then is the end of its impact known in advance."""
    machines = region.machines
    return any(key not in machines for key in event.vms) if machines else bool(event.vms)


def is_real(region: Region, event: Event) -> bool:
    """Whether any VM of the event has a real machine: how long its impact takes can only be estimated."""
    return any(key in region.machines for key in event.vms)


def is_over(region: Region, event: Event, now: datetime) -> bool:
    """Whether an impact that has begun is over: with the last errand, and with the time of pretended machines."""
    if event.impact_began_at is None or any(errands_of(region, event)):
        return False
    ends_at = event.impact_ends_at
    return not is_pretended(region, event) or (ends_at is not None and ends_at <= now)


def heading_for(region: Region, vm: Vm) -> Power:
    """What a real VM will be doing when all that is open has been done."""
    power = vm.power
    for errand_id in region.machines[vm.key].errands:
        kind = region.errands[errand_id].errand.kind
        power = Power.RUNNING if kind in ENDS_RUNNING else _ENDS_DOWN.get(kind, power)
    return power


def is_satisfied(errand: Errand, seen: Sighting, seen_at: datetime, *, told: bool = False) -> bool:
    """Whether a machine that is seen so is as the errand wants it.

    A new disk cannot be seen: that it was this errand which made it stands with the machine, or is ``told`` by the
    engine that has just carried it out.
    """
    runs = seen.power is MachinePower.RUNNING
    there = fold(seen.host) == fold(errand.to)
    rebooted = bool(seen.boot_mark) and seen.boot_mark != errand.boot_mark
    made = seen.errand == errand.id or (told and not seen.errand)
    match errand.kind:
        case ErrandKind.CREATE | ErrandKind.START:
            return runs and there
        case ErrandKind.STOP:
            return seen.power is MachinePower.OFF
        case ErrandKind.OFF if not errand.vm:
            return seen.power is MachinePower.GONE
        case ErrandKind.OFF:
            return seen.power in (MachinePower.OFF, MachinePower.GONE)
        case ErrandKind.DELETE:
            return seen.power is MachinePower.GONE
        case ErrandKind.RESTART:
            return runs and rebooted
        case ErrandKind.REIMAGE:
            return runs and rebooted and made
        case ErrandKind.PAUSE:
            return runs and errand.until is not None and errand.until <= seen_at
        case ErrandKind.MIGRATE:
            return runs and there and not rebooted
        case ErrandKind.REDEPLOY:
            return runs and there and rebooted and made
        case ErrandKind.FENCE:
            return False  # it is the host that is off, which no sighting of a machine shows


def supposed(errand: Errand) -> Sighting:
    """A sighting that would end it, for forecasts."""
    power = MachinePower.RUNNING if errand.kind in ENDS_RUNNING else MachinePower.OFF
    power = MachinePower.GONE if errand.kind is ErrandKind.DELETE else power
    kept = errand.kind in (ErrandKind.PAUSE, ErrandKind.MIGRATE)
    mark = errand.boot_mark if kept else errand.id
    return Sighting(errand.ref or errand.id, errand.to or errand.host, power, mark, SeenWhy.ASKED, errand=errand.id)


def hosts_of(region: Region, engine: str) -> list[RealHost]:
    """The hosts of an engine that take part, in the order of their numbers."""
    numbers = sorted(region.real_hosts.values())
    found = (region.hosts[number] for number in numbers)
    return [host for host in found if isinstance(host, RealHost) and host.engine == engine and host.takes_part]
