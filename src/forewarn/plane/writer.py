"""The one writer: commands in, facts on disk, a new region out. Synchronous, and without a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct, field

from forewarn.core.commands import Command
from forewarn.core.facts import Fact
from forewarn.core.folding.evolve import evolve
from forewarn.core.refusal import Refused
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.core.settle import tidied
from forewarn.core.step import step
from forewarn.plane.clock import elapsed
from forewarn.plane.ports import Entry, Journal, Origin, Record, Transaction

_READ_AT_ONCE = 10_000
_TIDIED_LEAST = 100  # more entries of the agenda than facts can have added, so that it becomes no longer than it must
_ENOUGH_FACTS = 5_000  # for one transaction: others wait for the journal's head meanwhile, and for our own thread


class Asked(Struct, frozen=True):
    """A command on its way to the writer. ``since`` is when it was received, by ``clock.elapsed``."""

    command: Command
    origin: Origin
    since: float = field(default_factory=elapsed)


Answer: TypeAlias = tuple[Fact, ...] | Exception


Ask: TypeAlias = Callable[[Region, datetime], Sequence[Asked]]  # what to do, once it is known where things stand
First: TypeAlias = Callable[[Region, datetime, int], Sequence[Asked]]  # and before that: at that time, with so many


class Written(Struct, frozen=True):
    """What one transaction led to. ``answers`` stand in the order of the commands; there may be fewer of them."""

    region: Region
    seq: int
    records: tuple[Record, ...]
    answers: tuple[Answer, ...]


class Writer:
    """Owns the newest region. A transaction that fails leaves it, and the journal, as they were."""

    def __init__(self, journal: Journal, rules: Rules, now: Callable[[], datetime]) -> None:
        self._journal = journal
        self._rules = rules
        self._now = now
        self.region, self.seq = journal.load()
        self.loaded_seq = self.seq  # all after it had to be read: the next start should not have to
        while records := journal.read(self.seq, _READ_AT_ONCE):
            self._take(records)
            self._tidy(records)
        self._untold: list[Record] = []  # taken from others, but the transaction that found them failed

    def _take(self, records: Sequence[Record]) -> None:
        for record in records:
            self.region = evolve(self.region, record.fact)
            self.seq = record.seq

    def _tidy(self, records: Sequence[Record]) -> None:
        """Facts only ever add to the agenda; who wrote them has looked at what was due by then."""
        if records:
            self.region = tidied(self.region, records[-1].fact.at, 2 * len(records) + _TIDIED_LEAST)

    def _hear(self, records: Sequence[Record]) -> None:
        for record in records:
            self._take((record,))
            self._untold.append(record)

    def _told(self) -> tuple[Record, ...]:
        told, self._untold = tuple(self._untold), []
        return told

    def catch_up(self) -> Written:
        """Take what others have appended, without holding anybody up. What is left over comes the next time."""
        records = self._journal.read(self.seq, _READ_AT_ONCE)
        self._hear(records)
        self._tidy(records)
        return Written(self.region, self.seq, self._told(), ())

    def write(self, batch: Sequence[Asked] | Ask, first: First | None = None) -> Written:
        """Carry out commands, each whole or refused, in one transaction.

        Where they lead to very much, the last of them are left for another one: those have no answer. What is to be
        done ``first`` has none either.
        """
        begun = elapsed()
        with self._journal.write() as transaction:
            self._hear(transaction.since(self.seq))
            asked = batch(self.region, self._dated(transaction.now)) if callable(batch) else batch
            now = self._closed_at(transaction, asked, begun)
            before = first(self.region, now, len(asked)) if first is not None else ()
            region, answers, entries = self._step_all((*before, *asked), now)
            transaction.append(entries)
        records = tuple(
            Record(seq, entry.fact, entry.command, entry.origin) for seq, entry in enumerate(entries, self.seq + 1)
        )
        self.region, self.seq = region, self.seq + len(entries)
        return Written(region, self.seq, self._told() + records, tuple(answers[len(before) :]))

    def _closed_at(self, transaction: Transaction, asked: Sequence[Asked], begun: float) -> datetime:
        """An instant after all of them were received: no fact is older than its command.

        What the store said when the head became ours is good for those who had asked by then. Its answer may have been
        long on its way, and others may have come along meanwhile.
        """
        now = transaction.now
        if now is not None and any(each.since >= begun for each in asked):
            now = transaction.read_clock()
        return self._dated(now)

    def _dated(self, now: datetime | None) -> datetime:
        """By the store's clock where it has one; and not before the last fact."""
        return self._not_before_the_last(now or self._now())

    def _not_before_the_last(self, now: datetime) -> datetime:
        latest = self.region.latest_at
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
