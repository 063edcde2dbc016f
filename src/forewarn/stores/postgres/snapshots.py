"""Snapshots in the database, where every node finds them: whole or not there, the last two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader, RawIOBase
from typing import BinaryIO, cast

from psycopg import InternalError

from forewarn.core.region import Region
from forewarn.stores.postgres.connections import PostgresSession
from forewarn.stores.postgres.facts import Position
from forewarn.stores.snapshots import region as snapshots
from forewarn.stores.snapshots.region import Unusable
from forewarn.stores.snapshots.shelf import KEPT, Kept

PART_BYTES = 1 << 20  # one is in memory at a time, on both ends; PostgreSQL itself takes 1 GiB in a field
_DAMAGED = "XX"  # the class of errors that a broken page causes
_COPY = "COPY snapshots (seq, part, bytes) FROM STDIN (FORMAT BINARY)"
_FORGET = """
DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots WHERE part = 0 ORDER BY seq DESC LIMIT %s)
"""


def keep(connection: PostgresSession, region: Region, place: Position, key: int, part_bytes: int = PART_BYTES) -> None:
    """Write a snapshot beside the others, then delete the oldest, under the advisory lock ``key``."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (key,))
        connection.execute("DELETE FROM snapshots WHERE seq = %s", (place.seq,))
        with connection.cursor().copy(_COPY) as writing:
            writing.set_types(("int8", "int4", "bytea"))
            for part, piece in enumerate(_in_parts(snapshots.pack(region, *place), part_bytes)):
                writing.write_row((place.seq, part, piece))
        connection.execute(_FORGET, (KEPT,))


def shelf(connection: PostgresSession) -> Iterator[Kept]:
    rows = connection.execute("SELECT DISTINCT seq FROM snapshots ORDER BY seq DESC").fetchall()
    return (Kept(f"of record {seq}", partial(_opened, connection, seq)) for (seq,) in rows)


@contextmanager
def _opened(connection: PostgresSession, seq: int) -> Iterator[BinaryIO]:
    """The bytes of a snapshot, as they are now even if another node lets go of it meanwhile."""
    try:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield cast(BinaryIO, BufferedReader(_Parts(connection, seq), PART_BYTES))
    except InternalError as flaw:
        if (flaw.sqlstate or "").startswith(_DAMAGED):
            raise Unusable(f"it is damaged: {flaw}") from flaw
        raise


class _Parts(RawIOBase):
    """A snapshot's rows as one stream; one row at a time is in memory."""

    def __init__(self, connection: PostgresSession, seq: int) -> None:
        self._connection = connection
        self._seq = seq
        self._part = 0
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    # Narrower than any buffer: BufferedReader asks with a memoryview
    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = memoryview(self._next())
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def _next(self) -> bytes:
        query = "SELECT bytes FROM snapshots WHERE seq = %s AND part = %s"
        row = self._connection.execute(query, (self._seq, self._part), binary=True).fetchone()
        self._part += 1
        return b"" if row is None else row[0]


def _in_parts(pieces: Iterable[bytes], part_bytes: int) -> Iterator[bytes]:
    gathered = bytearray()
    for piece in pieces:
        gathered += piece
        while len(gathered) >= part_bytes:
            yield bytes(gathered[:part_bytes])
            del gathered[:part_bytes]
    if gathered:
        yield bytes(gathered)
