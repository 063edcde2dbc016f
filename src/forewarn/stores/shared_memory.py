"""A region in memory that several nodes share: what PostgreSQL is to real ones, for tests and simulations.

No thread is needed: a call with no time to wait returns at once. Time and faults are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Condition, Lock

from msgspec import structs

from forewarn.core.region import Region
from forewarn.plane.ports import Diverged, Entry, JournalFault, News, Node, Record, Transaction, Uncertain
from forewarn.stores.memory import MemoryJournal

_LEASE = timedelta(seconds=10)  # about that of stores/postgres/lead.py
_FORGOTTEN_AFTER = timedelta(minutes=1)


class SharedMemory:
    """What the nodes have in common. ``now`` is its clock; a lock is waited for ``patience_seconds`` at most."""

    def __init__(self, now: Callable[[], datetime], patience_seconds: float = 10.0) -> None:
        self.now = now
        self.patience_seconds = patience_seconds
        self.journal = MemoryJournal()
        self.editing = Lock()
        self.changed = Condition()
        self.nodes: dict[str, Node] = {}
        self._leader: MemoryNodeJournal | None = None
        self._leads_until: datetime | None = None

    def join(self) -> MemoryNodeJournal:
        """One more node."""
        return MemoryNodeJournal(self)

    def lead(self, node: MemoryNodeJournal, willing: bool) -> bool:
        """Whether ``node`` leads from now on."""
        now = self.now()
        if not willing:
            self.depose(node)
            return False
        if self._leader in (None, node) or self._leads_until is None or self._leads_until <= now:
            self._leader, self._leads_until = node, now + _LEASE
        return self._leader is node

    def wake(self) -> None:
        """Wake every call that waits for news; it looks again."""
        with self.changed:
            self.changed.notify_all()

    # Misfortunes

    def depose(self, node: MemoryNodeJournal | None = None) -> None:
        """Take the lead from ``node``, or from the node that has it; the next willing caller gets it."""
        if node is None or node is self._leader:
            self._leader = None

    def lose(self, count: int) -> None:
        """Forget the last records, as when a standby takes over that has not got them yet."""
        left = self.journal.read(0, self.journal.head() - count)
        self.journal = MemoryJournal()
        with self.journal.write() as transaction:
            transaction.append([Entry(record.fact, record.command, record.origin) for record in left])
        self.wake()


class _Staged:
    """What one block has read and wants to append."""

    def __init__(self, node: MemoryNodeJournal, kept: Transaction, read_clock: Callable[[], datetime]) -> None:
        self._node = node
        self._kept = kept
        self.now = read_clock()
        self.read_clock = read_clock
        self.entries: list[Entry] = []

    def since(self, seq: int) -> Sequence[Record]:
        records = self._kept.since(seq)
        self._node.see(records)
        return records

    def append(self, entries: Sequence[Entry]) -> None:
        self.entries.extend(entries)


class MemoryNodeJournal:
    """One node's way to the region, with faults on demand.

    ``cut_off`` is the sentence with which every call fails, empty while none does; with ``answers_lost`` a commit is
    done and its answer is lost; without ``holds`` an edit lock is lost in use.
    """

    def __init__(self, region: SharedMemory) -> None:
        self._region = region
        self._last_seen: Record | None = None
        self._withdrawn = False
        self.cut_off = ""
        self.answers_lost = False
        self.holds = True

    @property
    def shared(self) -> MemoryNodeJournal:
        return self

    # The journal

    @contextmanager
    def write(self) -> Iterator[_Staged]:
        self._check()
        with self._region.journal.write() as kept:
            staged = _Staged(self, kept, self._region.now)
            yield staged
            self._check()
            kept.append(staged.entries)
        if staged.entries and self.answers_lost:
            raise Uncertain("The store went away while it was told to commit. Look before you try again.")
        self.see(self._region.journal.read(self._region.journal.head() - 1, 1) if staged.entries else ())
        self._region.wake()

    def head(self) -> int:
        self._check()
        return self._region.journal.head()

    def read(self, after: int, limit: int) -> list[Record]:
        self._check()
        records = self._region.journal.read(after, limit)
        self.see(records)
        return records

    def about(self, subject: str, limit: int) -> list[Record]:
        self._check()
        return self._region.journal.about(subject, limit)

    def load(self) -> tuple[Region, int]:
        self._check()
        return self._region.journal.load()

    def snapshot(self, region: Region, seq: int) -> None:
        self._check()
        self._region.journal.snapshot(region, seq)

    def verify(self) -> Iterator[str]:
        self._check()
        yield from self._region.journal.verify()

    def ailment(self) -> str:
        return ""

    def close(self) -> None:
        """Leave as a killed node does: the lead is free, but the list of nodes shows it for a while."""
        self._withdrawn = True
        self._region.depose(self)
        self._region.wake()

    def see(self, records: Sequence[Record]) -> None:
        if records and (self._last_seen is None or records[-1].seq > self._last_seen.seq):
            self._last_seen = records[-1]

    def _check(self) -> None:
        """Raise where this node is cut off, or where the store has lost what it has seen."""
        if self.cut_off:
            raise JournalFault(self.cut_off)
        seen = self._last_seen
        if seen is not None and self._region.journal.read(seen.seq - 1, 1) != [seen]:
            raise Diverged(f"The store has lost record {seen.seq}, which this node has seen. Start this node anew.")

    # What nodes share

    def await_news(self, after: int, seconds: float, *, willing: bool) -> News:
        region = self._region
        with region.changed:
            self._claim(willing)
            if seconds > 0:
                region.changed.wait_for(lambda: self._is_to_answer(after), seconds)
            return News(region.journal.head(), region.now(), self._claim(willing))

    def _claim(self, willing: bool) -> bool:
        self._check()
        return self._region.lead(self, willing and not self._withdrawn)

    def _is_to_answer(self, after: int) -> bool:
        return bool(self.cut_off) or self._withdrawn or self._region.journal.head() > after

    @contextmanager
    def editing(self) -> Iterator[Callable[[], bool]]:
        self._check()
        if not self._region.editing.acquire(timeout=self._region.patience_seconds):
            raise JournalFault("Another node has been editing the region for too long. Nothing was changed; try again.")
        try:
            yield lambda: self.holds and not self.cut_off
        finally:
            self._region.editing.release()

    def announce(self, node: Node) -> None:
        self._check()
        self._region.nodes[node.id] = structs.replace(node, seen_at=self._region.now())

    def withdraw(self, node_id: str) -> None:
        self._check()
        self._withdrawn = True
        self._region.depose(self)
        self._region.nodes.pop(node_id, None)
        self._region.wake()

    def nodes(self) -> list[Node]:
        self._check()
        oldest = self._region.now() - _FORGOTTEN_AFTER
        return sorted(
            (node for node in self._region.nodes.values() if node.seen_at >= oldest),
            key=lambda node: (node.name, node.id),
        )
