"""What holds of real machines, their hosts and their errands, whatever engines say and whenever they say it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from forewarn.core.looking.errands import errands_of
from forewarn.core.machines.values import ErrandKind, OpenErrand, RealMachine
from forewarn.core.region import DOWN, Host, HostHealth, Power, RealHost, Region, fold

_OF_HOSTS = frozenset({ErrandKind.FENCE, ErrandKind.OFF, ErrandKind.STOP})  # of a host, and of a copy that is no VM's


def of_machines(region: Region) -> Iterator[str]:
    """One due errand a machine, no machine at two hosts, no open errand of an event that has ended."""
    for key, machine in region.machines.items():
        yield from _of_machine(region, key, machine)
    for errand_id, found in region.errands.items():
        yield from _of_errand(region, errand_id, found)
    for event in region.events.values():
        if event.impact_ended_at is not None and any(errands_of(region, event)):
            yield f"the impact of event {event.id} is over, and errands of it are open"
    refs = {(machine.engine, machine.ref): key for key, machine in region.machines.items() if machine.ref}
    if dict(region.refs) != refs:
        yield "the names that engines have for machines are not those of the machines"
    if set(region.astray) != {key for key, machine in region.machines.items() if machine.astray}:
        yield "the machines that are astray are others"
    yield from _of_hosts(region)


def _of_machine(region: Region, key: str, machine: RealMachine) -> Iterator[str]:
    vm, host = region.vms.get(key), region.real_host(machine.host)
    if vm is None or host is None or vm.spec.engine != machine.engine or host.engine != machine.engine:
        yield f"machine {key} of engine {machine.engine} has no VM or no host of that engine"
        return
    if vm.host is not None and vm.host != host.number:
        yield f"VM {key} lives on host {vm.host}, and its machine is at {host.name}"
    if len(set(machine.errands)) != len(machine.errands) or set(machine.errands) != _open(region, key):
        yield f"machine {key} lists other errands than it has"
    if machine.doubled and not machine.also:
        yield f"machine {key} runs twice, at one host"
    created = any(region.errands[each].errand.kind is ErrandKind.CREATE for each in machine.errands)
    if not machine.ref and not (created and vm.power in DOWN):
        yield f"machine {key} has no name, and is not being created"


def _open(region: Region, key: str) -> set[str]:
    return {errand_id for errand_id, found in region.errands.items() if found.errand.vm == key}


def _of_errand(region: Region, errand_id: str, found: OpenErrand) -> Iterator[str]:
    errand = found.errand
    if errand_id != errand.id:
        yield f"errand {errand.id} is filed under {errand_id}"
    if errand.vm and errand.vm not in region.machines:
        yield f"errand {errand_id} is for VM {errand.vm}, which has no machine"
    if not errand.vm and errand.kind not in _OF_HOSTS:
        yield f"errand {errand_id} is a {errand.kind.value} of nobody"
    event = region.events.get(errand.event) if errand.event else None
    if errand.event and (event is None or errand.vm not in event.vms):
        yield f"errand {errand_id} is open, and its event {errand.event} has ended or does not hit {errand.vm}"
    if found.tried_at is not None and found.tries < 1:
        yield f"errand {errand_id} was tried, and never"
    if (errand.kind is ErrandKind.PAUSE) != (errand.until is not None):
        yield f"errand {errand_id} is a {errand.kind.value} until {errand.until}"
    if errand.to and region.real_host(errand.to) is None:
        yield f"errand {errand_id} goes to {errand.to}, which is no host"


def _of_hosts(region: Region) -> Iterator[str]:
    reserved: dict[str, set[str]] = defaultdict(set)
    for found in region.errands.values():
        if found.errand.to and found.errand.vm:
            reserved[fold(found.errand.to)].add(found.errand.vm)
    named = {fold(host.name): number for number, host in region.hosts.items() if isinstance(host, RealHost)}
    if dict(region.real_hosts) != named:
        yield "the names of real hosts are not those of the hosts"
    for host in region.hosts.values():
        yield from _of_host(region, host, reserved)


def _of_host(region: Region, host: Host, reserved: dict[str, set[str]]) -> Iterator[str]:
    real = isinstance(host, RealHost)
    if any((key in region.machines) is not real for key in host.vms):
        yield f"{host.name} has real and pretended machines"
    if not isinstance(host, RealHost):
        return
    if set(host.reserved) != reserved[fold(host.name)]:
        yield f"{host.name} keeps places for others than are on their way there"
    if host.health is HostHealth.LEFT and (host.vms or host.reserved):
        yield f"{host.name} has left, and VMs are there or on their way"
    powers = {region.vms[key].power for key in host.vms}
    if Power.DEALLOCATED in powers:
        yield f"{host.name} has a VM that is deallocated"
