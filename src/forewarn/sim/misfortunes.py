"""What goes wrong, and when. Each kind has a die of its own and can be left out without changing the others' throws."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from random import Random

from forewarn.core.refusal import Refused
from forewarn.sim.fabric.store import Fate
from forewarn.sim.nodes import SimNode
from forewarn.sim.plan import Misfortune
from forewarn.sim.world import World
from forewarn.web.faults import FaultKind, FaultRule

_HOUR = 3600.0  # in seconds
_EVERY_SECONDS = {
    Misfortune.CRASH: 1.5 * _HOUR,
    Misfortune.PARTITION: 1.5 * _HOUR,
    Misfortune.LOSS: 3 * _HOUR,
    Misfortune.SLOW: 4 * _HOUR,
    Misfortune.STORE: 2 * _HOUR,
    Misfortune.CLOCK: 5 * _HOUR,
    Misfortune.THROTTLE: 1.5 * _HOUR,
}
_FAULTY_ANSWERS = tuple(FaultKind)


class Misfortunes:
    """Injects faults until ``heal`` is called."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._strikes: dict[Misfortune, Callable[[Random], Awaitable[None]]] = {
            Misfortune.CRASH: self._crash,
            Misfortune.PARTITION: self._partition,
            Misfortune.LOSS: self._loss,
            Misfortune.SLOW: self._slow,
            Misfortune.STORE: self._store,
            Misfortune.CLOCK: self._clock,
            Misfortune.THROTTLE: self._throttle,
        }

    async def strike(self) -> None:
        """Runs until it is canceled by the task that started it, which then heals."""
        await asyncio.gather(*(self._strike(kind) for kind in self._world.plan.faults))

    async def _strike(self, kind: Misfortune) -> None:
        random, every = self._world.random(f"faults/{kind}"), _EVERY_SECONDS[kind] / self._world.plan.pace
        while True:
            await asyncio.sleep(random.expovariate(1 / every))
            await self._strikes[kind](random)

    def heal(self) -> None:
        """End every fault; what was killed comes back by itself."""
        world = self._world
        world.network.loss = world.network.slow_seconds = 0.0
        world.network.mend_all()
        world.disks.full.clear()
        world.leaps.clear()
        for server in world.servers:
            server.handle.fates.clear()
            server.handle.cut = False
            if server.faults is not None:
                server.faults.clear()
        for machine in world.machines.values():
            machine.programs.gentle = True
        world.trace.note(world.elapsed, "healed")

    # Choosing

    def _vms(self, random: Random, most: int) -> list[str]:
        """Rather those for whom something is scheduled."""
        vms = self._world.truth.vms
        busy = sorted(key for key, vm in vms.items() if vm.events)
        found = busy if busy and random.random() < 0.7 else sorted(vms)
        return random.sample(found, min(len(found), random.randint(1, most)))

    def _server(self, random: Random) -> SimNode:
        return random.choice(self._world.servers)

    # Strikes

    async def _crash(self, random: Random) -> None:
        luck = random.random()
        if luck < 0.2:
            server = self._server(random)
            how = random.choice((None, Fate.DIES_BEFORE, Fate.DIES_AFTER))
            if how is None:
                server.kill()
            else:
                server.handle.fates.append(how)
            return
        if luck < 0.8:
            for name in self._vms(random, 8):
                machine = self._world.machines.get(name)
                if machine is not None and machine.at_work:
                    machine.crash()
                    self._world.mishap("crash", f"the agent of {name} was killed", 60.0, (name,))
            return
        for name in self._vms(random, 3):
            machine = self._world.machines.get(name)
            if machine is not None and machine.on and self._world.truth.vms[name].power.value != "frozen":
                machine.power_off()
                machine.power_on()
                self._world.judge.eyes.restarted(name)
                self._world.mishap("crash", f"{name} panicked", 60.0, (name,))

    async def _partition(self, random: Random) -> None:
        seconds = random.choice((3.0, 30.0, 120.0, 900.0)) * random.uniform(0.5, 1.5)
        if random.random() < 0.2:
            place = self._server(random).place
            self._world.mishap("partition", f"{place} cannot be reached", seconds, ())
            await self._cut([place], seconds)
            return
        names = self._vms(random, 20)
        self._world.mishap("partition", f"{len(names)} VMs are cut off, {names[0]} among them", seconds, names)
        await self._cut(names, seconds)

    async def _cut(self, places: list[str], seconds: float) -> None:
        for place in places:
            self._world.network.cut(place)
        await asyncio.sleep(seconds)
        for place in places:
            self._world.network.mend(place)

    async def _loss(self, random: Random) -> None:
        network = self._world.network
        if random.random() < 0.4:
            names = self._vms(random, 30)
            self._world.mishap("loss", f"the connections of {len(names)} VMs are reset", 1.0, names)
            for name in names:
                network.reset_all(name)
            return
        seconds = random.uniform(60.0, 1800.0)
        self._world.mishap("loss", "packets are lost", seconds, ())
        network.loss = random.uniform(0.05, 0.4)
        await asyncio.sleep(seconds)
        network.loss = 0.0

    async def _slow(self, random: Random) -> None:
        seconds = random.uniform(60.0, 1800.0)
        self._world.mishap("slow", "the network is slow", seconds, ())
        self._world.network.slow_seconds = random.uniform(0.2, 6.0)
        await asyncio.sleep(seconds)
        self._world.network.slow_seconds = 0.0

    async def _store(self, random: Random) -> None:
        server, luck = self._server(random), random.random()
        if luck < 0.4:
            many = random.randint(1, 6)
            self._world.mishap("store", f"the next {many} writes of {server.place} fail", 60.0, ())
            handle = server.handle
            handle.fates.extend([Fate.FAILS] * many)
            await asyncio.sleep(60.0)
            while Fate.FAILS in handle.fates:  # the disk has room again
                handle.fates.remove(Fate.FAILS)
        elif luck < 0.6:
            name = self._vms(random, 1)[0]
            seconds = random.uniform(30.0, 900.0)
            self._world.mishap("store", f"the disk of {name} is full", seconds, (name,))
            self._world.disks.full.add(name)
            await asyncio.sleep(seconds)
            self._world.disks.full.discard(name)
        elif self._world.store.shared and luck < 0.75:
            self._world.mishap("store", f"{server.place} does not learn what became of a commit", 60.0, ())
            server.handle.fates.append(Fate.UNTOLD)
        else:
            seconds = random.choice((5.0, 60.0, 300.0)) * random.uniform(0.5, 1.5)
            self._world.mishap("store", f"{server.place} is cut off from its store", seconds, ())
            handle = server.handle
            handle.cut = True
            await asyncio.sleep(seconds)
            handle.cut = False

    async def _clock(self, random: Random) -> None:
        """Servers of one region and their store may disagree; a guest may be wrong by minutes."""
        if random.random() < 0.25:
            await self._leap(random)
            return
        step = timedelta(seconds=round(random.uniform(-150.0, 150.0), 3))
        place = self._server(random).place if random.random() < 0.5 else self._vms(random, 1)[0]
        self._world.mishap("clock", f"the clock of {place} is set by {step.total_seconds():+g} s", 300.0, ())
        self._world.skews[place] = step

    async def _leap(self, random: Random) -> None:
        """Set a server's clock ahead by hours, for a moment: too short to be believed, so it must have no effect."""
        place, seconds = self._server(random).place, random.uniform(5.0, 40.0)
        leap = timedelta(hours=random.uniform(1.0, 6.0))
        self._world.mishap("clock", f"the clock of {place} is {leap} ahead for a moment", seconds, ())
        self._world.leaps[place] = leap
        await asyncio.sleep(seconds)
        self._world.leaps.pop(place, None)

    async def _throttle(self, random: Random) -> None:
        server, names = self._server(random), tuple(self._vms(random, 20))
        kind = random.choice(_FAULTY_ANSWERS)
        delay = random.uniform(0.5, 90.0) if kind is FaultKind.DELAY else 0.0
        share, seconds = random.uniform(0.2, 1.0), random.uniform(10.0, 400.0)
        faults = server.faults
        if faults is None:
            return
        with suppress(Refused):
            rule = faults.add(FaultRule(kind, vms=names, share=share, delay_seconds=delay))
            self._world.mishap("throttle", f"{len(names)} VMs get '{kind}' for answers", seconds + 120.0, names)
            await asyncio.sleep(seconds)
            faults.clear(rule.id)
