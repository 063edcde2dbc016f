"""A restart of a real machine, from the operator's request to the end of its event: once, wherever the plane dies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.machines.values import Errand, MachinePower
from forewarn.core.region import Power, Region
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.engines.simulated import SimulatedEngine
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinCall, TwinHosts
from forewarn.plane.clock import TurnableClock
from forewarn.plane.hands.engine import ErrandResult, Warrant
from forewarn.plane.hands.settings import MachineHost, Machines, MachineSettings
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Entry, Journal, Origin, Record
from forewarn.stores.memory import MemoryJournal

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OPERATOR = Origin("operator", "alice", "request-1")
SETTINGS = MachineSettings(listing_every=timedelta(seconds=1), call_timeout=timedelta(seconds=0.25))
STEPS = ("ErrandMade", "ErrandTried", "MachineSeen", "ErrandEnded", "ImpactEnded", "EventCompleted")


class MortalEngine(TwinEngine):
    """Calls back before and after it has carried something out, in the hand's thread."""

    on_call: Callable[[str], None] = staticmethod(lambda when: None)

    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        self.on_call("before")
        result = super().carry_out(errand, warrant)
        self.on_call("after")
        return result


def plane_on(journal: Journal, platform: TwinHosts) -> tuple[Plane, MortalEngine]:
    engine = MortalEngine(platform)
    machines = Machines((MachineHost("alpha", engine), MachineHost("beta", engine)), SETTINGS)
    rules = Rules(grace=timedelta(0), durations={Cause.FREEZE: 1, Cause.LIVE_MIGRATION: 1})
    clock = TurnableClock(NOON, 1.0)
    return Plane.open(journal, lambda _: clock, SimulatedEngine(), rules, machines=machines), engine


async def adopted(plane: Plane, platform: TwinHosts) -> None:
    for number, name in enumerate(platform.names):
        await plane.submit(c.RegisterHost(name, "twin", number, number, 10), OPERATOR)
    machine = platform.put("m-1", "alpha", vm="web")
    await plane.submit(c.AdoptMachine("web", VmSpec(), "seed", "alpha", "m-1", machine.mark), OPERATOR)


def until(plane: Plane, kind: str) -> asyncio.Event:
    """Set once a fact of that kind has been published."""
    happened = asyncio.Event()

    def listen(_: Region, records: Sequence[Record]) -> None:
        if any(type(record.fact).__name__ == kind for record in records):
            happened.set()

    plane.subscribe(listen)
    return happened


def first_life(journal: Journal, platform: TwinHosts, died_at: str) -> None:
    """Until it is killed at that step: nothing is finished, nothing is said."""

    async def live() -> None:
        plane, engine = plane_on(journal, platform)
        loop, killed = asyncio.get_running_loop(), asyncio.Event()

        def kill(when: str) -> None:
            if when == died_at:
                plane.standing.closing = True  # threads of a dead process ask for no leave
                loop.call_soon_threadsafe(killed.set)

        engine.on_call = kill
        await plane.start()
        await adopted(plane, platform)
        if died_at in STEPS:
            killed = until(plane, died_at)
        await plane.submit(c.RestartVms(("web",), "seed-1"), OPERATOR)
        await killed.wait()
        plane.standing.closing = True

    asyncio.run(live())


def second_life(journal: Journal, platform: TwinHosts) -> Region:
    async def live() -> Region:
        plane, _ = plane_on(journal, platform)
        ended = until(plane, "EventCompleted")
        await plane.start()
        if plane.region.events:
            await ended.wait()
        await plane.close()
        return plane.region

    return asyncio.run(live())


def left_by(journal: Journal) -> MemoryJournal:
    """What is on disk when the process has died."""
    left = MemoryJournal()
    with left.write() as transaction:
        transaction.append([Entry(each.fact, each.command, each.origin) for each in journal.read(0, 1000)])
    return left


@pytest.mark.parametrize("died_at", [*STEPS, "before", "after"])
def test_a_restart_is_done_once_wherever_the_plane_dies(died_at: str) -> None:
    journal, platform = MemoryJournal(), TwinHosts(("alpha", "beta"))
    first_life(journal, platform, died_at)
    journal = left_by(journal)
    region = second_life(journal, platform)
    assert [deed.call for deed in platform.deeds] == [TwinCall.RESTART]
    facts = [type(record.fact).__name__ for record in journal.read(0, 1000)]
    assert [facts.count(each) for each in STEPS] == [1] * len(STEPS)
    vm, machine = region.vms["web"], region.machines["web"]
    assert (vm.power, vm.boots, machine.power) == (Power.RUNNING, 2, MachinePower.RUNNING)
    assert machine.boot_mark == platform.copies("m-1")[0].mark
    assert not region.errands
    assert not region.events
