"""Scopes whose programs are switched off for longer than a scope stays enabled, while long notices are open.

Not a fault: users stop their programs when they like. What was scheduled before, what is scheduled meanwhile, and
what the first read afterwards shows, is where an enabling ends and another begins.
"""

from __future__ import annotations

import asyncio

from forewarn.sim.people import People
from forewarn.sim.world import World

_HOUR = 3600.0  # in seconds
_SILENT_SECONDS = (24.2 * _HOUR, 31 * _HOUR)  # from just over the day after which a scope is disabled
_FIRST_WITHIN = 0.3  # ours: of all days, so that short plans have it, too
_EVERY_SECONDS = 20 * _HOUR  # ours: afterwards, where there are 200 VMs


class Silence:
    """Picks a scope, sees to it that something is ahead of it, and lets it fall silent."""

    def __init__(self, world: World, people: People) -> None:
        self._world, self._people = world, people
        self._random = world.random("silence")

    async def live(self) -> None:
        """Runs until its task is canceled. The first one comes early, so that every plan has one."""
        every = _EVERY_SECONDS * (200 / self._world.plan.vms) ** 0.5 / self._world.plan.pace**0.5
        await asyncio.sleep(self._random.uniform(600.0, max(1_200.0, _FIRST_WITHIN * self._world.plan.days * 86_400)))
        while True:
            await self._fall_silent()
            await asyncio.sleep(self._random.expovariate(1 / every))

    async def _fall_silent(self) -> None:
        scope = self._choose()
        if scope is None:
            return
        if self._random.random() < 0.7:
            await self._people.predict_failure(scope)
            await asyncio.sleep(self._random.uniform(1.0, 200.0))
        self._world.hush(scope, self._random.uniform(*_SILENT_SECONDS))

    def _choose(self) -> str | None:
        """Rather one that something is ahead of already; never more than a third of all."""
        memory, hushed = self._world.judge.oracle.memory, self._world.hushed
        if 3 * len(hushed) > len(memory.audiences):
            return None
        reading = sorted(key for key, each in memory.audiences.items() if each.reading and key not in hushed)
        awaited = {work.scope for work in memory.works.values() if work.pending and work.cause == "predicted-failure"}
        found = [key for key in reading if key in awaited] or reading
        return self._random.choice(found) if found else None
