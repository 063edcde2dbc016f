"""One simulation from its beginning to its end: build, live with faults, heal, come to rest."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import threading  # noqa: TID251 - only the real main thread hears Ctrl-C
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from types import FrameType

from forewarn.sim.circumstances import Blame
from forewarn.sim.fabric.loop import SimLoop
from forewarn.sim.misfortunes import Misfortunes
from forewarn.sim.people import People
from forewarn.sim.plan import SimulationPlan, Violation
from forewarn.sim.relay_misfortunes import strike_relays
from forewarn.sim.silence import Silence
from forewarn.sim.strangers import Strangers
from forewarn.sim.telling.trace import Trace
from forewarn.sim.world import InnerFaults, World, is_settled, quiet_loggers
from forewarn.testing.picture.history import History

DAY = 86_400.0  # in seconds
_LOOK_SECONDS = 1800.0  # ours: between two looks whether all has come to rest
_REST_SECONDS = 2.5 * DAY  # longer than the longest notice here (LONG_NOTICE, 36 hours) and a day of silence
_COLLECT_EVERY = 4  # words
_TELL_SECONDS = 3 * 3600.0  # ours: of virtual time between two words of progress

Progress = Callable[[World, str], None]


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    """How it went."""

    plan: SimulationPlan
    violations: tuple[Violation, ...]
    history: History
    counts: dict[str, int]
    digest: str
    facts: int
    virtual_seconds: float
    wall_seconds: float
    cpu_seconds: float
    interrupted: bool


def simulate(plan: SimulationPlan, trace: Trace, tell: Progress = lambda world, phase: None) -> SimulationOutcome:
    """Live through a plan."""
    began, cpu = _spent()
    loop = SimLoop()
    with collector_on_time():
        world = World(plan, loop, trace)
        with (
            listening_to(world.blame),
            _stopped_by_ctrl_c(world),
        ):
            try:
                loop.run_until_complete(_live(world, tell))
            finally:
                _end(world)
    ended, cpu_at_end = _spent()
    counts = {**world.history.counts, **world.judge.counts}
    return SimulationOutcome(
        plan,
        tuple(world.violations),
        world.history,
        counts,
        trace.end(),
        world.store.memory.head(),
        world.elapsed,
        ended - began,
        cpu_at_end - cpu,
        world.interrupted,
    )


def _spent() -> tuple[float, float]:
    """Real seconds, and those of the processor: for people who wait. Nothing in the simulation depends on them."""
    return time.perf_counter(), time.process_time()  # noqa: TID251 - what a run has cost is told at its end


async def _live(world: World, tell: Progress) -> None:
    """To the end, or to the first thing that is wrong."""
    life = world.loop.create_task(_story(world, tell))
    await asyncio.wait([life, world.stopped], return_when=asyncio.FIRST_COMPLETED)
    if life.done():
        life.result()
    life.cancel()
    await asyncio.gather(life, return_exceptions=True)


async def _story(world: World, tell: Progress) -> None:
    people, misfortunes = People(world), Misfortunes(world)
    for server in world.servers:
        server.boot()
    await asyncio.sleep(5.0)
    for relay in world.relays.values():
        relay.boot()
    await people.build()
    telling = world.loop.create_task(_tell_on(world, tell))
    lives = [people.live(), misfortunes.strike(), Strangers(world).live(), Silence(world, people).live()]
    if world.relays:
        lives.append(strike_relays(world))
    works = [world.loop.create_task(life) for life in lives]
    try:
        await asyncio.wait(works, timeout=world.plan.days * DAY, return_when=asyncio.FIRST_EXCEPTION)
        for work in works:
            if work.done():
                work.result()
    finally:
        for work in (*works, telling):
            work.cancel()
    await asyncio.gather(*works, telling, return_exceptions=True)
    misfortunes.heal()
    tell(world, "healed")
    await _rest(world, people)


async def _rest(world: World, people: People) -> None:
    """No new trouble: what was begun ends, and every VM that exists is in service."""
    ends_at = world.elapsed + _REST_SECONDS
    while why := is_settled(world):
        if world.elapsed > ends_at:
            world.blame("liveness", f"{_REST_SECONDS / DAY:g} days after the last fault, {why}", "")
            return
        await people.tidy()
        await asyncio.sleep(_LOOK_SECONDS)
        world.check_strands()
    world.judge.look_at_all(world.truth.latest_at or world.now())
    for problem in world.store.memory.verify():
        world.blame("journal", problem, "")
    for server in world.servers:
        if server.plane is not None and (server.plane.seq, server.plane.region.events) != (
            world.store.memory.head(),
            world.truth.events,
        ):
            world.blame("nodes", f"{server.place} does not know what the journal says", "")
    for relay in world.relays.values():
        if relay.relay is not None and (why := relay.unlike(world.truth)):
            world.blame("relays", f"{relay.place} does not know what the journal says: {why}", "")


async def _tell_on(world: World, tell: Progress) -> None:
    for turn in count(1):
        tell(world, "living")
        await asyncio.sleep(_TELL_SECONDS)
        world.check_strands()
        if turn % _COLLECT_EVERY == 0:
            gc.collect()


def _end(world: World) -> None:
    """Kill and cancel everything, so that no task and no strand is left."""
    for server in world.servers:
        server.died = lambda server: None
        server.kill()
    for relay in world.relays.values():
        relay.died = lambda relay: None
        relay.kill()
    for machine in world.machines.values():
        machine.power_off()
    world.hub.kernel.kill()
    world.loop.end()


@contextmanager
def _stopped_by_ctrl_c(world: World) -> Iterator[None]:
    """The first one ends the simulation between two of its moves, wherever it is; a second one ends everything."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        world.loop.call_soon(world.interrupt)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def listening_to(blame: Blame) -> Iterator[None]:
    """Silence the logs of servers and agents; an entry that should never be is a violation."""
    handler, loggers = InnerFaults(blame), quiet_loggers()
    before = [(logger, logger.level, logger.propagate, logger.handlers[:]) for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
            logger.propagate = False
            logger.handlers[:] = [handler]
        yield
    finally:
        for logger, level, propagate, handlers in before:
            logger.setLevel(level)
            logger.propagate = propagate
            logger.handlers[:] = handlers


@contextmanager
def collector_on_time() -> Iterator[None]:
    """Collect garbage at fixed instants of the simulation: what it closes is closed at the same time in every run."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
        gc.collect()
