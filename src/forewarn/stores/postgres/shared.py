"""How the nodes of a shared region hear of each other: what was written, who leads, who edits, who is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex
from threading import Lock
from time import monotonic, sleep
from typing import NamedTuple

import psycopg
from psycopg import sql

from forewarn.plane.ports import News, Node
from forewarn.stores.postgres import lead, nodes
from forewarn.stores.postgres.address import ConnectionString
from forewarn.stores.postgres.connections import PostgresSession, Sessions, connect
from forewarn.stores.postgres.errors import explained
from forewarn.stores.postgres.seen import LastSeen
from forewarn.stores.postgres.waiting import Waker, readable

# Ours: between two looks at what is new; where much is written, each brings more and costs the same
_BREATH_SECONDS = 0.01


class SharedNames(NamedTuple):
    """The names of what a region's nodes share. The table of facts gives them: another region has another one."""

    channel: str
    editing: int
    snapshots: int


def keys_of(connection: PostgresSession) -> SharedNames:
    row = connection.execute("SELECT 'facts'::regclass::oid::bigint").fetchone()
    assert row is not None
    oid: int = row[0]
    return SharedNames(f"forewarn_{oid}", oid * 16, oid * 16 + 1)


class PostgresShared:
    """One node among others. The lead goes with the connection that listens."""

    def __init__(self, address: ConnectionString, connections: Sessions, seen: LastSeen, keys: SharedNames) -> None:
        self._address = address
        self._connections = connections
        self._seen = seen
        self._keys = keys
        self._following = Lock()
        self._listener: PostgresSession | None = None
        self._holder = token_hex(8)
        self._withdrawn = False
        self._heard_at = 0.0
        self._waker = Waker()

    # News

    def await_news(self, after: int, seconds: float, *, willing: bool) -> News:
        deadline = monotonic() + seconds
        with self._following, explained(self._address):
            try:
                connection = self._connected()
                news = self._glance(connection, willing)
                if news.head <= after and monotonic() < deadline:
                    self._listen(connection, after, deadline)
                    news = self._glance(connection, willing)  # in any case: a notification may have been missed
                self._heard_at = monotonic()
                return news
            except BaseException:
                self._hang_up()
                raise

    def _connected(self) -> PostgresSession:
        self._connections.check_open()
        if self._listener is None:
            self._listener = connect(self._address)
            self._listener.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._keys.channel)))
        return self._listener

    def _hang_up(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _glance(self, connection: PostgresSession, willing: bool) -> News:
        seen = self._seen.last
        found = lead.glance(connection, self._holder)
        self._seen.check_head(seen, found.head)
        leads = found.mine
        if willing and not self._withdrawn:
            if found.free or (found.mine and not found.fresh):
                leads = lead.claim(connection, self._holder)
        elif found.mine:
            lead.give_up(connection, self._holder)
            leads = False
        return News(found.head.seq, found.now, leads)

    def _listen(self, connection: PostgresSession, after: int, deadline: float) -> None:
        """Wait until a notification says that the head is beyond ``after``, or until the deadline."""
        while (left := deadline - monotonic()) > 0:
            known = max(after, self._seen.last.seq)  # our own writer may have seen it by now
            if any(_is_beyond(known, heard.payload) for heard in list(connection.notifies(timeout=0))):
                sleep(max(0.0, self._heard_at + _BREATH_SECONDS - monotonic()))
                return
            if self._waker.fileno() in readable(left, connection.fileno(), self._waker.fileno()):
                self._waker.calm()
                self._connections.check_open()
                return

    # Editing

    @contextmanager
    def editing(self) -> Iterator[Callable[[], bool]]:
        with self._connections.lent() as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", (self._keys.editing,))
            yield connection.usable
            try:
                connection.execute("SELECT pg_advisory_unlock(%s)", (self._keys.editing,))
            except psycopg.Error:  # what was to be done is done; and a connection that is closed holds no lock
                connection.close()

    # Nodes

    def announce(self, node: Node) -> None:
        with self._connections.lent() as connection:
            nodes.announce(connection, node)

    def withdraw(self, node_id: str) -> None:
        self._withdrawn = True
        self._look_up()
        with self._following:
            pass  # the follower has noticed by now, and will not claim the lead again
        with self._connections.lent() as connection:
            lead.give_up(connection, self._holder)
            nodes.withdraw(connection, node_id)

    def nodes(self) -> list[Node]:
        with self._connections.lent() as connection:
            return nodes.listed(connection)

    def close(self) -> None:
        """Called after ``connections.close``: the follower's next look finds the journal closed."""
        self._look_up()
        with self._following:
            self._hang_up()
            self._waker.close()

    def _look_up(self) -> None:
        self._waker.wake()


def _is_beyond(after: int, payload: str) -> bool:
    return not payload.isdecimal() or int(payload) > after
