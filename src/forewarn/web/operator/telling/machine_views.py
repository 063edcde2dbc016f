"""Real machines, their hosts and their errands as answers."""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import OpenErrand, RealMachine
from forewarn.core.region import HostHealth, Region
from forewarn.plane.hands.hands import Hands
from forewarn.plane.hands.settings import MachineHost
from forewarn.plane.ports import Record
from forewarn.web.operator.schema.machines import (
    DeclaredHostAnswer,
    ErrandAnswer,
    MachineAnswer,
    MachinesAnswer,
)

NOT_ADDED = "not added"


def machine_fields(region: Region, key: str) -> MachineAnswer | None:
    """None for a VM that is only pretended."""
    machine = region.machines.get(key)
    return None if machine is None else _machine(region, key, machine)


def _machine(region: Region, key: str, machine: RealMachine) -> MachineAnswer:
    return MachineAnswer(
        vm=region.vms[key].name,
        engine=machine.engine,
        host=machine.host,
        ref=machine.ref,
        power=machine.power.value,
        boot_mark=machine.boot_mark,
        seen_at=machine.seen_at,
        alarm=machine.alarm,
        doubled=machine.doubled,
        also=machine.also,
        cannot=[kind.value for kind in machine.cannot],
        way=machine.way,
        errands=[errand_fields(region, region.errands[each]) for each in machine.errands],
    )


def errand_fields(region: Region, found: OpenErrand) -> ErrandAnswer:
    errand = found.errand
    vm = region.vms.get(errand.vm)
    return ErrandAnswer(
        id=errand.id,
        kind=errand.kind.value,
        vm=errand.vm if vm is None else vm.name,
        host=errand.host,
        to=errand.to,
        state="waiting" if found.tried_at is None else "tried",
        made_at=errand.made_at,
        tries=found.tries,
        why=found.why,
    )


def errands_of_story(records: Iterable[Record]) -> list[ErrandAnswer]:
    """All errands of one event, those that are over and those that were given up too, as its records tell."""
    found: dict[str, ErrandAnswer] = {}
    for record in records:
        fact = record.fact
        if isinstance(fact, mf.ErrandMade):
            found[fact.errand.id] = _made(fact)
        elif isinstance(fact, mf.OneErrandFact) and fact.errand_id in found:
            found[fact.errand_id] = found[fact.errand_id].model_copy(update=_news(found[fact.errand_id], fact))
    return list(found.values())


def _made(fact: mf.ErrandMade) -> ErrandAnswer:
    errand = fact.errand
    return ErrandAnswer(
        id=errand.id,
        kind=errand.kind.value,
        vm=errand.vm,
        host=errand.host,
        to=errand.to,
        state="tried" if fact.tried else "waiting",
        made_at=errand.made_at,
        tries=int(fact.tried),
        why="",
    )


def _news(known: ErrandAnswer, fact: mf.OneErrandFact) -> dict[str, object]:
    match fact:
        case mf.ErrandTried():
            return {"state": "tried", "tries": known.tries + 1}
        case mf.ErrandPlaced(to=to):
            return {"to": to}
        case mf.ErrandHindered(why=why):
            return {"tries": known.tries + 1, "why": why}
        case mf.ErrandEnded():
            return {"state": "done", "why": ""}
        case mf.ErrandGivenUp(why=why):
            return {"state": "given up", "why": why}
    return {}


def machines_fields(region: Region, hands: Hands) -> MachinesAnswer:
    """All of them, with the numbers that tell whether somebody should look."""
    hosts = [region.real_host(host.name) for host in hands.hosts]
    health = [host.health for host in hosts if host is not None]
    return MachinesAnswer(
        machines=[_machine(region, key, region.machines[key]) for key in sorted(region.machines)],
        hosts=[declared_fields(region, hands, host) for host in hands.hosts],
        errands_open=len(region.errands),
        errands_hindered=sum(1 for each in region.errands.values() if each.why),
        alarms=sum(1 for machine in region.machines.values() if machine.alarm),
        hosts_silent=health.count(HostHealth.SILENT),
        hosts_fenced=health.count(HostHealth.FENCED),
        calls_hung=sum(hands.hung.values()),
    )


def declared_fields(region: Region, hands: Hands, host: MachineHost) -> DeclaredHostAnswer:
    known = region.real_host(host.name)
    return DeclaredHostAnswer(
        name=host.name,
        engine=host.engine.name,
        kind=host.kind,
        node=host.node,
        health=known.health.value if known is not None and known.takes_part else NOT_ADDED,
        has_fence=host.fence is not None,
        calls_hung=hands.hung[host.name],
    )
