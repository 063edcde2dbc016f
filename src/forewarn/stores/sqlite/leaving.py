"""A data directory opened to be taken elsewhere: held against servers, surveyed as for a start, and left as it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from forewarn.plane.ports import JournalFault
from forewarn.stores.rows import Row, flaws_in
from forewarn.stores.sqlite import file as sqlite_file
from forewarn.stores.sqlite.lock import DirectoryLock
from forewarn.stores.sqlite.survey import survey

_LAST = f"{sqlite_file.SELECT} ORDER BY seq DESC LIMIT 1"


class WholeJournal:
    """Every row of a journal that no server writes to; ``JournalFault`` where it is empty or damaged."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._connection = connection
        last: Row | None = connection.execute(_LAST).fetchone()
        if last is None:
            raise JournalFault(f"The journal {path} holds nothing yet. Nothing was written.")
        self.last = last
        flaw = next(flaws_in(self._rows_after, last[0]), "")
        if flaw:
            raise JournalFault(f"{path} is damaged: {flaw} Nothing was written; restore a backup.")

    def rows(self) -> Iterator[Row]:
        return iter(self._connection.execute(f"{sqlite_file.SELECT} ORDER BY seq"))

    def _rows_after(self, seq: int, limit: int) -> list[Row]:
        query = f"{sqlite_file.SELECT} WHERE seq > ? ORDER BY seq LIMIT ?"
        return self._connection.execute(query, (seq, limit)).fetchall()


@contextmanager
def held(data: Path) -> Iterator[WholeJournal]:
    """The journal of a data directory, every record checked; no server may run on it meanwhile."""
    path = data / sqlite_file.NAME
    if not path.is_file():
        raise JournalFault(f"There is no journal in {data}; nothing was written.")
    try:
        lock = DirectoryLock(data)
    except OSError as flaw:
        raise JournalFault(f"The data directory {data} cannot be used: {flaw.strerror}.") from flaw
    try:
        survey(data)
        with closing(sqlite_file.open_for_survey(path)) as connection:
            yield WholeJournal(path, connection)
    except sqlite3.Error as error:
        raise sqlite_file.fault(path, error) from error
    finally:
        lock.release()
