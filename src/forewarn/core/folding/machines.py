"""How facts about real machines and their errands change a region."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import assert_never

from forewarn.core.folding import sets
from forewarn.core.folding.hosts import fold_real_host, reserve
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import PLACED, Errand, ErrandKind, MachinePower, OpenErrand, RealMachine
from forewarn.core.region import DOWN, HostHealth, Power, Region, replace
from forewarn.core.specs import with_traits

CRASHES_WITHIN = timedelta(minutes=10)  # ours: the recovery that such an event is given


def fold_host_of_machines(region: Region, fact: mf.HostFact) -> Region:
    """The region after a fact about a host of an engine. Of one that is back, or has left, nothing is to be cleared."""
    was = region.hosts.get(fact.host)
    region = fold_real_host(region, fact)
    lost = was is not None and was.health is HostHealth.FENCED
    if lost and isinstance(fact, mf.HostBack | mf.HostLeft):
        name = region.hosts[fact.host].name
        for key in [key for key, machine in region.machines.items() if name in machine.loose]:
            region = cleared(region, name, key)
    return region


def fold_machine(region: Region, fact: mf.MachineFact) -> Region:
    """The region after a fact about one machine."""
    if isinstance(fact, mf.MachineAdopted):
        return _adopted(region, fact)
    machine = region.machines[fact.vm]
    match fact:
        case mf.MachineReleased():
            return machine_left(region, fact.vm)
        case mf.MachineSeen():
            return _seen(region, machine, fact)
        case mf.MachineDefined(definition=definition):
            return put_machine(region, fact.vm, replace(machine, definition=definition))
        case mf.MachineCleared(host=host):
            return cleared(region, host, fact.vm)
        case mf.MachineDoubled(also=also):
            single = replace(machine, also="", also_at=None, doubled=False)
            return put_machine(region, fact.vm, replace(machine, doubled=True) if also else single)
        case mf.MachineAlarmed(alarm=alarm):
            return put_machine(region, fact.vm, replace(machine, alarm=alarm))
        case _:
            assert_never(fact)


def _adopted(region: Region, fact: mf.MachineAdopted) -> Region:
    vm = region.vms[fact.vm]
    power = Power.RUNNING if fact.power in (MachinePower.RUNNING, MachinePower.PAUSED) else Power.STOPPED
    region = replace(region, vms=region.vms.set(vm.key, replace(vm, power=power)))
    seen = RealMachine(fact.engine, fact.host, fact.at, fact.ref, fact.boot_mark, fact.power)
    machine = replace(seen, cannot=fact.cannot, way=fact.way)
    return put_machine(region, vm.key, machine)


def _seen(region: Region, machine: RealMachine, fact: mf.MachineSeen) -> Region:
    at_home = fact.moved or fact.host == machine.host
    if fact.power is MachinePower.GONE and not fact.moved:
        loose = tuple(each for each in machine.loose if each != fact.host)
        found = replace(machine, absent=(*machine.absent, fact.host), loose=loose, seen_at=fact.at)
        found = replace(found, power=MachinePower.GONE, why=fact.why) if at_home else found
        return put_machine(region, fact.vm, found)
    if not at_home:
        return put_machine(region, fact.vm, replace(machine, also=fact.host, also_at=fact.at))
    # One that is paused has its memory too: engines start a machine paused, and a listing may come just then
    awake = fact.power in (MachinePower.RUNNING, MachinePower.PAUSED)
    booted = awake and "" not in (fact.boot_mark, machine.boot_mark)
    if booted and fact.boot_mark != machine.boot_mark:
        vm = region.vms[fact.vm]
        region = replace(region, vms=region.vms.set(vm.key, with_traits(vm, boots=vm.boots + 1)))
    found = replace(
        machine,
        host=fact.host,
        seen_at=fact.at,
        ref=fact.ref or machine.ref,
        boot_mark=fact.boot_mark or machine.boot_mark,
        power=fact.power,
        why=fact.why,
        absent=(),
        stood=fact.stood or machine.stood,
    )
    if fact.moved:
        found = replace(found, also="", also_at=None, doubled=False, loose=_left_at(machine, fact.host))
    for errand_id in machine.errands:  # what is still to be done is to be done where it is, under the name that it has
        open_errand = region.errands[errand_id]
        source_off = open_errand.errand.source_off and fact.power is not MachinePower.RUNNING and not fact.moved
        errand = replace(open_errand.errand, host=found.host, ref=found.ref, source_off=source_off)
        stuck_at = None if fact.moved else open_errand.stuck_at  # what was refused where it was may be done there
        region = put_errand(region, replace(open_errand, errand=errand, stuck_at=stuck_at))
    return put_machine(region, fact.vm, found)


def _left_at(machine: RealMachine, host: str) -> tuple[str, ...]:
    """Other hosts that may still have something of a machine at ``host``: those that have not said otherwise."""
    known = {host, *machine.absent}
    return tuple(each for each in dict.fromkeys((*machine.loose, machine.host)) if each not in known)


def put_machine(region: Region, key: str, machine: RealMachine) -> Region:
    """Set a machine, and by which name its engine knows it."""
    refs, former = region.refs, region.machines.get(key)
    if former is not None and former.ref and former.ref != machine.ref:
        refs = refs.delete((former.engine, former.ref))
    if machine.ref:
        refs = refs.set((machine.engine, machine.ref), key)
    astray = region.astray
    if machine.astray != (key in astray):
        astray = astray.set(key, None) if machine.astray else astray.delete(key)
    return replace(region, machines=region.machines.set(key, machine), refs=refs, astray=astray)


def machine_left(region: Region, key: str) -> Region:
    """A VM has no machine any more, and nothing is to be done to it."""
    machine = region.machines.get(key)
    if machine is None:
        return region
    for errand_id in machine.errands:
        region = sets.waited_for(_closed(region, region.errands[errand_id]), errand_id, "")
    machine = region.machines[key]
    refs = region.refs.delete((machine.engine, machine.ref)) if machine.ref else region.refs
    astray = region.astray.delete(key) if key in region.astray else region.astray
    return replace(region, machines=region.machines.delete(key), refs=refs, astray=astray)


def cleared(region: Region, host: str, key: str | None) -> Region:
    """Nothing of a machine is left at that host."""
    machine = None if key is None else region.machines[key]
    if key is None or machine is None or host not in machine.loose:
        return region
    return put_machine(region, key, replace(machine, loose=tuple(each for each in machine.loose if each != host)))


def crashed(region: Region, vms: Iterable[str], at: datetime) -> Region:
    """Remember when machines were started again, for as long as that matters."""
    for key in vms:
        machine = region.machines.get(key)
        if machine is not None:
            recent = tuple(each for each in machine.crashes if at - each < CRASHES_WITHIN)
            region = put_machine(region, key, replace(machine, crashes=(*recent, at)))
    return region


def fold_errand(region: Region, fact: mf.ErrandFact) -> Region:
    """The region after a fact about one errand."""
    if isinstance(fact, mf.ErrandMade):
        return _made(region, fact)
    found = region.errands[fact.errand_id]
    match fact:
        case mf.ErrandTried(at=at):
            return put_errand(region, replace(found, tried_at=found.tried_at or at, tries=found.tries + 1))
        case mf.ErrandPlaced(to=to):
            return _placed(region, found, to, fact.at)
        case mf.ErrandHindered(why=why, stuck=stuck):
            stuck_at = fact.at if stuck else found.stuck_at
            return put_errand(region, replace(found, why=why, tries=found.tries + 1, stuck_at=stuck_at))
        case mf.ErrandEnded():
            return _over(region, found, "", fact.at)
        case mf.ErrandGivenUp(why=why):
            return _over(region, found, why, fact.at)
        case _:
            assert_never(fact)


def put_errand(region: Region, found: OpenErrand) -> Region:
    return replace(region, errands=region.errands.set(found.errand.id, found))


def _made(region: Region, fact: mf.ErrandMade) -> Region:
    errand = fact.errand
    region = put_errand(region, OpenErrand(errand, fact.at, 1) if fact.tried else OpenErrand(errand))
    if errand.vm:
        machine = region.machines[errand.vm]
        errands = (*machine.errands, errand.id)
        ours = replace(machine, errands=errands, made=machine.made + 1, absent=())  # who lacked it is asked anew
        region = put_machine(region, errand.vm, ours)
        if fact.crashed:
            region = crashed(region, (errand.vm,), fact.at)
    elif errand.ref:
        region = _held(region, errand, held=True)
    return reserve(region, errand.to, errand.vm, wanted=True)


def _placed(region: Region, found: OpenErrand, to: str, at: datetime) -> Region:
    errand = found.errand
    region = _let_go(region, errand)
    turned_down = (*found.turned_down, errand.to) if errand.to not in ("", to) else found.turned_down
    turned_down = () if to in turned_down else turned_down  # from the beginning
    source = region.real_host(errand.host)
    lost = source is not None and source.health is HostHealth.FENCED
    errand = replace(errand, to=to, source_off=errand.source_off or lost)
    region = put_errand(region, replace(found, errand=errand, turned_down=turned_down, stuck_at=None))
    return reserve(_loosened(region, found, at), to, errand.vm, wanted=True)


def _loosened(region: Region, found: OpenErrand, at: datetime) -> Region:
    """A move that was tried has not been finished: something of the machine may be where it was to go."""
    errand = found.errand
    machine = region.machines.get(errand.vm)
    moves = errand.kind in PLACED and found.tried_at is not None and errand.to not in ("", errand.host)
    if machine is None or not moves or errand.to in machine.loose or errand.to == machine.host:
        return region
    return put_machine(region, errand.vm, replace(machine, loose=(*machine.loose, errand.to), seen_at=at))


def _held(region: Region, errand: Errand, *, held: bool) -> Region:
    """A copy of a machine is being turned off, or has been."""
    key = region.refs.get((errand.engine, errand.ref))
    if key is None:
        return region
    machine = region.machines[key]
    others = tuple(each for each in machine.held if each != errand.id)
    return put_machine(region, key, replace(machine, held=(*others, errand.id) if held else others))


def _over(region: Region, found: OpenErrand, why: str, at: datetime) -> Region:
    """Close an errand that is done, or with a reason ``why`` given up."""
    region = _counted(_closed(region, found), found.errand, failed=bool(why))
    region = _loosened(region, found, at) if why else region
    vm = region.vms.get(found.errand.vm)
    if vm is not None:
        emptied = found.errand.kind is ErrandKind.REDEPLOY and not why
        power = vm.power if vm.power in DOWN else Power.RUNNING
        vm = with_traits(replace(vm, power=power), ephemeral_disks=vm.traits.ephemeral_disks + emptied)
        region = replace(region, vms=region.vms.set(vm.key, vm))
    return sets.waited_for(region, found.errand.id, why)


def _counted(region: Region, errand: Errand, *, failed: bool) -> Region:
    """A campaign counts the moves that it could not make, one after the other."""
    event = region.events.get(errand.event) if errand.kind is ErrandKind.MIGRATE else None
    if event is None or not event.campaign:
        return region
    campaign = region.campaigns[event.campaign]
    campaign = replace(campaign, not_done=campaign.not_done + 1 if failed else 0)
    return replace(region, campaigns=region.campaigns.set(campaign.id, campaign))


def _closed(region: Region, found: OpenErrand) -> Region:
    errand = found.errand
    region = replace(region, errands=region.errands.delete(errand.id))
    if errand.vm:
        machine = region.machines[errand.vm]
        left = tuple(each for each in machine.errands if each != errand.id)
        region = put_machine(region, errand.vm, replace(machine, errands=left))
    elif errand.ref:
        region = _held(region, errand, held=False)
        if errand.kind is ErrandKind.OFF:
            region = cleared(region, errand.host, region.refs.get((errand.engine, errand.ref)))
    return _let_go(region, errand)


def _let_go(region: Region, errand: Errand) -> Region:
    """Free the place that a host kept for an errand, unless another errand of the machine goes there too."""
    machine = region.machines.get(errand.vm)
    others = () if machine is None else (region.errands[each].errand for each in machine.errands if each != errand.id)
    return reserve(region, errand.to, errand.vm, wanted=any(other.to == errand.to for other in others))
