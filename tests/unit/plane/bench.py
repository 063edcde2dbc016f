"""A plane in a test's hands: a journal that fails on demand, a clock that is turned, an engine that can be watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.invariants import region as invariants
from forewarn.core.region import Event, Region, Scope, fold
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.engines.simulated import SimulatedEngine
from forewarn.plane.clock import Clock, TurnableClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Entry, JournalFault, Origin, PretendedMachines, Record
from forewarn.plane.system import Pace
from forewarn.stores.memory import MemoryJournal, _Staged

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=seconds) for seconds in (1, 60, 3600, 86_400))
OPERATOR = Origin("operator", "test")


class ShakyJournal(MemoryJournal):
    """Its next ``failures`` writes fail: before anything is read, or (``late``) when the facts are handed over."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0
        self.late = False
        self.writes = 0
        self.before_head: Callable[[], object] = lambda: None
        self.before_commit: Callable[[], None] = lambda: None
        self.on_failure: Callable[[], None] = lambda: None
        self.snapshot_failures = 0

    @contextmanager
    def write(self) -> Iterator[_Staged]:
        self.writes += 1
        failing = self.failures > 0
        self.failures -= failing
        if failing:
            self.on_failure()
        if failing and not self.late:
            raise JournalFault("The disk is full; make room and try again.")
        self.before_head()
        with super().write() as staged:
            yield staged
            self.before_commit()
            if failing:
                raise JournalFault("The disk went away; look after it.")

    def snapshot(self, region: Region, seq: int) -> None:
        if self.snapshot_failures > 0:
            self.snapshot_failures -= 1
            raise JournalFault("There is no room for a snapshot.")
        super().snapshot(region, seq)


class WatchedEngine(SimulatedEngine):
    """Keeps what it was given; fails for as often as it is told; knows the end unless it is told not to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[tuple[str, datetime]] = []
        self.failures = 0
        self.knows = True
        self.on_begin: Callable[[Event], None] = lambda event: None

    def begin(self, event: Event, now: datetime) -> datetime | None:
        if self.failures > 0:
            self.failures -= 1
            raise RuntimeError("the hypervisor does not answer")
        self.begun.append((event.id, now))
        self.on_begin(event)
        return super().begin(event, now) if self.knows else None


class Bench:
    """A started plane and what stands around it."""

    def __init__(self, plane: Plane, journal: ShakyJournal) -> None:
        self.plane = plane
        self.journal = journal
        self._seeds = (f"seed-{number}" for number in count())

    async def do(self, command: c.Command) -> tuple[f.Fact, ...]:
        return await self.plane.submit(command, OPERATOR)

    async def create(self, *names: str, spec: VmSpec | None = None) -> None:
        await self.do(c.CreateVms(names, spec or VmSpec(), next(self._seeds)))

    async def reading(self, *names: str, spec: VmSpec | None = None) -> None:
        await self.create(*names, spec=spec)
        for name in names:
            await self.plane.enable(self.plane.region.vms[fold(name)])

    async def restart(self, name: str) -> str:
        facts = await self.do(c.RestartVms((name,), next(self._seeds)))
        (event_id,) = [fact.event.id for fact in facts if isinstance(fact, f.EventScheduled | f.EventBornStarted)]
        return event_id

    async def approve(self, event_id: str) -> None:
        await self.do(c.Approve((event_id,), "test"))

    def scope(self, name: str) -> Scope:
        return self.plane.region.scope_of(self.plane.region.vms[name])

    def reads(self, name: str) -> None:
        """A poll that only the book hears of."""
        self.plane.read_by(self.plane.region.vms[name].name)

    def story(self, *skipped: type[f.Fact]) -> list[tuple[str, datetime]]:
        """What the journal tells: kinds of facts and their instants."""
        records = self.journal.read(0, 1_000_000)
        return [(type(each.fact).__name__, each.fact.at) for each in records if not isinstance(each.fact, skipped)]

    def expect_failure(self) -> asyncio.Event:
        """Set when the journal fails."""
        happened, loop = asyncio.Event(), asyncio.get_running_loop()

        def failed() -> None:
            loop.call_soon_threadsafe(happened.set)

        self.journal.on_failure = failed
        return happened

    def expect(self, kind: type[f.Fact]) -> asyncio.Event:
        """Set when a fact of that kind is published."""
        happened = asyncio.Event()

        def listen(_: Region, records: Sequence[Record]) -> None:
            if any(isinstance(record.fact, kind) for record in records):
                happened.set()

        self.plane.subscribe(listen)
        return happened


@asynccontextmanager
async def opened(
    journal: ShakyJournal | None = None,
    clock: Clock | None = None,
    engine: PretendedMachines | None = None,
    rules: Rules | None = None,
) -> AsyncIterator[Bench]:
    """A plane from start to close; what it leaves behind must hold."""
    journal = journal or ShakyJournal()
    chosen = clock or TurnableClock(NOON)
    plane = Plane.open(
        journal, lambda _: chosen, engine or SimulatedEngine(), rules or Rules(), pace=Pace(retry_seconds=0)
    )
    await plane.start()
    try:
        yield Bench(plane, journal)
    finally:
        await plane.close()
        invariants.check(plane.region)


def crashed(journal: ShakyJournal) -> ShakyJournal:
    """What is on disk when a process dies now: the facts, and no snapshot but the newest kept."""
    left = ShakyJournal()
    records = journal.read(0, 1_000_000)
    with left.write() as transaction:
        transaction.append(records_as_entries(records))
    return left


def records_as_entries(records: Sequence[Record]) -> list[Entry]:
    return [Entry(record.fact, record.command, record.origin) for record in records]
