"""A backup of a data directory, also while a server runs on it, and the way back.

Both make a whole file under another name, check every record of it, force it to the disk and then give it its name: who
is killed in between leaves what was there before, and a file that ends in ``.unfinished``.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from forewarn.durable import OWN, replace, sync_directory, sync_file
from forewarn.plane.ports import JournalFault
from forewarn.stores.rows import Row, flaws_in
from forewarn.stores.sqlite import file as sqlite_file
from forewarn.stores.sqlite import own_directory
from forewarn.stores.sqlite.lock import DirectoryLock

_HEAD = "SELECT coalesce(max(seq), 0) FROM facts"


def back_up(data: Path, target: Path) -> int:
    """Write the journal of a data directory to a file that is not there yet. How many records it holds."""
    source = data / sqlite_file.NAME
    if not source.is_file():
        raise JournalFault(f"There is no journal in {data}; nothing was written.")
    if target.exists():
        raise JournalFault(f"{target} is there already, and is left as it is; name a new file.")
    try:
        return _copied(source, target, "DELETE")
    except OSError as flaw:
        raise JournalFault(f"The backup {target} cannot be written: {flaw.strerror}.") from flaw


def restore(backup: Path, data: Path) -> int:
    """Make a data directory from a backup, where there is no region yet. How many records it holds."""
    try:
        found = sqlite_file.preamble(backup)
    except OSError as flaw:
        raise JournalFault(f"The backup {backup} cannot be read: {flaw.strerror}.") from flaw
    if not found.is_sqlite or found.application != sqlite_file.APPLICATION:
        raise JournalFault(f"{backup} is no backup of a region; nothing was written.")
    if found.layout > sqlite_file.LAYOUT:
        raise JournalFault(f"{backup} was written by a newer forewarn; restore it with that one.")
    try:
        own_directory.prepare(data)
        lock = DirectoryLock(data)
        try:
            _check_empty(data)
            return _copied(backup, data / sqlite_file.NAME, "WAL")
        finally:
            lock.release()
    except OSError as flaw:
        raise JournalFault(f"The data directory {data} cannot be used: {flaw.strerror}.") from flaw


def _check_empty(data: Path) -> None:
    ours = (data / sqlite_file.NAME, data / "head", *data.glob("snapshot-*.bin"))
    kept = [path.name for path in ours if path.exists()]
    if kept:
        raise JournalFault(f"{data} holds a region already ({kept[0]}), and is left as it is; name another directory.")


def _copied(source: Path, target: Path, mode: str) -> int:
    """A copy of the file as it was at one moment, checked and on disk before it has its name."""
    unfinished = target.with_name(f"{target.name}.unfinished")
    for stale in target.parent.glob(f"{unfinished.name}*"):
        stale.unlink()
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | OWN, 0o600))
    try:
        with closing(_open(source)) as reading, closing(sqlite3.connect(unfinished)) as writing:
            reading.backup(writing)  # in one step: a reader of the write-ahead log sees one moment, and delays nobody
            writing.execute(f"PRAGMA journal_mode={mode}")
        with closing(sqlite3.connect(unfinished)) as written:
            records = _checked(written, source)
    except sqlite3.Error as flaw:
        raise sqlite_file.fault(source, flaw) from flaw
    sync_file(unfinished)
    replace(unfinished, target)
    sync_directory(target.parent)
    return records


def _open(source: Path) -> sqlite3.Connection:
    """With a server on it, its shared memory is there, and is read along; else the file is left as it is."""
    beside = sqlite_file.shm_of(source).exists()
    return sqlite_file.open_reader(source) if beside else sqlite_file.open_for_survey(source)


def _checked(connection: sqlite3.Connection, source: Path) -> int:
    """All that ``forewarn journal verify`` looks at in the records: their order, their chain, their facts."""

    def rows_after(seq: int, limit: int) -> list[Row]:
        query = f"{sqlite_file.SELECT} WHERE seq > ? ORDER BY seq LIMIT ?"
        return connection.execute(query, (seq, limit)).fetchall()

    head: int = connection.execute(_HEAD).fetchone()[0]
    flaw = next(flaws_in(rows_after, head), "")
    if flaw:
        raise JournalFault(f"{source} is damaged: {flaw} No copy was made of it.")
    return head
