"""The one writer: commands in, facts on disk, a new region out. Synchronous, and without a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from forewarn.core.commands import Command
from forewarn.core.evolve import evolve
from forewarn.core.facts import Fact
from forewarn.core.refusal import Refused
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.core.step import step
from forewarn.plane.ports import Entry, Journal, Origin, Record

_READ_AT_ONCE = 10_000


class Asked(Struct, frozen=True):
    """A command on its way to the writer."""

    command: Command
    origin: Origin


Answer: TypeAlias = tuple[Fact, ...] | Exception


class Written(Struct, frozen=True):
    """What one transaction led to. ``answers`` stand in the order of the commands."""

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
        while records := journal.read(self.seq, _READ_AT_ONCE):
            self._take(records)
        self._untold: list[Record] = []  # taken from others, but the transaction that found them failed

    def _take(self, records: Sequence[Record]) -> None:
        for record in records:
            self.region = evolve(self.region, record.fact)
            self.seq = record.seq

    def _hear(self, records: Sequence[Record]) -> None:
        for record in records:
            self._take((record,))
            self._untold.append(record)

    def _told(self) -> tuple[Record, ...]:
        told, self._untold = tuple(self._untold), []
        return told

    def catch_up(self) -> Written:
        """Take what others have appended, without holding anybody up. What is left over comes the next time."""
        self._hear(self._journal.read(self.seq, _READ_AT_ONCE))
        return Written(self.region, self.seq, self._told(), ())

    def write(self, batch: Sequence[Asked]) -> Written:
        """Carry out commands, each whole or refused, in one transaction."""
        with self._journal.write() as transaction:
            self._hear(transaction.since(self.seq))
            region, answers, entries = self._step_all(batch, transaction.now or self._now())
            transaction.append(entries)
        records = tuple(
            Record(seq, entry.fact, entry.command, entry.origin) for seq, entry in enumerate(entries, self.seq + 1)
        )
        self.region, self.seq = region, self.seq + len(entries)
        return Written(region, self.seq, self._told() + records, tuple(answers))

    def _step_all(self, batch: Sequence[Asked], now: datetime) -> tuple[Region, list[Answer], list[Entry]]:
        region, answers, entries = self.region, list[Answer](), list[Entry]()
        if region.latest_at is not None and now < region.latest_at:
            now = region.latest_at
        for asked in batch:
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
