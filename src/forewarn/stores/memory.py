"""A journal that lives as long as its process: for tests, for simulations, and for ``serve --ephemeral``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from forewarn.core.looking.subjects import subject_of
from forewarn.core.region import Region
from forewarn.plane.ports import Entry, Record
from forewarn.stores.snapshots.shelf import check_happened


class _Staged:
    """What one block has read and wants to append."""

    def __init__(self, records: list[Record]) -> None:
        self._records = records
        self.entries: list[Entry] = []

    now = None  # there is one node, with a clock of its own

    def read_clock(self) -> None:
        return None

    def since(self, seq: int) -> Sequence[Record]:
        return self._records[max(seq, 0) :]

    def append(self, entries: Sequence[Entry]) -> None:
        self.entries.extend(entries)


class MemoryJournal:
    """Handing the same object to a new plane stands for a restart; nothing survives the process."""

    shared = None

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._subjects: dict[str, list[Record]] = {}
        self._snapshot = (Region(), 0)
        self._writing = Lock()

    @contextmanager
    def write(self) -> Iterator[_Staged]:
        with self._writing:
            staged = _Staged(self._records)
            yield staged
            self._keep(staged.entries)

    def _keep(self, entries: Sequence[Entry]) -> None:
        """Make all records before the first is visible, so that no reader sees half a block."""
        first = len(self._records) + 1
        records = [Record(seq, entry.fact, entry.command, entry.origin) for seq, entry in enumerate(entries, first)]
        subjects = [subject_of(record.fact) for record in records]
        self._records.extend(records)
        for subject, record in zip(subjects, records, strict=True):
            self._subjects.setdefault(subject, []).append(record)

    def head(self) -> int:
        return len(self._records)

    def read(self, after: int, limit: int) -> list[Record]:
        start = max(after, 0)
        return self._records[start : start + max(limit, 0)]

    def about(self, subject: str, limit: int) -> list[Record]:
        return self._subjects.get(subject, [])[: max(limit, 0)]

    def load(self) -> tuple[Region, int]:
        return self._snapshot

    def snapshot(self, region: Region, seq: int) -> None:
        check_happened(seq, self.head())
        if seq >= self._snapshot[1]:
            self._snapshot = (region, seq)

    def verify(self) -> Iterator[str]:
        """Only our own counting can go wrong in memory."""
        for place, record in enumerate(list(self._records), 1):
            if record.seq != place:
                yield f"Record {record.seq} of the journal stands where record {place} belongs."

    def ailment(self) -> str:
        """Memory can always be written."""
        return ""

    def close(self) -> None:
        """Nothing to give back."""
