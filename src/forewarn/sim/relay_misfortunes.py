"""What goes wrong with relays. It has dice of its own: a plan without relays throws none of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from random import Random

from forewarn.sim.plan import Misfortune
from forewarn.sim.relays import SimRelay
from forewarn.sim.world import World

_EVERY_SECONDS = 3600.0  # ours: for each kind, all relays together

Strike = Callable[[World, SimRelay, Random], Awaitable[None]]


async def strike_relays(world: World) -> None:
    """Strike relays until canceled. What is cut then is mended where the network is healed at the end."""
    await asyncio.gather(*(_strike_on(world, kind, _STRIKES[kind]) for kind in world.plan.faults if kind in _STRIKES))


async def _strike_on(world: World, kind: Misfortune, strike: Strike) -> None:
    random = world.random(f"faults/relays/{kind}")
    while True:
        await asyncio.sleep(random.expovariate(world.plan.pace / _EVERY_SECONDS))
        await strike(world, random.choice([*world.relays.values()]), random)


async def _kill(world: World, relay: SimRelay, random: Random) -> None:
    relay.kill()


async def _cut(world: World, relay: SimRelay, random: Random) -> None:
    """Cut a relay from its nodes, not from its VMs. These see the same as with a store out of reach."""
    seconds = random.choice((3.0, 60.0, 300.0)) * random.uniform(0.5, 1.5)
    world.mishap(Misfortune.STORE, f"{relay.place} is cut off from its nodes", seconds, ())
    world.network.cut(relay.line)
    await asyncio.sleep(seconds)
    world.network.mend(relay.line)


async def _reset(world: World, relay: SimRelay, random: Random) -> None:
    world.mishap(Misfortune.STORE, f"the connections of {relay.place} to its nodes are reset", 1.0, ())
    world.network.reset_all(relay.line)


async def _set_clock(world: World, relay: SimRelay, random: Random) -> None:
    """It goes by the region's time, so that this must have no effect."""
    step = timedelta(seconds=round(random.uniform(-3600.0, 3600.0), 3))
    world.mishap(Misfortune.CLOCK, f"the clock of {relay.place} is set by {step.total_seconds():+g} s", 1.0, ())
    world.skews[relay.place] = step


_STRIKES: dict[Misfortune, Strike] = {
    Misfortune.CRASH: _kill,
    Misfortune.STORE: _cut,
    Misfortune.LOSS: _reset,
    Misfortune.CLOCK: _set_clock,
}
