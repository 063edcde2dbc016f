"""The one writer: commands in, facts on disk, a new region out. Synchronous, and without a thread of its own."""

from __future__ import annotations

from asyncio import Future
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from forewarn.core.commands import Command, Pulse
from forewarn.core.facts import Fact, VmDeleted
from forewarn.core.folding.evolve import evolve
from forewarn.core.looking.deadlines import is_behind, tidied
from forewarn.core.refusal import Refused
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.core.step import step
from forewarn.plane.ports import Entry, Journal, Origin, Record, Transaction
from forewarn.plane.reads import VM, ReadBook

BATCH_MOST = 1_000  # ours: commands of one transaction; group commit gains little beyond
_BATCH_FEW = 3  # ours: where so much is due that each command takes on as much of it as it may
_READ_AT_ONCE = 10_000  # ours: bounds the memory while a journal is read
_TIDIED_LEAST = 100  # more entries of the agenda than facts can have added, so that it becomes no longer than it must
_ENOUGH_FACTS = 5_000  # for one transaction: others wait for the journal's head meanwhile, and for our own thread


class Asked(Struct, frozen=True):
    """A command on its way to the writer, received at ``since`` (by ``System.elapsed``).

    ``done`` is for the loop: nothing on the writer's side touches it. Without one, no caller waits for the answer.
    """

    command: Command
    origin: Origin
    since: float
    done: Future[tuple[Fact, ...]] | None = None


class Line:
    """Commands that wait for the writer, oldest first.

    The loop appends, and the writer's thread takes from the front when the journal's head is its own, so that commands
    that come while that is waited for come into the same transaction. A deque's ends need no lock for that.
    """

    def __init__(self, asked: Iterable[Asked] = ()) -> None:
        self._waiting = deque(asked)

    def __len__(self) -> int:
        return len(self._waiting)

    def append(self, asked: Asked) -> None:
        self._waiting.append(asked)

    def take(self, most: int) -> tuple[Asked, ...]:
        """The first ones, at most so many; they are in line no more."""
        taken: list[Asked] = []
        while self._waiting and len(taken) < most:
            taken.append(self._waiting.popleft())
        return tuple(taken)

    def put_back(self, asked: Sequence[Asked]) -> None:
        """Put commands back to the front, in the order in which they were taken."""
        self._waiting.extendleft(reversed(asked))


Answer: TypeAlias = tuple[Fact, ...] | Exception


class Written(Struct, frozen=True):
    """What one transaction led to. ``answers`` stand in the order of the commands; there may be fewer of them."""

    region: Region
    seq: int
    records: tuple[Record, ...]
    answers: tuple[Answer, ...]


class Batch(Struct, frozen=True):
    """The commands of one transaction and what came of them: what the writer's thread hands to the loop.

    After an exception nothing was written, unless it is ``Uncertain``; it is the answer to each of them.
    """

    asked: tuple[Asked, ...]
    outcome: Written | Exception


class Loaded(Struct, frozen=True):
    """A journal read to its end. All after ``snapshot_seq`` had to be read: the next start should not have to."""

    region: Region
    seq: int
    snapshot_seq: int


def load(journal: Journal) -> Loaded:
    """Read a journal to its end. Blocks, for long where there is much of it."""
    region, seq = journal.load()
    snapshot_seq = seq
    while records := journal.read(seq, _READ_AT_ONCE):
        region, seq = _tidy(_evolved(region, records), records), records[-1].seq
    return Loaded(region, seq, snapshot_seq)


def _evolved(region: Region, records: Sequence[Record]) -> Region:
    for record in records:
        region = evolve(region, record.fact)
    return region


def _tidy(region: Region, records: Sequence[Record]) -> Region:
    """Drop stale entries of the agenda.

    Facts only ever add some, and the node that wrote them has settled what was due.
    """
    return tidied(region, records[-1].fact.at, 2 * len(records) + _TIDIED_LEAST) if records else region


class Writer:
    """Owns the newest region. A transaction that fails leaves it, and the journal, as they were."""

    def __init__(
        self,
        journal: Journal,
        loaded: Loaded,
        rules: Rules,
        now: Callable[[], datetime],
        reads: ReadBook,
        elapsed: Callable[[], float],
    ) -> None:
        self._journal = journal
        self._rules = rules
        self._now = now
        self._reads = reads
        self._elapsed = elapsed
        self.region, self.seq = loaded.region, loaded.seq
        self._untold: list[Record] = []  # taken from others, but the transaction that found them failed

    def catch_up(self) -> Written:
        """Take what others have appended, without a lock. What is left over comes the next time."""
        records = self._journal.read(self.seq, _READ_AT_ONCE)
        self._hear(records)
        self.region = _tidy(self.region, records)
        return Written(self.region, self.seq, self._told(), ())

    def write(self, asked: Sequence[Asked]) -> Written:
        """Carry out these commands in one transaction, as ``carry_out`` does; raises what kept it from that."""
        outcome = self.carry_out(Line(asked), len(asked)).outcome
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def carry_out(self, line: Line, waiting: int) -> Batch:
        """Take commands from a line and carry them out in one transaction, each whole or refused.

        They are taken once the transaction has the journal's head, so that commands which came while it waited share it
        (group commit). Reads that keep scopes enabled go before what would settle. Where commands lead to very many
        facts, the last commands are left without an answer, for another transaction. A fault before they are taken is
        the answer to the first ``waiting`` in line.
        """
        begun, asked = self._elapsed(), tuple[Asked, ...]()
        try:
            with self._journal.write() as transaction:
                self._hear(transaction.since(self.seq))
                asked = line.take(self._portion(transaction))
                now = self._closed_at(transaction, asked, begun)
                kept = self._kept_alive(now, len(asked), begun)
                region, answers, entries = self._step_all((*kept, *asked), now)
                transaction.append(entries)
        except Exception as fault:
            return Batch((*asked, *line.take(waiting - len(asked))), fault)
        return Batch(asked, self._published(region, entries, answers[len(kept) :]))

    def rehearse(self, region: Region, command: Command) -> tuple[Region, tuple[Fact, ...]]:
        """What ``carry_out`` would make of a region and one command now. Nothing is kept or written; in any thread."""
        now = self._now() if region.latest_at is None else max(self._now(), region.latest_at)
        if kept := self._reads.keeping_alive(region, now):
            region, _ = step(region, Pulse(tuple(kept)), now, self._rules)
        return step(region, command, now, self._rules)

    def _portion(self, transaction: Transaction) -> int:
        return _BATCH_FEW if is_behind(self.region, self._dated(transaction.now)) else BATCH_MOST

    def _kept_alive(self, now: datetime, commands: int, since: float) -> tuple[Asked, ...]:
        kept = tuple(self._reads.keeping_alive(self.region, now, commands))
        return (Asked(Pulse(kept), VM, since),) if kept else ()

    def _published(self, region: Region, entries: Sequence[Entry], answers: Sequence[Answer]) -> Written:
        """The transaction is committed: from here on its region is the newest."""
        numbered = enumerate(entries, self.seq + 1)
        records = tuple(Record(seq, entry.fact, entry.command, entry.origin) for seq, entry in numbered)
        self._keep_reads(entries)
        self.region, self.seq = region, self.seq + len(entries)
        return Written(region, self.seq, self._told() + records, tuple(answers))

    def _hear(self, records: Sequence[Record]) -> None:
        self._keep_reads(records)
        for record in records:
            self.region, self.seq = evolve(self.region, record.fact), record.seq
            self._untold.append(record)

    def _keep_reads(self, facts: Iterable[Entry | Record]) -> None:
        """Keep the last reads of VMs that these facts delete, for their scopes."""
        for each in facts:
            if isinstance(each.fact, VmDeleted):
                self._reads.deleted(self.region, each.fact.vm)

    def _told(self) -> tuple[Record, ...]:
        told, self._untold = tuple(self._untold), []
        return told

    def _closed_at(self, transaction: Transaction, asked: Sequence[Asked], begun: float) -> datetime:
        """An instant after all commands of the batch were received: no fact is older than its command.

        What the store's clock said when the head became ours is good for commands received by then. Its answer may have
        been long on its way, and more commands may have come meanwhile.
        """
        now = transaction.now
        if now is not None and any(each.since >= begun for each in asked):
            now = transaction.read_clock()
        return self._dated(now)

    def _dated(self, now: datetime | None) -> datetime:
        """The instant by the store's clock where it has one, else by ours; never before the last fact."""
        now, latest = now or self._now(), self.region.latest_at
        return now if latest is None else max(now, latest)

    def _step_all(self, batch: Sequence[Asked], now: datetime) -> tuple[Region, list[Answer], list[Entry]]:
        region, answers, entries = self.region, list[Answer](), list[Entry]()
        for asked in batch:
            if len(entries) >= _ENOUGH_FACTS:
                break
            try:
                region, facts = step(region, asked.command, now, self._rules)
            except Refused as refused:
                answers.append(refused)
                continue
            except Exception as fault:  # ours; it must not take the other commands of the batch with it
                answers.append(fault)
                continue
            kind = type(asked.command).__name__
            entries += [Entry(fact, kind, asked.origin) for fact in facts]
            answers.append(facts)
        return region, answers, entries
