"""A command's way on the loop: into the line, through the writer's thread, and out as a published region.

One transaction is under way at a time. What is handed to the writer's thread is the line of commands; what comes back
is a ``Batch``, a value. Futures are resolved, listeners called and impacts begun on the loop only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, TypeVar

from forewarn.core.commands import BeginImpact, Command
from forewarn.core.facts import Fact
from forewarn.core.region import Region
from forewarn.plane.impacts import Impacts
from forewarn.plane.ports import Diverged, JournalFault, Origin, Record
from forewarn.plane.snapshots import Snapshots
from forewarn.plane.standing import Standing
from forewarn.plane.system import Pace, ServerSystem
from forewarn.plane.tally.counts import Tally
from forewarn.plane.writer import BATCH_MOST, Asked, Batch, Line, Writer, Written

Listener = Callable[[Region, Sequence[Record]], None]

_log = logging.getLogger(__name__)
_ENGINE = Origin("driver")  # an older word for the engine, which journals and `--door` know
_T = TypeVar("_T")


class Writing:
    """Holds the published region, and carries out what is in line. All of it belongs to one loop."""

    def __init__(
        self,
        writer: Writer,
        snapshots: Snapshots,
        impacts: Impacts,
        standing: Standing,
        now: Callable[[], datetime],
        system: ServerSystem,
        pace: Pace,
    ) -> None:
        self.region, self.seq = writer.region, writer.seq
        self.published = asyncio.Event()  # set at each publication; for the one who clears it
        self._writer = writer
        self._snapshots = snapshots
        self._impacts = impacts
        self._standing = standing
        self._now = now
        self._elapsed = system.elapsed
        self._retry_seconds = pace.retry_seconds
        self._line = Line()
        self._hearers: list[asyncio.Future[None]] = []
        self._lined_up = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self.tally = Tally()
        self._listeners: list[Listener] = [self.tally.published]
        self._thread = ThreadPoolExecutor(1, "forewarn-writer")
        standing.on_lead(lambda leads: impacts.follow_lead(leads, self.region))

    async def submit(self, command: Command, origin: Origin) -> tuple[Fact, ...]:
        """Carry out a command. What this returns is on disk; see ``Plane.submit``."""
        self._standing.check()
        return await self.enqueue(command, origin)

    def enqueue(self, command: Command, origin: Origin) -> asyncio.Future[tuple[Fact, ...]]:
        """Put a command in line, also on a node that takes no more of them from others."""
        done: asyncio.Future[tuple[Fact, ...]] = asyncio.get_running_loop().create_future()
        self._line.append(Asked(command, origin, self._elapsed(), done))
        self._lined_up.set()
        return done

    def rehearse(self, region: Region, command: Command) -> tuple[Region, tuple[Fact, ...]]:
        """What a command would do to a region now; see ``Plane.rehearse``."""
        return self._writer.rehearse(region, command)

    async def submit_ours(self, command: Command, origin: Origin) -> None:
        """Carry out a command of the server's own. Failures are logged: they must not end the loop that submits it."""
        try:
            await self.submit(command, origin)
        except Exception as fault:
            if isinstance(fault, JournalFault):
                _log.warning("A %s could not be written, going on in a moment: %s", type(command).__name__, fault)
            elif not self._standing.closing:
                _log.exception("A %s failed; going on in a moment.", type(command).__name__)
            await asyncio.sleep(self._retry_seconds)

    async def catch_up(self) -> None:
        """Take what others have written so far."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._hearers.append(done)
        self._lined_up.set()
        await done

    async def settled(self) -> None:
        """Wait until every impact that follows from what was written is recorded."""
        await self._quiet.wait()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Be called on the loop after each publication, with what was just appended. Returns how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        self._thread.shutdown()

    # One transaction after the other

    async def write_on(self) -> None:
        while True:
            await self._lined_up.wait()
            self._lined_up.clear()
            while self._line or self._hearers:
                if self._hearers and (begun := await self._hear()):
                    await self._follow_up(begun)
                if self._line and (begun := await self._write()):
                    await self._follow_up(begun)

    async def _hear(self) -> list[BeginImpact]:
        """Take up what others have written. This works also while nothing can be written."""
        hearers, self._hearers = self._hearers, []
        try:
            written = await self._in_thread(self._writer.catch_up)
        except Exception as fault:
            self._fail(hearers, fault)
            return []
        begun = self._publish(written)
        for done in hearers:
            if not done.done():
                done.set_result(None)
        return begun

    async def _write(self) -> list[BeginImpact]:
        """Carry out what is in line by the time that the journal's head is ours, and answer.

        Gives back the impacts that follow; there may be very many, and nothing of this transaction is kept meanwhile.
        """
        began = self._elapsed()
        batch = await self._in_thread(self._writer.carry_out, self._line, min(len(self._line), BATCH_MOST))
        written = batch.outcome
        self.tally.carried_out(batch, began, self._elapsed())
        if isinstance(written, Exception):  # the journal's, or ours: in both cases nothing was written
            self._fail([asked.done for asked in batch.asked if asked.done is not None], written)
            return []
        begun = self._publish(written)
        _answer(batch, written)
        self._line.put_back(batch.asked[len(written.answers) :])
        return begun

    async def _follow_up(self, begun: list[BeginImpact]) -> None:
        """Record what the engine began, and what begins because of that."""
        try:
            while begun:
                asked = [Asked(each, _ENGINE, self._elapsed()) for each in begun[:BATCH_MOST]]
                written = await self._in_thread(self._writer.write, asked)
                _log_faults(written)
                begun = begun[len(written.answers) :] + self._publish(written)
        except Exception as fault:
            self._impacts.owe(begun, fault)
        finally:
            self._quiet.set()

    async def _in_thread(self, work: Callable[..., _T], *values: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *values)

    def _publish(self, written: Written) -> list[BeginImpact]:
        """Show what is on disk. A leader begins the impacts that follow from it: the commands that record those."""
        self.region, self.seq = written.region, written.seq
        for listener in tuple(self._listeners):
            try:
                listener(written.region, written.records)
            except Exception:  # what was written stays written, whatever a listener makes of it
                _log.exception("A listener failed.")
        self.published.set()
        if not self._standing.leads:
            return []
        self._snapshots.consider(self.region, self.seq)
        if begun := self._impacts.begin(self.region, written.records, self._now()):
            self._quiet.clear()
        return begun

    def _fail(self, waiting: Sequence[asyncio.Future[Any]], fault: Exception) -> None:
        if isinstance(fault, Diverged):
            self._standing.lose(fault)
        for done in waiting:
            if not done.done():
                done.set_exception(fault)


def _answer(batch: Batch, written: Written) -> None:
    """Resolve each command's future; those of callers that were canceled meanwhile are skipped."""
    for asked, answer in zip(batch.asked, written.answers, strict=False):
        if asked.done is None or asked.done.done():
            continue
        if isinstance(answer, Exception):
            asked.done.set_exception(answer)
        else:
            asked.done.set_result(answer)


def _log_faults(written: Written) -> None:
    for answer in written.answers:
        if isinstance(answer, Exception):
            _log.error("What an engine began was not taken up.", exc_info=answer)
