"""The journal in PostgreSQL: one region in one schema, written and read by as many nodes as one likes.

A block of facts is durable when ``write`` ends: the server has forced it to its disk, and to its standbys where it was
told to wait for them. Every call either does what it says or raises, and none waits for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

from forewarn.core.facts import FORMAT
from forewarn.core.region import Region
from forewarn.plane.ports import JournalFault, Record, Transaction
from forewarn.stores.codec import newer_format
from forewarn.stores.postgres import facts, snapshots
from forewarn.stores.postgres.address import PATIENCE, ConnectionString, ServerPatience, describe
from forewarn.stores.postgres.connections import PostgresSession, Sessions
from forewarn.stores.postgres.facts import Position
from forewarn.stores.postgres.schema import ensure, prepare
from forewarn.stores.postgres.seen import LastSeen
from forewarn.stores.postgres.shared import PostgresShared, keys_of
from forewarn.stores.postgres.writer import BlockWriter, following
from forewarn.stores.rows import Row, flaws_in, records_of
from forewarn.stores.snapshots import shelf

__all__ = ["PostgresJournal", "describe", "prepare"]

_RESTORE = "Nothing was changed; restore the database from a backup"


class PostgresJournal:
    """One node's way to the region at ``conninfo``, from construction until ``close``."""

    def __init__(
        self, conninfo: str, patience: ServerPatience = PATIENCE, part_bytes: int = snapshots.PART_BYTES
    ) -> None:
        self._address = ConnectionString(conninfo, patience)
        self._part_bytes = part_bytes  # of a snapshot, in one row
        self._connections = Sessions(self._address)
        self._seen = LastSeen(self._address)
        try:
            with self._connections.lent() as connection:
                ensure(connection, self._address)
                self._check_content(connection)
                self._keys = keys_of(connection)
        except BaseException:
            self._connections.close()
            raise
        self._writer = BlockWriter(self._address, self._connections, self._seen, self._keys.channel)
        self.shared = PostgresShared(self._address, self._connections, self._seen, self._keys)

    def _check_content(self, connection: PostgresSession) -> None:
        """Refuse a journal that must not be used: a newer format, or ends that do not fit.

        The rest is checked as it is read.
        """
        head, end = facts.ends_of(connection)
        last = facts.row_at(connection, end)  # not the next one: others may write meanwhile, also the very first record
        if last is not None and last[1] > FORMAT:
            row = connection.execute("SELECT written_by FROM head").fetchone()
            raise JournalFault(newer_format(f"The journal {self._address}", last[1], FORMAT, row[0] if row else ""))
        if (Position(last[0], last[9]) if last is not None else facts.BEGINNING) != head:
            raise JournalFault(f"The journal {self._address} does not end where its head says. {_RESTORE}.")
        for name, header in shelf.headers(snapshots.shelf(connection)):
            if facts.chain_at(connection, header.seq) != header.mark:
                raise JournalFault(
                    f"The snapshot {name} does not fit: the journal {self._address} ends at record {head.seq}, or "
                    "holds another record there. It has lost some, or was put together from parts. "
                    f"{_RESTORE}, or delete the snapshots to go on with what the journal holds."
                )

    def write(self) -> AbstractContextManager[Transaction]:
        return self._writer.write()

    # Reading

    def head(self) -> int:
        seen = self._seen.last
        with self._connections.lent() as connection:
            head = facts.head_of(connection)
        self._seen.check_head(seen, head)
        return head.seq

    def read(self, after: int, limit: int) -> list[Record]:
        """Checked against what this node has seen: raises ``Diverged`` where the journal went back."""
        after, limit = max(after, 0), max(limit, 0)
        seen = self._seen.last
        with self._connections.lent() as connection, connection.pipeline():  # both answers in one round trip
            found = facts.rows_from(connection, after, limit + (after > 0))
            head = facts.head_of(connection)
            rows = list(found)
        self._seen.check_head(seen, head)
        records = following(list(self._seen.held_against(seen, rows)), after)
        if rows and rows[0][0] <= max(seen.seq, 1) and rows[-1][0] > seen.seq:  # it follows from what was seen
            self._seen.note(Position(rows[-1][0], rows[-1][9]))
        return records

    def about(self, subject: str, limit: int) -> list[Record]:
        with self._connections.lent() as connection:
            return records_of(facts.rows_about(connection, subject, max(limit, 0)))

    # Snapshots

    def load(self) -> tuple[Region, int]:
        with self._connections.lent() as connection:
            region, header = shelf.newest(snapshots.shelf(connection))
        if header is None:
            return region, 0
        self._seen.note(Position(header.seq, header.mark))
        return region, header.seq

    def snapshot(self, region: Region, seq: int) -> None:
        seen = self._seen.last
        shelf.check_happened(seq, self.head())
        with self._connections.lent() as connection:
            self._seen.check_kept(seen, facts.chain_at(connection, seen.seq))
            place = Position(seq, facts.chain_at(connection, seq))
            snapshots.keep(connection, region, place, self._keys.snapshots, self._part_bytes)

    # Care

    def verify(self) -> Iterator[str]:
        try:
            with self._connections.lent() as connection:
                head, end = facts.ends_of(connection)
            yield from flaws_in(self._rows_after, end)
            with self._connections.lent() as connection:
                if head.seq != end:
                    yield f"The facts of the journal end at record {end}, and its head stands at record {head.seq}."
                elif facts.chain_at(connection, end) != head.chain:
                    yield f"Record {end} of the journal is not the one at which its head stands."
                yield from shelf.flaws(snapshots.shelf(connection))
        except JournalFault as flaw:
            yield str(flaw)

    def ailment(self) -> str:
        """Always empty: only trying would tell, and the follower tries all the time (``Standing.stale``)."""
        return ""

    def _rows_after(self, seq: int, limit: int) -> list[Row]:
        with self._connections.lent() as connection:
            return list(facts.rows_from(connection, seq + 1, limit))

    def close(self) -> None:
        self._connections.close()
        self.shared.close()
        self._writer.close()
