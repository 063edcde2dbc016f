"""The control plane on an event loop: a queue before the writer, what readers see after it, and time passing."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from forewarn.core.commands import BeginImpact, Command, Pulse, Tick
from forewarn.core.facts import Fact
from forewarn.core.region import Region, Vm
from forewarn.core.rules import Rules
from forewarn.core.settle import is_behind, next_deadline
from forewarn.plane.clock import Clock, elapsed
from forewarn.plane.editing import Editing
from forewarn.plane.following import Follower
from forewarn.plane.impacts import Impacts
from forewarn.plane.membership import Membership, fresh_node
from forewarn.plane.ports import Diverged, Driver, Journal, JournalFault, Node, Origin, Record
from forewarn.plane.reads import ReadBook
from forewarn.plane.snapshots import Snapshots
from forewarn.plane.turning import CLOCK, Turning
from forewarn.plane.writer import Asked, Writer, Written

Listener = Callable[[Region, Sequence[Record]], None]

_log = logging.getLogger(__name__)
_DRIVER = Origin("driver")
_VM = Origin("vm")
_PULSE_EVERY = timedelta(hours=1)
_KEEP_EVERY = timedelta(seconds=10)
_BATCH_MOST = 1_000
_BATCH_FEW = 3  # where so much is due that each of them takes on as much of it as it may
_STALENESS = timedelta(seconds=10)
_NOT_YET_SECONDS = 0.25
_WATCH_SECONDS = 5.0

_Waiting = tuple[Asked, asyncio.Future[tuple[Fact, ...]]]


class Plane:
    """Reads are free and never wait: ``region`` is the last published state. Writes go through ``submit``.

    Where the journal is shared, this is one node of a region: it follows what the others write, and one of them all
    leads, which is to let time pass, to begin impacts and to keep snapshots.
    """

    retry_seconds = 1.0  # real ones, after something of ours has failed

    def __init__(
        self, journal: Journal, clock: Clock, driver: Driver, rules: Rules, *, staleness: timedelta = _STALENESS
    ) -> None:
        shared = journal.shared
        self.journal = journal
        self.clock = clock
        self.rules = rules
        self._writer = Writer(journal, rules, lambda: self.clock.now())
        self.region, self.seq = self._writer.region, self._writer.seq
        self._snapshots = Snapshots(journal, self._writer.loaded_seq)
        self._reads = ReadBook()
        self._listeners: list[Listener] = []
        self._queue: deque[_Waiting] = deque()
        self._hearers: list[asyncio.Future[None]] = []
        self._lined_up = asyncio.Event()
        self._published = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._current_until = math.inf if shared is None else -math.inf
        self._why_stale = f"This node has not heard from its store for {staleness.total_seconds():g} s."
        self._leads_until = math.inf if shared is None else -math.inf
        self.lost = asyncio.Event()  # the store has lost what this node has seen; nothing can go on from here
        self.editing = Editing(shared, self._know_everything)
        self._membership = Membership(shared, fresh_node(rules), lambda: (self.seq, self.leads))
        self._follower = Follower(journal, shared, self, staleness) if shared is not None else None
        self._pulse_every = _PULSE_EVERY if shared is None else min(_PULSE_EVERY, rules.disable_after / 4)
        self._keep_every = min(_KEEP_EVERY, rules.disable_after / 8)
        self._turning = Turning(self)
        self._impacts = Impacts(driver)
        self._closing = False
        self._thread = ThreadPoolExecutor(1, "forewarn-writer")
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Take up what an earlier run left: impacts that were under way, and what has fallen due since."""
        self._tasks = [asyncio.create_task(self._write_on())]
        if self._follower is not None:
            await self._membership.look()
            await self._follower.start()
            self._tasks += [asyncio.create_task(work()) for work in (self._follower.follow, self._keep_on)]
        else:
            self._impacts.take_up(self.region)
        works = (self._tick_on, self._pulse_on, self._retry_on, self._membership.announce_on)
        self._tasks += [asyncio.create_task(work()) for work in works]
        if self.leads:
            await self.submit(Tick(), CLOCK)
            await self._quiet.wait()

    async def close(self) -> None:
        """Finish what is queued, keep the latest reads and a snapshot, and let go of the journal."""
        if self._tasks:
            reads = [] if self.odds else self._reads.newer_than(self.region, timedelta(0))
            last = [self._enqueue(pulse, _VM) for pulse in _pulses(reads) or [Pulse(())]]  # all else stands before it
            if self._is_ahead_of_its_facts():
                last.append(self._enqueue(Tick(moved=True), CLOCK))
            self._closing = True
            await asyncio.gather(*last, return_exceptions=True)
            await self._quiet.wait()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._membership.withdraw()
        await self._snapshots.close(self.region, self.seq if self.leads else 0)
        if self._follower is not None:
            self._follower.close()
        self.editing.close()
        self._thread.shutdown()
        self.journal.close()

    def _is_ahead_of_its_facts(self) -> bool:
        """A turnable clock goes on, at the next start, from the last fact: what ran since would be lived again."""
        latest = self.region.latest_at
        return self.clock.kind != "real" and latest is not None and latest < self.clock.now()

    def now(self) -> datetime:
        return self.clock.now()

    async def submit(self, command: Command, origin: Origin) -> tuple[Fact, ...]:
        """Carry out a command. What this returns is on disk.

        ``Refused`` and ``JournalFault`` mean that nothing changed; only after ``Uncertain`` nobody knows.
        """
        if self._closing:
            raise JournalFault("The region is shutting down; nothing was written.")
        if self.odds:
            raise JournalFault(f"{self.odds} Nothing was changed; ask another node.")
        self.editing.check()
        return await self._enqueue(command, origin)

    def _enqueue(self, command: Command, origin: Origin) -> asyncio.Future[tuple[Fact, ...]]:
        done: asyncio.Future[tuple[Fact, ...]] = asyncio.get_running_loop().create_future()
        self._queue.append((Asked(command, origin), done))
        self._lined_up.set()
        return done

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Be called on the loop after each publication, with what was just appended. Returns how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # One node among others

    def introduce(self, name: str, faces: tuple[str, ...], urls: tuple[str, ...]) -> None:
        """From here on the other nodes can see this one."""
        self._membership.introduce(name, faces, urls)

    def drain(self) -> None:
        """Say that this node is about to go; it works on until it does."""
        self._membership.drain()

    @property
    def node(self) -> Node:
        return self._membership.node

    async def nodes(self) -> list[Node]:
        """Every node of this region."""
        return await self._membership.nodes()

    async def refresh(self) -> None:
        """Know what others have written until now, or go on with what is known where the store does not answer."""
        try:
            await self._know_everything()
        except JournalFault as fault:
            _log.debug("Reading on from what is known: %s", fault)

    async def _know_everything(self) -> None:
        if self._follower is not None:
            await self._follower.refresh()

    async def catch_up(self) -> None:
        """Take what others have written so far."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._hearers.append(done)
        self._lined_up.set()
        await done

    @property
    def willing(self) -> bool:
        return not (self._closing or self._membership.draining or self.odds)

    @property
    def odds(self) -> str:
        """Why this node decides nothing, as a sentence; empty as long as its rules are the region's."""
        return self._membership.odds

    @property
    def stale(self) -> str:
        """Why this node may not be current, as a sentence for whoever asks it; empty as long as it is.

        Judged at each read: a process that has slept must not answer once more from before its sleep.
        """
        return "" if elapsed() < self._current_until else self._why_stale

    def agree(self, now: datetime) -> None:
        """The store has just said what time it is; it may be later than we thought."""
        self.clock.agree(now)
        self._tick_if_due(now)

    def vouch(self, until: float) -> None:
        """This node knows everything that the store knew, and its word is good for a while."""
        if not self.lost.is_set():
            self._current_until = until

    @property
    def leads(self) -> bool:
        """Whether this node does what is done once in a region. Judged at each look, as ``stale`` is."""
        return elapsed() < self._leads_until

    def take_lead(self, leads: bool, until: float) -> None:
        """Lead until then, or not at all. A new leader takes up what the last one left."""
        led, self._leads_until = self.leads, until if leads else -math.inf
        if leads is led:
            return
        if leads:
            self._impacts.take_up(self.region)
            self._impacts.indebted.set()
        else:
            self._impacts.drop()
        self._published.set()
        self._membership.announce_soon()
        _log.info("This node leads the region now." if leads else "This node does not lead the region any more.")

    def lose(self, fault: Diverged) -> None:
        """Nothing here can be trusted any more; whoever runs this node must start it anew."""
        _log.error("%s", fault)
        self._why_stale = "The store has lost what this node has seen, or holds something else in its place."
        self._current_until = self._leads_until = -math.inf
        self.lost.set()

    # Reads as a sign of life

    def read_by(self, vm: Vm) -> datetime:
        """Note that a VM has read, and when. Costs a dictionary entry; the journal hears of it once an hour at most."""
        now = self.clock.now()
        self._reads.note(vm.name, now)
        return now

    async def enable(self, vm: Vm, request_id: str = "") -> None:
        """The first read of a scope: from here on its events wait."""
        await self.submit(Pulse(((vm.key, self.clock.now()),)), Origin("vm", vm.name, request_id))

    async def _pulse_on(self) -> None:
        while True:
            await self.clock.sleep_until(self.clock.now() + self._pulse_every)
            if not self.odds:
                for pulse in _pulses(self._reads.newer_than(self.region, self._pulse_every)):
                    await self._submit_ours(pulse, _VM)

    async def _keep_on(self) -> None:
        """Whoever leads knows of reads through other nodes only what these have told: in time for what would lapse."""
        while True:
            await asyncio.sleep(self._keep_every.total_seconds())
            soon = self.clock.now() + 2 * self._keep_every
            if not self.odds and (kept := self._reads.keeping_alive(self.region, soon)):
                await self._submit_ours(Pulse(tuple(kept)), _VM)

    # Time

    def next_deadline(self) -> datetime | None:
        """When something next happens by itself."""
        return next_deadline(self.region)

    def set_speed(self, speed: float) -> None:
        """How fast a turnable clock runs; 0 makes it stand still."""
        self.clock.set_speed(speed)
        self._published.set()

    async def advance(self, to: datetime, origin: Origin = CLOCK) -> None:
        """Move a turnable clock, stopping at every instant at which something happens on the way."""
        await self._turning.advance(to, origin)

    async def advance_to_next(self, origin: Origin = CLOCK) -> datetime | None:
        """Move a turnable clock to the next change. None where nothing is due."""
        return await self._turning.advance_to_next(origin)

    async def settled(self) -> None:
        """Nothing that was written leads to an impact that is not recorded yet."""
        await self._quiet.wait()

    def _tick_if_due(self, now: datetime) -> None:
        """It may be later than whoever waits for a deadline thinks."""
        due = self.region.agenda.first()
        if due is not None and due.at <= now:
            self._published.set()

    async def watch_on(self) -> None:
        """See, and say in the log, what may go wrong while nobody asks: the machine's clock, and the store's place."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            self.journal.ailment()
            self._tick_if_due(self.clock.now())

    async def _tick_on(self) -> None:
        """While the clock runs, tick when the agenda says so. An entry that has become stale costs an idle tick."""
        while True:
            self._published.clear()
            due = self.region.agenda.first() if self.leads else None
            if due is not None and due.at <= self.clock.now():
                await self._submit_ours(Tick(), CLOCK)
                if self.region.agenda.first() == due:  # not yet, by the clock of a store that others share
                    await asyncio.sleep(_NOT_YET_SECONDS)
                continue
            timeout = None
            if due is not None and self.clock.speed:
                timeout = min((due.at - self.clock.now()).total_seconds() / self.clock.speed, 3600)
            await _wait(self._published, timeout)

    async def _submit_ours(self, command: Command, origin: Origin) -> None:
        """What nobody outside waits for must not end the loop that wants it."""
        try:
            await self.submit(command, origin)
        except Exception as fault:
            if isinstance(fault, JournalFault):
                _log.warning("A %s could not be written, going on in a moment: %s", type(command).__name__, fault)
            elif not self._closing:
                _log.exception("A %s failed; going on in a moment.", type(command).__name__)
            await asyncio.sleep(self.retry_seconds)

    # Writing

    async def _write_on(self) -> None:
        while True:
            await self._lined_up.wait()
            self._lined_up.clear()
            while self._queue or self._hearers:
                if self._hearers and (begun := await self._hear()):
                    await self._follow_up(begun)
                if self._queue and (begun := await self._write()):
                    await self._follow_up(begun)

    async def _hear(self) -> list[BeginImpact]:
        """Take what others have written. That works, and must, where nothing can be written just now."""
        hearers, self._hearers = self._hearers, []
        try:
            written = await self._publish(self._writer.catch_up)
        except Exception as fault:
            self._fail(hearers, fault)
            return []
        if begun := self._begin_impacts(written.records):
            self._quiet.clear()
        for done in hearers:
            if not done.done():
                done.set_result(None)
        return begun

    async def _write(self) -> list[BeginImpact]:
        """Carry out what is asked by the time that the journal's head is ours: who has to wait waits in company.

        Gives back the impacts that follow; there may be very many, and nothing of this transaction is kept meanwhile.
        """
        batch: list[_Waiting] = []
        waiting = min(len(self._queue), _BATCH_MOST)

        def take(most: int) -> list[Asked]:
            while self._queue and len(batch) < most:
                batch.append(self._queue.popleft())
            return [asked for asked, _ in batch]

        try:
            written = await self._commit(take)
        except Exception as fault:  # the journal's, or ours: in both cases nothing was written
            take(waiting)  # where it came before anything was taken, it is the answer to those who had asked before it
            self._fail([done for _, done in batch], fault)
            return []
        if begun := self._begin_impacts(written.records):
            self._quiet.clear()
        for (_, done), answer in zip(batch, written.answers, strict=False):
            if done.done():
                continue
            if isinstance(answer, Exception):
                done.set_exception(answer)
            else:
                done.set_result(answer)
        self._queue.extendleft(reversed(batch[len(written.answers) :]))
        return begun

    def _fail(self, waiting: Sequence[asyncio.Future[Any]], fault: Exception) -> None:
        if isinstance(fault, Diverged):
            self.lose(fault)
        for done in waiting:
            if not done.done():
                done.set_exception(fault)

    async def _commit(self, take: Callable[[int], list[Asked]]) -> Written:
        """Write what is taken and publish what came of it. Reads that keep scopes enabled go before what would settle.

        All of that is looked at by the writer's thread, with the journal's head in hand.
        """

        def ask(region: Region, now: datetime) -> list[Asked]:
            return take(_BATCH_FEW if is_behind(region, now) else _BATCH_MOST)

        def first(region: Region, now: datetime, commands: int) -> list[Asked]:
            kept = tuple(self._reads.keeping_alive(region, now, commands))
            return [Asked(Pulse(kept), _VM)] if kept else []

        return await self._publish(partial(self._writer.write, ask, first))

    async def _publish(self, work: Callable[[], Written]) -> Written:
        written = await asyncio.get_running_loop().run_in_executor(self._thread, work)
        self.region, self.seq = written.region, written.seq
        self._tell_listeners(written)
        self._published.set()
        if self.leads:
            self._snapshots.consider(self.region, self.seq)
        return written

    def _tell_listeners(self, written: Written) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(written.region, written.records)
            except Exception:  # what was written stays written, whatever a listener makes of it
                _log.exception("A listener failed.")

    # Impacts

    def _begin_impacts(self, records: Sequence[Record]) -> list[BeginImpact]:
        return self._impacts.begin(self.region, records, self.clock.now()) if self.leads else []

    async def _retry_on(self) -> None:
        while True:
            await self._impacts.indebted.wait()
            self._impacts.indebted.clear()
            await asyncio.sleep(self.retry_seconds)
            if self.leads:
                await self._submit_ours(Tick(), CLOCK)
                if self._impacts.owes:  # the tick itself failed, and nothing else may be written for a long time
                    self._impacts.indebted.set()

    async def _follow_up(self, begun: list[BeginImpact]) -> None:
        """Record what the driver began, and what begins because of that."""
        try:
            while begun:
                asked = [Asked(each, _DRIVER) for each in begun[:_BATCH_MOST]]
                written = await self._commit(partial(_first, asked))
                _log_faults(written)
                begun = begun[len(written.answers) :] + self._begin_impacts(written.records)
        except Exception as fault:
            self._impacts.owe(begun, fault)
        finally:
            self._quiet.set()


def _first(asked: list[Asked], most: int) -> list[Asked]:
    return asked[:most]


def _pulses(reads: list[tuple[str, datetime]]) -> list[Pulse]:
    """In portions: others write in between."""
    portions = (reads[first : first + _BATCH_MOST] for first in range(0, len(reads), _BATCH_MOST))
    return [Pulse(tuple(portion)) for portion in portions]


def _log_faults(written: Written) -> None:
    for answer in written.answers:
        if isinstance(answer, Exception):
            _log.error("What a driver began was not taken up.", exc_info=answer)


async def _wait(event: asyncio.Event, timeout_seconds: float | None) -> None:
    try:
        async with asyncio.timeout(timeout_seconds):
            await event.wait()
    except TimeoutError:
        pass
