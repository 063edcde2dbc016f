"""Connections to a shared region: set up alike, given up when they fall silent, and lent to one thread at a time."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg.rows import TupleRow
from psycopg.waiting import Ready, Wait

from forewarn.plane.ports import JournalFault
from forewarn.stores.postgres.address import PATIENCE, ConnectionString
from forewarn.stores.postgres.errors import explained
from forewarn.stores.postgres.waiting import readable

OLDEST_SERVER = 140000  # PostgreSQL 14, as server_version_num writes it

_LOOK_SECONDS = 0.5  # ours: how late a wait for the database may notice that it is to end
_KEPT_IDLE = 4  # ours: PostgreSQL grants 100 sessions by default, to all nodes together
_T = TypeVar("_T")
logging.getLogger("psycopg").setLevel(logging.ERROR)  # it warns of what it raises as well

# The region is in the first schema of the search_path that is there, and in no other: what follows may not find the
# tables of a neighbour. A commit must be on disk, and on the standbys that the server waits for, before we believe it.
_SETTLE_IN = """
SELECT current_schema(), current_setting('server_encoding'), current_setting('server_version_num')::int,
    set_config('search_path', quote_ident(current_schema()), false),
    set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('on', 'remote_apply')
        THEN current_setting('synchronous_commit') ELSE 'on' END, false)
"""


class PostgresSession(psycopg.Connection[TupleRow]):
    """One session with the server, every statement by itself unless a transaction is begun."""

    schema: str
    silence_seconds = PATIENCE.silence_seconds

    def wait(self, gen: Generator[Wait, Ready | int, _T], *args: Any, **kwargs: Any) -> _T:
        """As psycopg's, but given up when the server has been silent for too long.

        A stopped server, or a network that drops packets, must not keep a thread for ever.
        """
        try:
            return super().wait(_while_it_speaks(gen, self.silence_seconds), *args, **kwargs)
        except _Silent:
            self.pgconn.finish()
            raise psycopg.OperationalError(f"no answer for {self.silence_seconds:g} seconds") from None

    def usable(self) -> bool:
        """Whether an idle session can be used again: in no transaction, and nothing to read.

        A server that went away has left something to read.
        """
        if self.closed or self.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            return False
        return not readable(0, self.fileno())


class _Silent(Exception):  # noqa: N818 - it never leaves this module
    pass


def _while_it_speaks(gen: Generator[Wait, Ready | int, _T], silence_seconds: float) -> Generator[Wait, Ready | int, _T]:
    try:
        wanted = next(gen)
        heard_at = monotonic()
        while True:
            ready = yield wanted
            if ready:
                heard_at = monotonic()
            elif monotonic() - heard_at > silence_seconds:
                raise _Silent
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # StopIteration.value is Any


def connect(address: ConnectionString) -> PostgresSession:
    """A new session in the region's schema; raises ``psycopg.Error`` or ``JournalFault``."""
    # Keywords of libpq, as texts
    connection = PostgresSession.connect(autocommit=True, **address.parameters)  # type: ignore[arg-type]
    connection.silence_seconds = address.patience.silence_seconds
    try:
        _settle_in(connection, address)
    except BaseException:
        connection.close()
        raise
    return connection


def _settle_in(connection: PostgresSession, address: ConnectionString) -> None:
    row = connection.execute(_SETTLE_IN).fetchone()
    assert row is not None
    schema, encoding, version = row[:3]
    if version < OLDEST_SERVER:
        raise JournalFault(
            f"The server of {address} is PostgreSQL {version // 10000}; forewarn needs {OLDEST_SERVER // 10000} or "
            "newer."
        )
    if schema is None:
        raise JournalFault(
            f"There is no schema for the journal {address}: nothing in its search_path is there. Run CREATE SCHEMA, or "
            "correct the address."
        )
    if encoding != "UTF8":
        raise JournalFault(
            f"The database of {address} is encoded as {encoding}, which cannot hold every name. Make one with "
            "ENCODING 'UTF8' TEMPLATE template0."
        )
    settings = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in address.settings.items())
    connection.execute(f"SELECT {settings}".encode())  # our own names and values
    connection.schema = schema


class Sessions:
    """A pool of sessions: lent for one block, kept for the next, at most ``_KEPT_IDLE`` of them idle."""

    def __init__(self, address: ConnectionString) -> None:
        self._address = address
        self._lending = Lock()
        self._idle: list[PostgresSession] = []
        self._closed = False

    @contextmanager
    def lent(self) -> Iterator[PostgresSession]:
        """A session for one thread. Any error closes it, so that none with half a transaction is lent again."""
        with explained(self._address):
            connection = self._take()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._take_back(connection)

    def _take(self) -> PostgresSession:
        while True:
            with self._lending:
                self.check_open()
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return connect(self._address)
            if connection.usable():
                return connection
            connection.close()

    def _take_back(self, connection: PostgresSession) -> None:
        with self._lending:
            if not self._closed and len(self._idle) < _KEPT_IDLE and connection.usable():
                self._idle.append(connection)
                return
        connection.close()

    def check_open(self) -> None:
        if self._closed:
            raise JournalFault(f"The journal {self._address} is closed.")

    def close(self) -> None:
        with self._lending:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
