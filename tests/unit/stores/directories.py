"""Data directories to try things on."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit

from forewarn.core.region import Region
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.unit.stores.examples import entries

RECORDS = 40
VOLATILE = {"lock", "journal.sqlite3-shm"}  # hold nothing that anybody would miss


def fill(directory: Path, snapshots: tuple[int, ...] = (10, 20), prefix: str = "vm") -> SqliteJournal:
    """A journal with some records and snapshots, open."""
    journal = SqliteJournal(directory)
    append(journal, RECORDS, prefix)
    for seq in snapshots:
        journal.snapshot(Region(lone_vms_made=seq), seq)
    return journal


def append(journal: SqliteJournal, count: int, prefix: str = "vm") -> None:
    with journal.write() as transaction:
        transaction.append(entries(count, prefix))


def closed(directory: Path, snapshots: tuple[int, ...] = (10, 20), prefix: str = "vm") -> Path:
    """A directory that a server has left in good order."""
    fill(directory, snapshots, prefix).close()
    return directory


def crashed(directory: Path, snapshots: tuple[int, ...] = (10, 20)) -> Path:
    """A directory as a power cut leaves it: the log is not yet in the file."""
    journal = fill(directory.with_name("running"), snapshots)
    shutil.copytree(directory.with_name("running"), directory)
    journal.close()
    assert (directory / "journal.sqlite3-wal").stat().st_size > 0
    return directory


def content(directory: Path) -> dict[str, bytes]:
    """Every byte that matters."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name not in VOLATILE}


@contextmanager
def tampering(directory: Path) -> Iterator[sqlite3.Connection]:
    """Somebody with a tool of their own."""
    connection = sqlite3.connect(directory / "journal.sqlite3", isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def full_disk(most_bytes: int) -> Iterator[None]:
    """No file of this process may grow beyond so much."""
    before = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        setrlimit(RLIMIT_FSIZE, before)
