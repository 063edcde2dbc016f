"""Several planes on one store, and what tests ask of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.plane.clock import RealClock
from forewarn.plane.plane import Plane
from forewarn.plane.system import SYSTEM, Pace, ServerSystem
from forewarn.stores.shared_memory import MemoryNodeJournal, SharedMemory
from tests.unit.plane.bench import NOON, OPERATOR, WatchedEngine

QUICK = timedelta(milliseconds=200)  # so that a node looks twenty times a second


class House:
    """A store whose clock is turned by hand, and the nodes that live on it."""

    def __init__(self) -> None:
        self.now = NOON
        self.store = SharedMemory(lambda: self.now, patience_seconds=0.2)
        self.engines: list[WatchedEngine] = []

    @asynccontextmanager
    async def node(
        self, rules: Rules | None = None, staleness: timedelta = QUICK, system: ServerSystem = SYSTEM
    ) -> AsyncIterator[Plane]:
        engine = WatchedEngine()
        self.engines.append(engine)
        pace = Pace(staleness=staleness, retry_seconds=0.01)
        plane = Plane.open(self.store.join(), RealClock, engine, rules or Rules(), system=system, pace=pace)
        await plane.start()
        try:
            yield plane
        finally:
            await plane.close()

    @property
    def begun(self) -> list[str]:
        return [event_id for engine in self.engines for event_id, _ in engine.begun]

    def facts(self, kind: type[f.Fact]) -> list[f.Fact]:
        return [record.fact for record in self.store.journal.read(0, 1_000_000) if isinstance(record.fact, kind)]


def journal_of(plane: Plane) -> MemoryNodeJournal:
    assert isinstance(plane.journal, MemoryNodeJournal)
    return plane.journal


async def create(plane: Plane, *names: str) -> None:
    await plane.submit(c.CreateVms(names, VmSpec(), f"seed of {names[0]}"), OPERATOR)


async def restart(plane: Plane, name: str) -> str:
    facts = await plane.submit(c.RestartVms((name,), f"restart of {name}"), OPERATOR)
    return next(fact.event.id for fact in facts if isinstance(fact, f.EventScheduled | f.EventBornStarted))
