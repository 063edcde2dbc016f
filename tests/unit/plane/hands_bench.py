"""A plane with hands on a platform in memory, in time that jumps: settings are production's, and no test waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

from forewarn.core import commands as c
from forewarn.core.invariants import region as invariants
from forewarn.core.machines.values import MachinePower
from forewarn.core.region import HostHealth, Region
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.engines.simulated import SimulatedEngine
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinDeed, TwinHosts, TwinMachine
from forewarn.plane.clock import RealClock
from forewarn.plane.hands.engine import EngineFault
from forewarn.plane.hands.settings import MachineHost, Machines, MachineSettings
from forewarn.plane.plane import Plane
from forewarn.plane.system import ServerSystem
from forewarn.sim.fabric.loop import SimLoop
from forewarn.sim.fabric.strands import StrandFlag, Strands
from tests.unit.plane.bench import NOON, OPERATOR, ShakyJournal

_PATIENCE_SECONDS = 3600.0  # of the loop's own time, which jumps: tests.waiting would wait in the machine's, in vain
RUNNING, PAUSED, OFF = MachinePower.RUNNING, MachinePower.PAUSED, MachinePower.OFF
CALL_SECONDS = 120.0  # what the hand allows a whole errand, at four calls of 30 s, without grace


class Ground:
    """Hosts with their machines, and a plane whose hands work there."""

    def __init__(
        self,
        loop: SimLoop,
        engine: type[TwinEngine],
        settings: MachineSettings,
        node: str,
        lock: Path | None,
        hosts: tuple[str, ...],
    ) -> None:
        self._loop, self._is_ours = loop, node in ("", "here")
        hub = loop.strands = Strands(loop)
        self.platform = TwinHosts(hosts, elapsed=loop.time, make_flag=lambda: StrandFlag(hub))
        self.journal = ShakyJournal()
        self.engine = engine(self.platform)
        self.fenced: list[str] = []
        self.deeds_before: list[TwinDeed] = []  # what had been done when a host was fenced
        self.fence_works = True
        chance = Random(1)
        system = ServerSystem(wall=self.now, elapsed=loop.time, random_bytes=chance.randbytes)
        declared = tuple(
            MachineHost(name, self.engine, node, partial(self._fence, name), lock and lock / name)
            for name in self.platform.names
        )
        clock = partial(RealClock, wall=system.wall, elapsed=system.elapsed, look_seconds=0.0)
        self.plane = Plane.open(
            self.journal,
            clock,
            SimulatedEngine(),
            Rules(),
            system=system,
            machines=Machines(declared, settings, "here"),
        )

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self._loop.time())

    @property
    def region(self) -> Region:
        return self.plane.region

    def _fence(self, name: str) -> None:
        if not self.fence_works:
            raise EngineFault("fence_ipmilan: Unable to obtain correct plug status")
        self.deeds_before = [*self.platform.deeds]
        self.fenced.append(name)
        self.platform.fence(name)

    async def adopt(self, *names: str, host: str = "alpha") -> None:
        for name in names:
            machine = self.platform.put(name, host, vm=name)
            await self.do(c.AdoptMachine(name, VmSpec(), f"seed/{name}", host, name, machine.mark))
        if self._is_ours:  # a moment later it is known how to make them again
            await self.until(lambda: all(self.region.machines[name].definition for name in names))

    def move_by_hand(self, name: str, to: str, hints: str = "given") -> None:
        """It runs at another host, as it was: somebody has migrated it past forewarn."""
        (host,) = (each.host for each in self.platform.copies(name))
        if hints == "given":
            self.platform.move(name, host, to)
        else:  # nobody hears of it before both hosts are listed
            machine = self.platform.machines[to, name] = self.platform.machines.pop((host, name))
            machine.host = to

    async def do(self, command: c.Command) -> None:
        await self.plane.submit(command, OPERATOR)

    def machine(self, name: str) -> TwinMachine:
        (found,) = self.platform.copies(name)
        return found

    async def until(self, holds: Callable[[], bool]) -> None:
        """Let time pass until something is so."""
        ends_at = self._loop.time() + _PATIENCE_SECONDS
        while not holds():
            assert self._loop.time() < ends_at, self.told()
            await asyncio.sleep(0.25)

    def told(self) -> list[str]:
        return [type(record.fact).__name__ for record in self.journal.read(0, 1_000_000)]


def live(
    story: Callable[[Ground], Awaitable[None]],
    *,
    engine: type[TwinEngine] = TwinEngine,
    settings: MachineSettings | None = None,
    node: str = "",
    lock: Path | None = None,
    hosts: tuple[str, ...] = ("alpha", "beta"),
) -> Ground:
    """Live through a story, with all hosts registered. Gives back what is left after its end."""
    loop = SimLoop()

    async def whole() -> Ground:
        ground = Ground(loop, engine, settings or MachineSettings(), node, lock, hosts)
        try:
            await ground.plane.start()
            for number, name in enumerate(ground.platform.names):
                await ground.do(c.RegisterHost(name, "twin", number, number, 10))
            await story(ground)
        finally:
            await ground.plane.close()
        invariants.check(ground.plane.region)
        return ground

    try:
        return loop.run_until_complete(whole())
    finally:
        loop.strands.kernel.kill()
        loop.close()


async def restarted(ground: Ground, *names: str) -> None:
    await ground.do(c.RestartVms(names, "seed/restart"))
    await ground.until(lambda: not ground.region.errands)


def deeds(ground: Ground, ref: str = "") -> list[str]:
    return [deed.call.value for deed in ground.platform.deeds if ref in ("", deed.ref)]


def health_of(ground: Ground, name: str) -> HostHealth:
    host = ground.region.real_host(name)
    assert host is not None
    return host.health
