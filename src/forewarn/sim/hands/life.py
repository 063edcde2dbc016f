"""Those who ask for things, and all that goes wrong with engines, hosts, machines and nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.machines.values import MachinePower, SeenWhy
from forewarn.core.region import DOWN, fold
from forewarn.core.specs import VmSpec
from forewarn.engines.twin.hosts import TwinCall, TwinMisfortune, TwinMishap
from forewarn.sim.fabric.store import Fate
from forewarn.sim.hands.world import HandsWorld

# Ours: often enough that what is asked for meets what goes wrong, and seldom enough that something gets done
_ASK_SECONDS, _STRIKE_SECONDS = 90.0, 120.0
_TRIES = 100  # ours: longer than any node is away
_CAUSES = (Cause.FREEZE, Cause.LIVE_MIGRATION, Cause.REBOOT, Cause.NETWORK)
_SPEC = VmSpec(engine="twin", blueprint="small")
_LISTED = (TwinMishap.INCOMPLETE, TwinMishap.LIES)
_CALLED = tuple(mishap for mishap in TwinMishap if mishap not in _LISTED)


class Askers:
    """People and a platform: each thing that can be asked of a real machine."""

    def __init__(self, world: HandsWorld) -> None:
        self._world, self._random, self._made = world, world.random("people"), 0

    async def build(self) -> None:
        """Hosts are registered, and about half of the machines adopted; the others are created."""
        world = self._world
        for number, name in enumerate(world.host_names):
            room = world.plan.machines
            await self._insist(c.RegisterHost(name, "twin", number % 2, number % 3, room))
        for number in range(world.plan.machines // 2):
            host = self._random.choice(world.host_names)
            machine = world.platform.put(f"m-{number}", host, vm=f"m-{number}")
            await self._insist(c.AdoptMachine(f"m-{number}", VmSpec(), f"s-{number}", host, machine.ref, machine.mark))
        while len(world.truth.vms) < world.plan.machines:
            await self._create()
            await asyncio.sleep(5.0)

    async def live(self) -> None:
        while True:
            await asyncio.sleep(self._random.expovariate(1 / _ASK_SECONDS))
            often = (self._power, self._power, self._power, self._maintain, self._maintain)
            await self._random.choice((*often, self._create, self._delete, self._move, self._release))()

    async def _insist(self, command: c.Command) -> None:
        for _ in range(_TRIES):
            if await self._ask(command):
                return
            await asyncio.sleep(10.0)

    async def _ask(self, command: c.Command) -> bool:
        return await self._world.ask(command, self._random.choice(self._world.nodes))

    def _names(self, most: int) -> tuple[str, ...]:
        found = sorted(self._world.truth.vms)
        return tuple(self._random.sample(found, min(len(found), self._random.randint(1, most))))

    async def _power(self) -> None:
        names, seed = self._names(3), f"p-{self._world.elapsed}"
        orders: tuple[c.Command, ...] = (
            c.RestartVms(names, seed),
            c.RestartVms(names, seed),
            c.RedeployVms(names, seed),
            c.ReimageVms(names, seed),
            c.StopVms(names),
            c.DeallocateVms(names),
        )
        await self._ask(self._random.choice(orders))
        await self.start_all()

    async def start_all(self) -> None:
        down = sorted(key for key, vm in self._world.truth.vms.items() if vm.power in DOWN)
        for key in down:
            await self._ask(c.StartVms((key,)))

    async def _maintain(self) -> None:
        host, cause = self._random.choice(self._world.host_names), self._random.choice(_CAUSES)
        await self._ask(c.MaintainHosts((host,), cause, f"h-{self._world.elapsed}"))

    async def _create(self) -> None:
        if len(self._world.truth.vms) < 2 * self._world.plan.machines:
            self._made += 1
            await self._ask(c.CreateVms((f"c-{self._made}",), _SPEC, f"c-{self._world.elapsed}"))

    async def _delete(self) -> None:
        if len(self._world.truth.vms) > self._world.plan.machines // 2:
            await self._ask(c.DeleteVms(self._names(1), f"d-{self._world.elapsed}"))

    async def _release(self) -> None:
        """Let go of a machine in the middle of something, and adopt it again if it runs."""
        for name in self._names(1):
            await self._ask(
                self._random.choice((c.RestartVms((name,), f"l-{self._world.elapsed}"), self._freeze(name)))
            )
            await asyncio.sleep(self._random.uniform(0.0, 10.0))
            machine = self._world.truth.machines.get(name)
            if machine is None or not await self._ask(c.ReleaseMachine(name)):
                continue
            copies = self._world.platform.copies(machine.ref)
            if [each.power for each in copies] == [MachinePower.RUNNING]:
                (copy,) = copies
                seed = f"a-{self._world.elapsed}"
                await self._ask(c.AdoptMachine(name, VmSpec(), seed, copy.host, copy.ref, copy.mark))

    def _freeze(self, name: str) -> c.Command:
        machine = self._world.truth.machines.get(name)
        host = self._world.host_names[0] if machine is None else machine.host
        return c.MaintainHosts((host,), Cause.FREEZE, f"f-{self._world.elapsed}")

    async def _move(self) -> None:
        """Move a machine by hand, and ask for something before anybody can have listed it there."""
        platform, hosts = self._world.platform, healthy(self._world)
        running = [key for key, each in sorted(platform.machines.items()) if each.power is MachinePower.RUNNING]
        running = [(host, ref) for host, ref in running if host in hosts and is_known(self._world, ref)]
        if len(hosts) < 2 or not running:
            return
        host, ref = self._random.choice(running)
        free = [name for name in hosts if (name, ref) not in platform.machines]
        if free:
            platform.hints = self._random.choice(("given", "lost"))
            platform.move(ref, host, self._random.choice(free))
        names = tuple(key for key, each in self._world.truth.machines.items() if each.ref == ref)
        seed = f"m-{self._world.elapsed}"
        if names:
            await self._ask(self._random.choice((c.RestartVms(names, seed), c.RedeployVms(names, seed))))


def is_known(world: HandsWorld, ref: str) -> bool:
    """Whether the region has seen the machine: nobody moves one that is still being made."""
    return any(each.ref == ref for each in world.truth.machines.values())


def healthy(world: HandsWorld) -> list[str]:
    """Hosts that answer, and that the region counts on: nobody moves a machine from or to others."""
    hosts = ((name, world.truth.real_host(fold(name))) for name in world.host_names)
    silent = world.platform.silent
    return [name for name, host in hosts if host is not None and host.is_healthy and name not in silent]


class Troubles:
    """Strikes until ``heal`` is called."""

    def __init__(self, world: HandsWorld) -> None:
        self._world = world
        self._strikes: tuple[Callable[[Random], Awaitable[None]], ...] = (
            self._call,
            self._call,
            self._list,
            self._machine,
            self._machine,
            self._host,
            self._node,
            self._store,
        )

    async def live(self) -> None:
        random = self._world.random("troubles")
        while True:
            await asyncio.sleep(random.expovariate(1 / _STRIKE_SECONDS))
            await random.choice(self._strikes)(random)

    def heal(self) -> None:
        world = self._world
        world.platform.misfortunes.clear()
        world.platform.hints = "given"
        world.platform.let_go()
        world.fences_work = True
        for host in sorted(world.platform.silent):
            world.platform.answer(host)
        for node in world.nodes:
            node.handle.fates.clear()
            node.handle.cut = False

    async def _call(self, random: Random) -> None:
        """Hung calls come back soon or after half an hour; slow ones within the engine's time."""
        for _ in range(random.randint(1, 3)):
            mishap = random.choice(_CALLED)
            seconds = random.choice((5.0, 20.0, 2000.0)) if mishap is not TwinMishap.SLOW else random.uniform(1.0, 25.0)
            call = random.choice(("", "", *(each for each in TwinCall if each is not TwinCall.LIST)))
            self._world.platform.misfortunes.append(TwinMisfortune(mishap, call, seconds=seconds))

    async def _list(self, random: Random) -> None:
        fate = TwinMisfortune(random.choice(_LISTED), TwinCall.LIST, random.choice(self._world.host_names))
        self._world.platform.misfortunes.append(fate)
        self._world.platform.hints = random.choice(("lost", "doubled", "late"))

    async def _machine(self, random: Random) -> None:
        """It crashes, is shut down from inside, restarts itself, or is paused, moved or removed by hand."""
        platform = self._world.platform
        running = sorted(key for key, each in platform.machines.items() if each.power is MachinePower.RUNNING)
        if not running:
            return
        host, ref = random.choice(running)
        hosts = healthy(self._world)
        free = [name for name in hosts if (name, ref) not in platform.machines]
        luck = random.random()
        if luck < 0.3:
            platform.end(ref, SeenWhy.CRASH)
        elif luck < 0.45:
            platform.end(ref, SeenWhy.GUEST)
        elif luck < 0.6:
            platform.boot(ref, host)
        elif luck < 0.75:
            platform.machines[host, ref].power = MachinePower.PAUSED
        elif luck < 0.95 and free and host in hosts and is_known(self._world, ref):
            platform.move(ref, host, random.choice(free))
        elif not platform.silent:
            platform.drop(ref, host)

    async def _host(self, random: Random) -> None:
        """One falls silent, with or without its power, and comes back sooner or later; the fence may not work."""
        world = self._world
        answering = [name for name in world.host_names if name not in world.platform.silent]
        if len(answering) < 3:
            return
        host = random.choice(answering)
        world.fences_work = random.random() < 0.7
        world.platform.fall_silent(host, power_lost=random.random() < 0.3)
        await asyncio.sleep(random.choice((10.0, 50.0, 100.0, 400.0)))
        if random.random() < 0.3:  # it starts what it had by itself
            for ref in sorted(ref for name, ref in world.platform.machines if name == host):
                if world.platform.machines[host, ref].power is MachinePower.OFF and self._is_lost(host):
                    world.platform.boot(ref, host)
        world.platform.answer(host)

    def _is_lost(self, host: str) -> bool:
        found = self._world.truth.real_host(fold(host))
        return found is not None and found.health.value == "fenced"

    async def _node(self, random: Random) -> None:
        node = random.choice(self._world.nodes)
        how = random.choice((None, Fate.DIES_BEFORE, Fate.DIES_AFTER))
        if how is None:
            node.kill()
        else:
            node.handle.fates.append(how)

    async def _store(self, random: Random) -> None:
        """A node cannot write, or is cut off from the store for longer than a lead lasts: another one leads then."""
        handle = random.choice(self._world.nodes).handle
        if random.random() < 0.4:
            handle.fates.extend([Fate.FAILS] * random.randint(1, 5))
            return
        handle.cut = True
        await asyncio.sleep(random.choice((5.0, 60.0, 200.0)))
        handle.cut = False
