"""A look at a data directory before anything in it is opened for writing.

Whatever is wrong is said here, while every byte is still as it was found.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from forewarn.core.facts import FORMAT
from forewarn.plane.ports import JournalFault
from forewarn.stores.codec import newer_format
from forewarn.stores.rows import START, checked
from forewarn.stores.snapshots import files as snapshot_files
from forewarn.stores.snapshots import shelf
from forewarn.stores.sqlite import file as sqlite_file
from forewarn.stores.sqlite import head_note, write_ahead

_RESTORE = "Nothing was changed; restore the data directory from a backup"
_QUICKLY_CHECKED_BYTES = 512 << 20  # ours: larger files are checked where they are read, and by verify


def survey(directory: Path) -> bool:
    """Whether there is a journal. Raises ``JournalFault`` when there is one that must not be used."""
    path = directory / sqlite_file.NAME
    if not path.exists():
        _check_nothing_is_left(directory, path)
        return False
    _check_preamble(path)
    _check_log(path)
    try:
        connection = sqlite_file.open_for_survey(path)
        try:
            _check_content(connection, path)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise sqlite_file.fault(path, error) from error
    return True


def _check_nothing_is_left(directory: Path, path: Path) -> None:
    left = [found.name for found in (sqlite_file.wal_of(path), *snapshot_files.listed(directory)) if found.exists()]
    if head_note.read(directory) is not None:
        left.append(head_note.NAME)
    if left:
        raise JournalFault(
            f"The journal {path} is missing, though what belongs to it is still there: {', '.join(left)}. Bring it "
            "back, or move the rest away to begin anew."
        )


def _check_preamble(path: Path) -> None:
    found = sqlite_file.preamble(path)
    size = path.stat().st_size
    if not found.is_sqlite or size < sqlite_file.SMALLEST:
        raise JournalFault(f"The file {path} is not a journal, or is damaged from its first byte on. {_RESTORE}.")
    if found.application != sqlite_file.APPLICATION:
        raise JournalFault(
            f"The file {path} is a SQLite file of another program. Nothing was changed; choose another data directory."
        )
    if found.layout > sqlite_file.LAYOUT:
        raise JournalFault(newer_format(f"The journal {path}", found.layout, sqlite_file.LAYOUT, _written_by(path)))
    wal = sqlite_file.wal_of(path)
    logged = wal.exists() and wal.stat().st_size > 0
    if not logged and size < found.pages * found.page_bytes:
        raise JournalFault(
            f"The journal {path} was cut short: {size} bytes of {found.pages * found.page_bytes}. {_RESTORE}."
        )


def _check_log(path: Path) -> None:
    """Check the write-ahead log before SQLite opens it: SQLite takes a damaged frame for the end of the log."""
    log = sqlite_file.wal_of(path)
    if log.exists() and write_ahead.is_damaged(log, path):
        raise JournalFault(f"The write-ahead log {log} is damaged: the journal would lose records. {_RESTORE}.")


def _written_by(path: Path) -> str:
    """The version that wrote the file, if that can be read at all from a layout we do not know."""
    try:
        connection = sqlite_file.open_for_survey(path)
        try:
            row = connection.execute(sqlite_file.WRITTEN_BY).fetchone()
        finally:
            connection.close()
    except sqlite3.Error:
        return ""
    return str(row[0]) if row else ""


def _check_content(connection: sqlite3.Connection, path: Path) -> None:
    last = connection.execute(f"{sqlite_file.SELECT} ORDER BY seq DESC LIMIT 1").fetchone()
    if last is not None and last[1] > FORMAT:
        row = connection.execute(sqlite_file.WRITTEN_BY).fetchone()
        raise JournalFault(newer_format(f"The journal {path}", last[1], FORMAT, row[0] if row else ""))
    if path.stat().st_size <= _QUICKLY_CHECKED_BYTES:
        _check_pages(connection, path)
    head = last[0] if last is not None else 0
    since = _check_snapshots(connection, path, head)
    _check_note(connection, path, head)
    rows = connection.execute(f"{sqlite_file.SELECT} WHERE seq > ? ORDER BY seq", (since,))
    for _ in checked(rows, since, chain_at(connection, since)):
        pass


def _check_pages(connection: sqlite3.Connection, path: Path) -> None:
    (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if result != "ok":
        raise JournalFault(f"The journal {path} is damaged. {_RESTORE}. (SQLite says: {result}.)")


def _check_note(connection: sqlite3.Connection, path: Path, head: int) -> None:
    """Refuse a journal that lacks the record which the head note says was committed."""
    noted = head_note.read(path.parent)
    if noted is not None and chain_at(connection, noted.seq) != noted.chain:
        raise JournalFault(
            f"The note {path.parent / head_note.NAME} says that record {noted.seq} was committed last, but the journal "
            f"{path} ends at record {head} or holds another one there: it has lost records, or belongs elsewhere. "
            f"{_RESTORE}, or move the note and the snapshots away to go on with what the journal holds."
        )


def _check_snapshots(connection: sqlite3.Connection, path: Path, head: int) -> int:
    """Refuse a journal that lacks a record which a snapshot stands for; else the newest such record."""
    newest = 0
    for found, header in shelf.headers(snapshot_files.shelf(path.parent)):
        if chain_at(connection, header.seq) != header.mark:
            raise JournalFault(
                f"The snapshot {found} stands for record {header.seq}, but the journal {path} ends at record {head} or "
                f"holds another one there: it has lost records, or belongs elsewhere. {_RESTORE}, or move the "
                "snapshots away to go on with what the journal holds."
            )
        newest = max(newest, header.seq)
    return newest


def chain_at(connection: sqlite3.Connection, seq: int) -> bytes:
    """The chain after record ``seq``: where the next one has to fit."""
    row = connection.execute("SELECT chain FROM facts WHERE seq = ?", (seq,)).fetchone()
    return row[0] if row is not None and isinstance(row[0], bytes) else START
