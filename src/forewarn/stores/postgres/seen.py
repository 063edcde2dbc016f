"""What this node has seen of a shared journal: the end of it that must never be taken back.

A standby that took over without the last records, or a backup that was restored under running nodes, would make them
show a history that is not kept anywhere. So every look at the journal is held against what was seen before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import Lock

from forewarn.plane.ports import Diverged
from forewarn.stores.postgres.address import ConnectionString
from forewarn.stores.postgres.facts import BEGINNING, Position
from forewarn.stores.rows import Row

_ANEW = (
    "Start this node anew: it goes on with what the journal holds now. Something that was acknowledged may be lost; "
    "see the part on failover in docs/postgresql.md"
)


class LastSeen:
    """The last record this node has seen. Threads share it, and it only grows."""

    def __init__(self, address: ConnectionString) -> None:
        self._address = address
        self._last = BEGINNING
        self._noting = Lock()

    @property
    def last(self) -> Position:
        """Read it *before* asking the server: the answer may then be newer than what was seen, never older."""
        return self._last

    def note(self, place: Position) -> None:
        with self._noting:
            if place.seq > self._last.seq:
                self._last = place

    def check_head(self, seen: Position, head: Position) -> None:
        if head.seq < seen.seq:
            raise Diverged(
                f"The journal {self._address} has lost records that this node has seen: it ends at record {head.seq}, "
                f"and record {seen.seq} was there. {_ANEW}."
            )
        self._compare(seen, head)

    def check_kept(self, seen: Position, chain: bytes) -> None:
        """The record that was seen is still there, however far the journal has gone on."""
        self._compare(seen, Position(seen.seq, chain))

    def held_against(self, seen: Position, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows as they come, as long as none has taken the place of the one that was seen."""
        for row in rows:
            self._compare(seen, Position(row[0], row[9]))
            yield row

    def _compare(self, seen: Position, found: Position) -> None:
        if found.seq == seen.seq and found.chain != seen.chain:
            raise Diverged(
                f"The journal {self._address} holds another record {seen.seq} than the one that this node has seen. "
                f"{_ANEW}."
            )
