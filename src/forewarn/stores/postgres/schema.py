"""The tables of a shared region: made and brought up to date by the program, once, however many nodes start."""

from __future__ import annotations

import psycopg
from psycopg import sql

from forewarn import __version__
from forewarn.plane.ports import JournalFault
from forewarn.stores.codec import newer_format
from forewarn.stores.postgres.address import ConnectionString
from forewarn.stores.postgres.connections import PostgresSession, connect
from forewarn.stores.postgres.errors import explained
from forewarn.stores.rows import START

# Never change one that was released: add another. Each is done whole, or not at all.
_MIGRATIONS = (
    f"""
    CREATE TABLE layouts (
        layout integer PRIMARY KEY,
        made_by text NOT NULL,
        made_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE facts (
        seq bigint PRIMARY KEY,
        format integer NOT NULL,
        at text NOT NULL, -- as it was hashed into the chain, to the letter
        command text NOT NULL,
        door text NOT NULL,
        who text NOT NULL,
        request_id text NOT NULL,
        subject text NOT NULL,
        body bytea NOT NULL, -- JSON
        chain bytea NOT NULL
    );
    CREATE INDEX facts_by_subject ON facts (subject, seq);
    CREATE TABLE head ( -- one row, which writers lock in turn
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        seq bigint NOT NULL,
        chain bytea NOT NULL,
        written_by text NOT NULL
    );
    INSERT INTO head (seq, chain, written_by) VALUES (0, '\\x{START.hex()}', '{__version__}');
    CREATE TABLE snapshots (
        seq bigint,
        part integer,
        bytes bytea NOT NULL,
        PRIMARY KEY (seq, part)
    );
    ALTER TABLE snapshots ALTER bytes SET STORAGE EXTERNAL; -- compressed already
    CREATE UNLOGGED TABLE lead ( -- at most one row; a crash may empty it and the next table: nodes write them anew
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        holder text NOT NULL,
        pid integer NOT NULL,
        until timestamptz NOT NULL
    );
    CREATE UNLOGGED TABLE nodes (
        id text PRIMARY KEY,
        seen_at timestamptz NOT NULL,
        told text NOT NULL -- JSON
    );
    """,  # noqa: S608 - our own values
)
LAYOUT = len(_MIGRATIONS)

# What a node needs, and no more: the facts can be added to, never changed.
_GRANTS = """
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT ON {schema}.layouts TO {role};
GRANT SELECT, INSERT ON {schema}.facts TO {role};
GRANT SELECT, UPDATE ON {schema}.head TO {role};
GRANT SELECT, INSERT, DELETE ON {schema}.snapshots TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.lead, {schema}.nodes TO {role};
"""

_LOCK_CLASS = int.from_bytes(b"FWjr")  # tells our advisory locks from those of other programs
_LOCK = """
SELECT pg_advisory_xact_lock(%s, oid::bigint::bit(32)::int) FROM pg_namespace WHERE nspname = current_schema()
"""

# Not to_regclass: within a transaction it may remember that there was no such table before another node made it.
_IS_THERE = """
SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relname = 'layouts' AND nspname = current_schema()
"""


def prepare(conninfo: str, grant_to: str = "") -> str:
    """Make the tables or bring them up to date, and let the role ``grant_to`` use them. Says what is there then."""
    address = ConnectionString(conninfo)
    with explained(address), connect(address) as connection:
        ensure(connection, address)
        if grant_to:
            _grant(connection, grant_to)
    granted = f" The role {grant_to} may use it." if grant_to else ""
    return f"The schema {connection.schema} of {address} holds a journal of layout {LAYOUT}.{granted}"


def _grant(connection: PostgresSession, role: str) -> None:
    try:
        connection.execute(grants(connection.schema, role))
    except psycopg.errors.UndefinedObject as error:
        raise JournalFault(f"There is no role {role}. Make it with CREATE ROLE, and try again.") from error


def grants(schema: str, role: str) -> sql.Composed:
    """The statements that let ``role`` run a node."""
    return sql.SQL(_GRANTS).format(schema=sql.Identifier(schema), role=sql.Identifier(role))


def ensure(connection: PostgresSession, address: ConnectionString) -> None:
    """The tables are there and are ours to use, or ``JournalFault`` says why not."""
    found = _layout(connection)
    if found < LAYOUT:
        _bring_up_to_date(connection, address, found)
    if found > LAYOUT:
        row = connection.execute("SELECT made_by FROM layouts ORDER BY layout DESC LIMIT 1").fetchone()
        raise JournalFault(newer_format(f"The journal {address}", found, LAYOUT, row[0] if row else ""))


def _bring_up_to_date(connection: PostgresSession, address: ConnectionString, found: int) -> None:
    try:
        for layout, script in enumerate(_MIGRATIONS, 1):
            with connection.transaction():
                # Another node that starts now waits here, and then finds it done.
                connection.execute(_LOCK, (_LOCK_CLASS,))
                if _layout(connection) < layout:
                    connection.execute(script)
                    connection.execute("INSERT INTO layouts VALUES (%s, %s)", (layout, __version__))
    except psycopg.errors.InsufficientPrivilege as error:
        state = (
            f"is of layout {found}; this is forewarn {__version__}, which needs {LAYOUT}" if found else "is not there"
        )
        raise JournalFault(
            f"The journal {address} {state}, and this role may not make tables in the schema {connection.schema}. Run "
            "`forewarn store prepare --store URL` as a role that may, with --grant and the name of this one."
        ) from error
    except (psycopg.errors.DuplicateTable, psycopg.errors.DuplicateObject) as error:
        raise JournalFault(
            f"The schema {connection.schema} of {address} holds tables of another program. Nothing was changed; give "
            f"the journal a schema of its own. (PostgreSQL says: {error}.)"
        ) from error


def _layout(connection: PostgresSession) -> int:
    """The number of the last migration that was done; 0 where there is no journal."""
    if connection.execute(_IS_THERE).fetchone() is None:
        return 0
    row = connection.execute("SELECT max(layout) FROM layouts").fetchone()
    return int(row[0] or 0) if row is not None else 0
