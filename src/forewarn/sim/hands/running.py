"""One simulation of hands from its beginning to its end: build, live with faults, heal, come to rest, look at all."""

from __future__ import annotations

import asyncio

from forewarn.sim.fabric.loop import SimLoop
from forewarn.sim.hands.life import Askers, Troubles
from forewarn.sim.hands.plan import HandsOutcome, HandsPlan
from forewarn.sim.hands.world import HandsWorld
from forewarn.sim.running import collector_on_time, listening_to

_HOUR = 3600.0  # in seconds
_REST_SECONDS = 6 * _HOUR  # ours: errands come back once a minute at least, so this is plenty
_QUIET_SECONDS = 30.0  # three listings


def simulate_hands(plan: HandsPlan) -> HandsOutcome:
    """Live through a plan."""
    loop = SimLoop()
    with collector_on_time():
        world = HandsWorld(plan, loop)
        with listening_to(world.blame):
            try:
                loop.run_until_complete(_live(world))
            finally:
                _end(world)
    return HandsOutcome(plan, tuple(world.violations), dict(sorted(world.judge.counts.items())), world.digest)


async def _live(world: HandsWorld) -> None:
    life = world.loop.create_task(_story(world))
    await asyncio.wait([life, world.stopped], return_when=asyncio.FIRST_COMPLETED)
    if life.done():
        life.result()
    life.cancel()
    await asyncio.gather(life, return_exceptions=True)


async def _story(world: HandsWorld) -> None:
    askers, troubles = Askers(world), Troubles(world)
    for node in world.nodes:
        node.boot()
    await asyncio.sleep(5.0)
    await askers.build()
    works = [world.loop.create_task(life) for life in (askers.live(), troubles.live())]
    await asyncio.wait(works, timeout=world.plan.hours * _HOUR, return_when=asyncio.FIRST_EXCEPTION)
    for work in works:
        if work.done():
            work.result()
        work.cancel()
    await asyncio.gather(*works, return_exceptions=True)
    troubles.heal()
    await _rest(world, askers)


async def _rest(world: HandsWorld, askers: Askers) -> None:
    """No new trouble: what was begun ends, and then every machine is as the region says."""
    ends_at = world.elapsed + _REST_SECONDS
    while (found := _unsettled(world)) is not None:
        if world.elapsed > ends_at:
            subject, why = found
            world.blame("liveness", f"{_REST_SECONDS / _HOUR:g} hours after the last fault, {why}", subject)
            return
        await asyncio.sleep(60.0)
        await askers.start_all()
    await asyncio.sleep(_QUIET_SECONDS)
    if _unsettled(world) is None:
        world.judge.look_at_all(world.truth)


def _unsettled(world: HandsWorld) -> tuple[str, str] | None:
    """What has not come to its end yet: whose story that is, and a sentence."""
    errands, events = world.truth.errands.values(), world.truth.events.values()
    if errands:
        found = min(errands, key=lambda each: (each.errand.made_at, each.errand.id))
        subject = found.errand.event or f"vm/{found.errand.vm}"
        return subject, f"{len(world.truth.errands)} errands are open, the oldest is {found}"
    if events:
        event = min(events, key=lambda each: (each.scheduled_at, each.id))
        return event.id, f"{len(world.truth.events)} events are open, the oldest is {event}"
    return None


def _end(world: HandsWorld) -> None:
    """Let go of everything: no task, no strand of it is left."""
    for node in world.nodes:
        node.died = lambda node: None
        node.kill()
    world.hub.kernel.kill()
    world.loop.end()
