"""The plane is killed at every point of every kind of errand, and another goes on: nothing is done twice, nothing runs
twice, no pause is forgotten, and no event ends early."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.machines.values import ErrandKind, MachinePower
from forewarn.core.region import DOWN, Region
from forewarn.core.specs import VmSpec
from forewarn.engines.twin.hosts import TwinCall, TwinHosts, TwinMisfortune, TwinMishap
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Record
from forewarn.stores.memory import MemoryJournal
from tests.flows.test_real_machines import OPERATOR, adopted, left_by, plane_on, until

RUNNING, PAUSED = MachinePower.RUNNING, MachinePower.PAUSED
MADE = VmSpec(engine="twin", blueprint="small")

ORDERS: dict[ErrandKind, c.Command] = {
    ErrandKind.CREATE: c.CreateVms(("web",), MADE, "seed-1"),
    ErrandKind.START: c.StartVms(("web",)),
    ErrandKind.STOP: c.StopVms(("web",)),
    ErrandKind.OFF: c.DeallocateVms(("web",)),
    ErrandKind.DELETE: c.DeleteVms(("web",), "seed-1"),
    ErrandKind.RESTART: c.RestartVms(("web",), "seed-1"),
    ErrandKind.PAUSE: c.MaintainHosts(("alpha",), Cause.FREEZE, "seed-1"),
    ErrandKind.MIGRATE: c.MaintainHosts(("alpha",), Cause.LIVE_MIGRATION, "seed-1"),
    ErrandKind.REDEPLOY: c.RedeployVms(("web",), "seed-1"),
    ErrandKind.REIMAGE: c.ReimageVms(("web",), "seed-1"),
}
CHANGES = {  # that each kind takes on this platform
    ErrandKind.CREATE: 2,
    ErrandKind.START: 1,
    ErrandKind.STOP: 1,
    ErrandKind.OFF: 2,
    ErrandKind.DELETE: 2,
    ErrandKind.RESTART: 1,
    ErrandKind.PAUSE: 2,
    ErrandKind.MIGRATE: 1,
    ErrandKind.REDEPLOY: 4,
    ErrandKind.REIMAGE: 4,
}
POINTS = ("ErrandMade", "ErrandTried", "before", "after", "ErrandEnded")
KILLS = [
    *((kind, point) for kind in ORDERS for point in POINTS),
    *((kind, f"call {number}") for kind, changes in CHANGES.items() for number in range(1, changes + 1)),
]
_PATIENCE_SECONDS = 15.0
ENDS_DOWN = (ErrandKind.STOP, ErrandKind.OFF)


class CountedHosts(TwinHosts):
    """Tells after which of an errand's changes it is."""

    changed: Callable[[int], None] = staticmethod(lambda number: None)

    def change(self, call: TwinCall, host: str, ref: str, errand: str, *, to: str = "", vm: str = "") -> None:
        super().change(call, host, ref, errand, to=to, vm=vm)
        self.changed(len(self.deeds))


async def ready(plane: Plane, platform: TwinHosts, kind: ErrandKind) -> None:
    """A machine to which that can be done."""
    if kind is ErrandKind.CREATE:
        await hosts_only(plane, platform)
    else:
        described = until(plane, "MachineDefined")
        await adopted(plane, platform)
        await described.wait()
    if kind is ErrandKind.START:
        stopped = until(plane, "VmStopped")
        await plane.submit(c.StopVms(("web",)), OPERATOR)
        await stopped.wait()
    platform.deeds.clear()


async def hosts_only(plane: Plane, platform: TwinHosts) -> None:
    for number, name in enumerate(platform.names):
        await plane.submit(c.RegisterHost(name, "twin", number, number, 10), OPERATOR)


def first_life(journal: MemoryJournal, platform: CountedHosts, kind: ErrandKind, point: str) -> bool:
    """Until it is killed at that point. False where the errand was over before."""

    async def live() -> bool:
        plane, engine = plane_on(journal, platform)
        loop, killed = asyncio.get_running_loop(), asyncio.Event()
        await plane.start()
        await ready(plane, platform, kind)

        def kill(now_at: str) -> None:
            if now_at == point and not killed.is_set():
                plane.standing.closing = True  # threads of a dead process ask for no leave
                loop.call_soon_threadsafe(killed.set)

        engine.on_call = kill
        platform.changed = lambda number: kill(f"call {number}")
        if point.startswith("Errand"):
            killed = until(plane, point)
        over = until(plane, "ErrandEnded")
        await plane.submit(ORDERS[kind], OPERATOR)
        waits = [loop.create_task(event.wait()) for event in (killed, over)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=_PATIENCE_SECONDS)
        for task in waits:
            task.cancel()
        plane.standing.closing = True
        return killed.is_set()

    return asyncio.run(live())


def second_life(journal: MemoryJournal, platform: CountedHosts) -> Plane:
    async def live() -> Plane:
        plane, _ = plane_on(journal, platform)
        platform.changed = lambda number: None
        await plane.start()
        settled = asyncio.Event()

        def look(region: Region, _: Sequence[Record]) -> None:
            if not region.errands and not region.events:
                settled.set()

        plane.subscribe(look)
        look(plane.region, ())
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await settled.wait()
        await plane.close()
        return plane

    return asyncio.run(live())


@pytest.mark.parametrize(("kind", "point"), KILLS)
def test_an_errand_is_done_once_wherever_the_plane_is_killed(kind: ErrandKind, point: str) -> None:
    journal, platform = MemoryJournal(), CountedHosts(("alpha", "beta"))
    assert first_life(journal, platform, kind, point), "it was over before"
    journal = left_by(journal)
    region = second_life(journal, platform).region
    deeds = [deed.call for deed in platform.deeds]
    assert all(deeds.count(call) <= 1 for call in (TwinCall.RESTART, TwinCall.PAUSE, TwinCall.START, TwinCall.CREATE))
    facts = [type(record.fact).__name__ for record in journal.read(0, 1000)]
    made = 2 if kind is ErrandKind.START else 1
    assert (facts.count("ErrandMade"), facts.count("ErrandEnded")) == (made, made)
    copies = [each for (_, _), each in sorted(platform.machines.items())]
    assert len([each for each in copies if each.power is RUNNING]) == (kind not in (*ENDS_DOWN, ErrandKind.DELETE))
    assert not [each for each in copies if each.power is PAUSED]
    if kind is not ErrandKind.DELETE:
        assert (region.vms["web"].power in DOWN) is (kind in ENDS_DOWN)
    assert not region.errands


@pytest.mark.parametrize("point", ["ErrandTried", "before", "call 1", "call 2", "after", "ErrandGivenUp"])
def test_nothing_is_left_of_a_machine_that_cannot_be_made_wherever_the_plane_is_killed(point: str) -> None:
    """Its start is refused for good each time: call 1 makes it, call 2 takes it back."""
    journal, platform = MemoryJournal(), CountedHosts(("alpha", "beta"))
    platform.misfortunes += [TwinMisfortune(TwinMishap.REFUSED, TwinCall.START)] * 10
    assert first_life(journal, platform, ErrandKind.CREATE, point), "it was over before"
    region = second_life(left_by(journal), platform).region
    assert "web" not in region.vms
    assert platform.machines == {}
    assert TwinCall.START not in [deed.call for deed in platform.deeds]
