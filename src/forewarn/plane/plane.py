"""The control plane: what faces and servers use of it. Each part has its module; this one puts them together.

A command goes in by ``submit`` and is on disk when that returns (``writing``). Readers see ``region``, the last state
that was published. Time passes (``ticking``), impacts begin (``impacts``, ``hands``) and reads are kept by themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from forewarn.core.commands import Command, Pulse, Tick
from forewarn.core.facts import Fact
from forewarn.core.region import Region, Vm
from forewarn.core.rules import Rules
from forewarn.plane.clock import Clock, ClockFrom
from forewarn.plane.editing import Editing
from forewarn.plane.following import Follower
from forewarn.plane.forecasting import Forecasts
from forewarn.plane.hands.hands import Hands
from forewarn.plane.hands.settings import NO_MACHINES, Machines
from forewarn.plane.impacts import Impacts
from forewarn.plane.membership import Membership
from forewarn.plane.ports import CLOCK, Journal, Origin, PretendedMachines, Published
from forewarn.plane.read_models.keeping import ReadModels
from forewarn.plane.reads import VM, Pulses, ReadBook
from forewarn.plane.snapshots import Snapshots
from forewarn.plane.standing import Standing
from forewarn.plane.system import PACE, SYSTEM, Pace, ServerSystem
from forewarn.plane.ticking import Ticking, Turning
from forewarn.plane.writer import Loaded, Writer, load
from forewarn.plane.writing import Listener, Writing


class Plane:
    """Reads are free and never wait: ``region`` is the last published state. Writes go through ``submit``.

    Where the journal is shared, this is one node of a region: it follows what the others write, and one of them all
    leads: it lets time pass, begins impacts, keeps snapshots. ``standing`` tells whether it is current and whether it
    leads, ``membership`` which nodes there are.
    """

    def __init__(
        self,
        journal: Journal,
        loaded: Loaded,
        clock: Clock,
        engine: PretendedMachines,
        rules: Rules,
        system: ServerSystem,
        pace: Pace,
        machines: Machines,
    ) -> None:
        shared, self.reads, self._pace = journal.shared, ReadBook(), pace
        self.journal, self.clock, self.rules, self.system = journal, clock, rules, system
        many, lease = shared is not None, pace.lease_seconds
        self.standing = Standing(shared=many, staleness=pace.staleness, lease_seconds=lease, elapsed=system.elapsed)
        self.snapshots = Snapshots(journal, loaded.snapshot_seq, pace.snapshot_facts, system.elapsed)
        self._impacts = Impacts(engine, self.standing)
        self.forecasts = Forecasts(engine, rules, self.reads, system.elapsed)
        writer = Writer(journal, loaded, rules, clock.now, self.reads, system.elapsed)
        self._writing = Writing(writer, self.snapshots, self._impacts, self.standing, clock.now, system, pace)
        self.membership = Membership(shared, self.standing, lambda: self.seq, rules, system, pace)
        self.hands = Hands(machines, self._writing, self.standing, clock.now, system, self.membership.present)
        self.published: Published = self._writing  # ``region`` and ``seq``, without a call
        self.ticking = Ticking(self._writing, clock, self.standing, journal, pace.watch_seconds)
        self.tally, self._turning = self._writing.tally, Turning(self._writing, clock, self.snapshots)
        self._pulses = Pulses(self.reads, clock, self.standing, rules.disable_after, shared=many)
        parts = (self._writing, self.standing, self.ticking.agree, system, pace)
        self._follower = Follower(journal, shared, *parts) if shared is not None else None
        self.editing, self.read_models = Editing(shared, self.refresh), ReadModels(self.published, system.elapsed)
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    def open(
        cls,
        journal: Journal,
        clock_from: ClockFrom,
        engine: PretendedMachines,
        rules: Rules,
        *,
        system: ServerSystem = SYSTEM,
        pace: Pace = PACE,
        machines: Machines = NO_MACHINES,
    ) -> Plane:
        """Read a journal to its end, which blocks and may take long, and be ready to ``start``.

        ``clock_from`` makes the clock from the instant of the last fact, so that time never goes back. ``close`` closes
        the journal too; where this raises, the caller has to.
        """
        loaded = load(journal)
        return cls(journal, loaded, clock_from(loaded.region.latest_at), engine, rules, system, pace, machines)

    async def start(self) -> None:
        """Take up what an earlier run left: impacts that were under way, and what has fallen due since."""
        writing, retry_seconds = self._writing, self._pace.retry_seconds
        self._tasks = [asyncio.create_task(writing.write_on())]
        if self._follower is not None:
            await self.membership.look()
            await self._follower.start()
            self._tasks.append(asyncio.create_task(self._follower.follow()))
            self._tasks.append(asyncio.create_task(self._pulses.keep_on(writing)))
        else:
            self._impacts.take_up(self.region)
        works = [*self.hands.start(), self.ticking.tick_on(), self._pulses.pulse_on(writing)]
        works += [self._impacts.retry_on(writing, retry_seconds), self.membership.announce_on()]
        self._tasks += [asyncio.create_task(work) for work in works]
        if self.standing.leads:
            await self.submit(Tick(), CLOCK)
            await writing.settled()

    async def close(self) -> None:
        """Finish what is queued, keep the latest reads and a snapshot, and let go of the journal."""
        await self.hands.close()
        if self._tasks:
            last = [self._writing.enqueue(pulse, VM) for pulse in self._pulses.last(self.region)]  # behind all else
            if self._turning.is_ahead_of_facts():
                last.append(self._writing.enqueue(Tick(moved=True), CLOCK))
            self.standing.closing = True
            await asyncio.gather(*last, return_exceptions=True)
            await self._writing.settled()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self.membership.withdraw()
        await self.read_models.close()
        await self.snapshots.close(self.region, self.seq if self.standing.leads else 0)
        if self._follower is not None:
            self._follower.close()
        self.editing.close()
        self._writing.close()
        self.journal.close()

    # The region

    @property
    def region(self) -> Region:
        """The last published state, a value that never changes."""
        return self._writing.region

    @property
    def seq(self) -> int:
        """The number of the last record that ``region`` knows."""
        return self._writing.seq

    async def submit(self, command: Command, origin: Origin) -> tuple[Fact, ...]:
        """Carry out a command. What this returns is on disk.

        ``Refused`` and ``JournalFault`` mean that nothing changed; after ``Uncertain`` it may have or not.
        """
        self.standing.check()
        self.editing.check()
        return await self._writing.enqueue(command, origin)

    def rehearse(self, region: Region, command: Command) -> tuple[Region, tuple[Fact, ...]]:
        """What ``submit`` would lead to, or ``Refused``; nothing is written or published. It may take a while."""
        self.standing.check()
        return self._writing.rehearse(region, command)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` on the loop after each publication, with the new records. Returns how to end that."""
        return self._writing.subscribe(listener)

    # Reads as a sign of life

    def read_by(self, name: str) -> datetime:
        """Note that a VM has read, and when. Costs a dictionary entry; the journal hears of it once an hour at most."""
        at = self.reads.last[name] = self.clock.lately()
        return at

    async def enable(self, vm: Vm, request_id: str = "") -> None:
        """The first read of a scope: from here on its events wait."""
        await self.submit(Pulse(((vm.key, self.clock.now()),)), Origin("vm", vm.name, request_id))

    # Time

    def now(self) -> datetime:
        return self.clock.now()

    def set_speed(self, speed: float) -> None:
        """How fast a turnable clock runs; 0 makes it stand still."""
        self.clock.set_speed(speed)
        self.ticking.look_again()

    async def advance(self, to: datetime, origin: Origin = CLOCK) -> None:
        """Move a turnable clock, stopping at every instant at which something happens on the way."""
        await self._turning.advance(to, origin)

    async def advance_to_next(self, origin: Origin = CLOCK) -> datetime | None:
        """Move a turnable clock to the next change. None where nothing is due."""
        return await self._turning.advance_to_next(origin)

    # One node among others

    async def refresh(self) -> None:
        """Know what others have written until now. ``JournalFault`` where the store does not answer."""
        if self._follower is not None:
            await self._follower.refresh()
