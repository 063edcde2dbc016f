"""The SQLite file of a journal: its shape, how it is made and opened, and what its errors mean to a person."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from struct import unpack_from
from typing import NamedTuple

from forewarn import __version__
from forewarn.durable import OWN, replace, sync_directory, sync_file
from forewarn.plane.ports import JournalFault
from forewarn.stores.rows import COLUMNS
from forewarn.stores.sqlite import write_ahead

NAME = "journal.sqlite3"
APPLICATION = int.from_bytes(b"FWjr")  # how tools that know many files tell ours
SMALLEST = 512  # bytes: one page, of the smallest kind
LAYOUT = 1  # of the tables; the facts in them carry a format of their own

_TABLES = """
CREATE TABLE facts (
    seq INTEGER PRIMARY KEY,
    format INTEGER NOT NULL,
    at TEXT NOT NULL,
    command TEXT NOT NULL,
    door TEXT NOT NULL,
    who TEXT NOT NULL,
    request_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    body BLOB NOT NULL,
    chain BLOB NOT NULL
);
CREATE INDEX facts_by_subject ON facts (subject);
CREATE TABLE properties (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
SELECT = f"SELECT {', '.join(COLUMNS)} FROM facts"  # noqa: S608 - our own names
INSERT = f"INSERT INTO facts VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 - question marks
WRITTEN_BY = "SELECT value FROM properties WHERE name = 'written_by'"

_PATIENCE_SECONDS = 5.0  # Python's own default: with another program that has the file open, such as the sqlite3 shell
_WAL_PAGES = 4000  # ours, about 16 MB: then the log is folded into the file; SQLite's default of 1000 syncs more often
# Ours: what a busy minute writes; without a limit SQLite keeps the largest size that it ever had
_WAL_BYTES_KEPT = 64 << 20


class Preamble(NamedTuple):
    """What stands at the beginning of every SQLite file, read without SQLite."""

    is_sqlite: bool
    page_bytes: int
    pages: int
    layout: int
    application: int


def preamble(path: Path) -> Preamble:
    with path.open("rb") as file:
        head = file.read(100).ljust(100, b"\0")
    page_bytes = unpack_from(">H", head, 16)[0]
    return Preamble(
        is_sqlite=head.startswith(b"SQLite format 3\0"),
        page_bytes=65536 if page_bytes == 1 else page_bytes,
        pages=unpack_from(">I", head, 28)[0],
        layout=unpack_from(">I", head, 60)[0],
        application=unpack_from(">I", head, 68)[0],
    )


def wal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def shm_of(path: Path) -> Path:
    """The shared-memory file, by which all connections coordinate.

    Without it others would not see ours, and could empty the log.
    """
    return path.with_name(f"{path.name}-shm")


def create(path: Path) -> None:
    """A new file under its name only when it is complete, so that a half-made one never has to be understood."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    for stale in path.parent.glob(f"{unfinished.name}*"):
        stale.unlink()
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | OWN, 0o600))
    connection = _connect(unfinished, "mode=rw")
    try:
        connection.executescript(
            f"PRAGMA journal_mode=WAL; BEGIN; {_TABLES} PRAGMA application_id={APPLICATION};"
            f"PRAGMA user_version={LAYOUT}; COMMIT;"
        )
        connection.execute("INSERT INTO properties VALUES ('written_by', ?)", (__version__,))
    finally:
        connection.close()
    sync_file(unfinished)
    replace(unfinished, path)
    sync_directory(path.parent)


def open_writer(path: Path) -> sqlite3.Connection:
    connection = _connect(path, "mode=rw&psow=1")
    try:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint={_WAL_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit={_WAL_BYTES_KEPT}")
        connection.execute(WRITTEN_BY).fetchone()  # which makes the log's file
        _sync_entries(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _sync_entries(path: Path) -> None:
    """Sync the directory. SQLite does so itself, but does not check whether it worked."""
    try:
        sync_directory(path.parent)
    except OSError as flaw:
        raise JournalFault(
            f"The data directory {path.parent} could not be forced to the disk: {flaw.strerror}. Nothing was changed; "
            "check the disk."
        ) from flaw


def make_sure(path: Path) -> None:
    """Sync all that is there before anything is built on it. The system may show bytes that are not on disk yet."""
    log = wal_of(path)
    if log.exists():
        write_ahead.renew(log)
    sync_file(path)
    sync_directory(path.parent)


def open_reader(path: Path) -> sqlite3.Connection:
    return _connect(path, "mode=ro")


def open_for_survey(path: Path) -> sqlite3.Connection:
    """A connection that leaves the file, its write-ahead log and the directory as they are.

    ``immutable`` makes no side files; with a log to be read there already are side files, and opened for reading
    only, SQLite neither folds the log into the file nor removes it.
    """
    wal = wal_of(path)
    logged = wal.exists() and wal.stat().st_size > 0
    return _connect(path, "mode=ro" if logged else "immutable=1")


def _connect(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        uri=True,
        timeout=_PATIENCE_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


_RESTORE = "It was not touched; restore the data directory from a backup."
_MEANINGS = {
    sqlite3.SQLITE_ERROR: f"has not the shape of a journal. {_RESTORE}",
    sqlite3.SQLITE_FULL: "could not be written, because the disk is full. Nothing was changed; free some space.",
    sqlite3.SQLITE_IOERR: "could not be read or written. Nothing was changed; check the disk and its free space.",
    sqlite3.SQLITE_CORRUPT: f"is damaged. {_RESTORE}",
    sqlite3.SQLITE_NOTADB: f"is damaged. {_RESTORE}",
    sqlite3.SQLITE_BUSY: "is held by another program. Close whatever has it open and try again.",
    sqlite3.SQLITE_LOCKED: "is held by another program. Close whatever has it open and try again.",
    sqlite3.SQLITE_READONLY: "may not be written. Check the permissions of the data directory.",
    sqlite3.SQLITE_PERM: "may not be opened. Check the permissions of the data directory.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Check that the data directory is there, and its permissions.",
}


def came_before_the_end(error: sqlite3.Error) -> bool:
    """Whether a commit failed before its last frame was written.

    The frame that ends a commit is the last write of all (``psow=1``: nothing is added to fill a sector). So it is not
    in the log, or not whole, and the others count for nothing.
    """
    return getattr(error, "sqlite_errorcode", 0) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)


def doubt(path: Path, error: sqlite3.Error) -> str:
    """The sentence that refuses every write after a commit that failed and could not be undone."""
    return (
        f"The journal {path} could not be forced to the disk, so nobody knows what a restart would find there. Nothing "
        f"more is written until that works; check the disk. (SQLite said: {error}.)"
    )


def uncertain(path: Path, error: sqlite3.Error) -> str:
    """What the callers of such a commit are told."""
    return (
        f"The journal {path} could not be forced to the disk when it was told to commit: after a restart the facts are "
        "there, or they are not, but never half of them. Look before you try again; check the disk. "
        f"(SQLite says: {error}.)"
    )


def fault(path: Path, error: sqlite3.Error) -> JournalFault:
    """What went wrong, for a person."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    meaning = _MEANINGS.get(code, "could not be used. Nothing was changed.")
    return JournalFault(f"The journal {path} {meaning} (SQLite says: {error}.)")
