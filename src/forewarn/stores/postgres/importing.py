"""A whole journal brought over from elsewhere: row by row as it was, with its chain, in one transaction.

Who is killed in between leaves the database as it was. Every row is checked on the way in, and once more as PostgreSQL
gives it back, before anything is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import psycopg

from forewarn.plane.ports import JournalFault, Uncertain
from forewarn.stores.postgres import facts, nodes
from forewarn.stores.postgres.address import ConnectionString
from forewarn.stores.postgres.connections import PostgresSession, connect
from forewarn.stores.postgres.errors import explained, said
from forewarn.stores.postgres.facts import BEGINNING, Position
from forewarn.stores.postgres.schema import ensure
from forewarn.stores.postgres.shared import keys_of
from forewarn.stores.rows import START, Row, checked, flaws_in

# Ours: the clocks of two machines may differ by as much; one that was turned is further ahead.
_CLOCKS_DIFFER = timedelta(minutes=1)
_LOCK = "SELECT seq, chain, clock_timestamp() FROM head FOR UPDATE"


def take_in(conninfo: str, last: Row, rows: Callable[[], Iterable[Row]]) -> bool:
    """Bring in all rows up to ``last``. False where the database holds this very journal, and no more, already."""
    address = ConnectionString(conninfo)
    with explained(address), connect(address) as connection:
        ensure(connection, address)
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        connection.execute("SET LOCAL statement_timeout = 0")  # the whole journal is one statement
        if not _is_wanted(connection, address, last):
            return False
        facts.copy(connection, checked(rows(), 0, START))
        facts.move_head(connection, last, keys_of(connection).channel)
        _check_arrived(connection, address, last)
        try:
            connection.execute("COMMIT")
        except psycopg.OperationalError as error:
            raise Uncertain(
                f"{address} went away while it was told to commit: the journal is there as a whole, or nothing of it "
                f"is. Run the command again; it finds out. (PostgreSQL says: {said(address, error)}.)"
            ) from error
    return True


def _is_wanted(connection: PostgresSession, address: ConnectionString, last: Row) -> bool:
    """Whether the database, whose head is ours from here on, is empty; it is refused where it holds anything else."""
    row = connection.execute(_LOCK, binary=True).fetchone()
    head = facts.place_in(row)
    assert row is not None
    if head == Position(last[0], last[9]):
        return False
    if head != BEGINNING or connection.execute("SELECT FROM snapshots LIMIT 1").fetchone() is not None:
        raise JournalFault(
            f"{address} holds a region already, with {head.seq} records. Nothing was changed; name an empty database, "
            "or a schema of its own."
        )
    if there := nodes.listed(connection):
        names = ", ".join(node.name for node in there)
        raise JournalFault(f"A node runs on {address} ({names}). Nothing was changed; stop it, and try again.")
    at, now = datetime.fromisoformat(last[2]), row[2]
    if at - now > _CLOCKS_DIFFER:
        raise JournalFault(
            f"The journal's last record is of {at:%Y-%m-%dT%H:%M:%SZ}, and the clock of {address} says "
            f"{now:%Y-%m-%dT%H:%M:%SZ}: the region would stand still until then. A journal whose clock was turned "
            "ahead stays where it is. Nothing was changed."
        )
    return True


def _check_arrived(connection: PostgresSession, address: ConnectionString, last: Row) -> None:
    """What the database gives back, still uncommitted, is what was put in."""

    def rows_after(seq: int, limit: int) -> list[Row]:
        return list(facts.rows_from(connection, seq + 1, limit))

    head, end = facts.ends_of(connection)
    flaw = next(flaws_in(rows_after, last[0]), "")
    if not flaw and (head.seq, end, head.chain) != (last[0], last[0], last[9]):
        flaw = f"It ends at record {end}, and not at record {last[0]}."
    if flaw:
        raise JournalFault(f"The journal did not arrive in {address} as it was: {flaw} Nothing was changed.")
