"""The one connection that appends: take the head's lock, hand out what others wrote, append, commit.

Two round trips for a block, one for each end of it, and one more to date commands that came after it was begun. The
fate of a commit whose answer got lost is found out by taking the lock again: once it is held, the transaction before is
over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from threading import Lock

import psycopg
from psycopg.pq import TransactionStatus

from forewarn.plane.ports import Entry, JournalFault, Record, Uncertain
from forewarn.stores.postgres import facts
from forewarn.stores.postgres.address import ConnectionString
from forewarn.stores.postgres.connections import PostgresSession, Sessions, connect
from forewarn.stores.postgres.errors import explained, fault, said
from forewarn.stores.postgres.facts import Position
from forewarn.stores.postgres.seen import LastSeen
from forewarn.stores.rows import START, Row, checked, records_of, rows_of

# The clock is read after the lock is held; without the step between, it would be read before the wait for it.
_LOCK = """
WITH held AS MATERIALIZED (SELECT seq, chain FROM head FOR UPDATE) SELECT seq, chain, clock_timestamp() FROM held
"""
_FETCHED_AHEAD = 1000  # ours: what others wrote comes along with the lock, if it is not more than a batch
_QUEUE_WARNING = "asyncQueueFillWarning"  # the place in PostgreSQL's source; its words depend on the language
_BETWEEN_TRIES_SECONDS = 0.1  # ours: ten looks a second are no load, and a caller waits for what is found


class _Staged:
    """What one block has read and wants to append."""

    def __init__(self, connection: PostgresSession, address: ConnectionString, seen: LastSeen) -> None:
        self._connection = connection
        self._address = address
        self._seen = seen
        self._entries: list[Entry] = []
        self._last = seen.last
        with connection.pipeline():
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            locked = connection.execute(_LOCK, binary=True)
            rows = facts.rows_from(connection, self._last.seq, _FETCHED_AHEAD)
            row = locked.fetchone()
            self._ahead = list(seen.held_against(self._last, rows))
        self.head = facts.place_in(row)
        assert row is not None
        self.now: datetime = row[2].astimezone(UTC)
        seen.check_head(self._last, self.head)

    def read_clock(self) -> datetime:
        with explained(self._address):
            row = self._connection.execute("SELECT clock_timestamp()", binary=True).fetchone()
        assert row is not None
        now: datetime = row[0]
        return now.astimezone(UTC)

    def since(self, seq: int) -> Sequence[Record]:
        seq = max(seq, 0)
        if seq >= self.head.seq:
            return []
        complete = bool(self._ahead) and self._ahead[-1][0] == self.head.seq
        if seq >= self._last.seq and complete:
            rows = [row for row in self._ahead if row[0] >= seq]
        else:
            with explained(self._address):
                found = facts.rows_from(self._connection, seq, None)
                rows = list(self._seen.held_against(self._last, found))
        records = following(rows, seq)
        self._seen.note(self.head)
        return records

    def append(self, entries: Sequence[Entry]) -> None:
        self._entries.extend(entries)

    def rows(self) -> list[Row]:
        return list(rows_of(self._entries, self.head.seq, self.head.chain))


def following(rows: Sequence[Row], seq: int) -> list[Record]:
    """The records after ``seq``, in rows that begin with it, each checked against the one before."""
    first, chain = (1, rows[0][9]) if rows and rows[0][0] == seq else (0, START)
    return records_of(checked(rows[first:], seq, chain))


class BlockWriter:
    """Writes blocks, one at a time, over a session of its own; says of each whether it was done."""

    def __init__(self, address: ConnectionString, connections: Sessions, seen: LastSeen, channel: str) -> None:
        self._address = address
        self._connections = connections
        self._seen = seen
        self._channel = channel
        self._writing = Lock()
        self._connection: PostgresSession | None = None
        self._warnings: list[str] = []

    @contextmanager
    def write(self) -> Iterator[_Staged]:
        with self._writing:
            try:
                with explained(self._address):
                    connection = self._connected()
                    staged = _Staged(connection, self._address, self._seen)
                yield staged
                rows = staged.rows()
                if rows:
                    self._commit(connection, rows)
            except BaseException:
                self._hang_up()
                raise
            self._leave()

    def _connected(self) -> PostgresSession:
        self._connections.check_open()
        if self._connection is not None and not self._connection.usable():
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = connect(self._address)
            self._connection.add_notice_handler(self._hear)
        return self._connection

    def _leave(self) -> None:
        """Roll back. A connection that cannot even do that is closed."""
        connection = self._connection
        if connection is None:
            return
        with suppress(psycopg.Error):  # and the next block will find out
            if connection.pgconn.transaction_status != TransactionStatus.IDLE:
                connection.execute("ROLLBACK")

    def _hang_up(self) -> None:
        """Close the session after an error in a pipeline.

        psycopg may believe statements prepared that are not, and fail for ever. The server rolls back what an ended
        session had begun.
        """
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # Committing

    def _commit(self, connection: PostgresSession, rows: Sequence[Row]) -> None:
        last = Position(rows[-1][0], rows[-1][9])
        with explained(self._address):
            if facts.is_large(rows):
                facts.copy(connection, rows)
        self._warnings.clear()
        try:
            with connection.pipeline():
                if facts.is_large(rows):
                    facts.move_head(connection, rows[-1], self._channel)
                else:
                    facts.insert(connection, rows, self._channel)
                connection.execute("COMMIT")
        except psycopg.Error as error:
            if error.diag.severity_nonlocalized == "ERROR":  # the server has said no, and is still there
                raise fault(self._address, error) from error
            self._find_out(last, error)
        if self._warnings:
            raise Uncertain(
                f"The journal {self._address} has committed with a warning: the facts are there, but may not outlive a "
                f"failover. (PostgreSQL says: {'; '.join(self._warnings)}.)"
            )
        self._seen.note(last)

    def _hear(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        """Notices of a commit.

        One that was canceled while it waited for a standby succeeds with a warning: not what was asked for.

        Triggers warn as well, and those have a context; so does a queue of notifications that fills up.
        """
        if diagnostic.severity_nonlocalized != "WARNING" or diagnostic.context:
            return
        if diagnostic.source_function != _QUEUE_WARNING:
            self._warnings.append(diagnostic.message_primary or "")

    def _find_out(self, last: Position, error: psycopg.Error) -> None:
        """Return if the commit whose answer got lost was done; raise otherwise."""
        deadline = time.monotonic() + self._address.patience.finding_out_seconds
        while True:
            try:
                done = self._is_there(last, deadline)
                break
            except (psycopg.Error, JournalFault) as reason:
                if time.monotonic() + _BETWEEN_TRIES_SECONDS > deadline:
                    raise Uncertain(
                        f"The journal {self._address} went away while it was told to commit: the facts are there, or "
                        "they are not, but never half of them. Look before you try again. "
                        f"(PostgreSQL says: {said(self._address, reason)}.)"
                    ) from error
                time.sleep(_BETWEEN_TRIES_SECONDS)
        if not done:
            raise fault(self._address, error) from error

    def _is_there(self, last: Position, deadline: float) -> bool:
        """Whether the record is in the journal.

        With the head's lock held no transaction is under way: if not now, then never.

        One that is there may not have reached the standbys yet. A commit of our own, after it, waits for them.
        """
        with connect(self._address) as connection, connection.transaction():
            connection.add_notice_handler(self._hear)
            patience = max(int((deadline - time.monotonic()) * 1000), 1)
            connection.execute(f"SET LOCAL lock_timeout = {patience}".encode())
            connection.execute(_LOCK)
            is_there = facts.chain_at(connection, last.seq) == last.chain
            if is_there:
                connection.execute("UPDATE head SET written_by = written_by")
        return is_there

    def close(self) -> None:
        """Called after ``connections.close``: a thread that waits for its turn finds the journal closed."""
        with self._writing:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
