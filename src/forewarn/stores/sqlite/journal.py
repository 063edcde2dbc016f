"""The journal in a directory: facts in a SQLite file, snapshots beside it, one server at a time.

A block of facts is durable when ``write`` ends: the log is forced to the disk with every commit. Where that fails, the
log is emptied again, or nothing more is written until it could be. Readers have their own connections and never wait
for the writer.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from forewarn import __version__
from forewarn.core.region import Region
from forewarn.plane.ports import Entry, JournalFault, Record, Uncertain
from forewarn.stores.rows import START, Row, checked, flaws_in, records_of, rows_of
from forewarn.stores.snapshots import files as snapshot_files
from forewarn.stores.snapshots import shelf
from forewarn.stores.sqlite import file as sqlite_file
from forewarn.stores.sqlite import own_directory, write_ahead
from forewarn.stores.sqlite.head_note import HeadNote
from forewarn.stores.sqlite.lock import DirectoryLock
from forewarn.stores.sqlite.opened_files import OpenedFiles
from forewarn.stores.sqlite.survey import chain_at, survey

_log = logging.getLogger(__name__)
_LAST = "SELECT seq, chain FROM facts ORDER BY seq DESC LIMIT 1"


class _Staged:
    """What one block has read and wants to append."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._entries: list[Entry] = []

    now = None  # there is one node, with a clock of its own

    def read_clock(self) -> None:
        return None

    def since(self, seq: int) -> Sequence[Record]:
        with _Explained(self._path):
            return _read(self._connection, max(seq, 0), -1)

    def append(self, entries: Sequence[Entry]) -> None:
        self._entries.extend(entries)

    def flush(self) -> Row | None:
        """Hand everything to SQLite. The last row, if there is one."""
        if not self._entries:
            return None
        seq, chain = self._connection.execute(_LAST).fetchone() or (0, START)
        rows = list(rows_of(self._entries, seq, chain))
        self._connection.executemany(sqlite_file.INSERT, rows)
        return rows[-1]


class SqliteJournal:
    """One data directory, held exclusively from construction until ``close``."""

    shared = None

    def __init__(self, directory: Path) -> None:
        self._directory = directory = directory.absolute()
        self._path = directory / sqlite_file.NAME
        self._written = (str(self._path), str(sqlite_file.wal_of(self._path)))  # by a commit
        self._writing = Lock()
        self._shelving = Lock()
        self._lending = Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._writer: sqlite3.Connection | None = None
        self._note: HeadNote | None = None
        self._doubt = ""  # why it is not known what a restart would find; empty while it is
        self._told = ""
        try:
            own_directory.prepare(directory)
            self._lock = DirectoryLock(directory)
            self._standing = OpenedFiles(directory)
        except OSError as flaw:
            raise JournalFault(f"The data directory {directory} cannot be used: {flaw.strerror}.") from flaw
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        try:
            if survey(self._directory):
                sqlite_file.make_sure(self._path)
            else:
                with _Explained(self._path):
                    sqlite_file.create(self._path)
            own_directory.tighten(self._directory)
            snapshot_files.discard_unfinished(self._directory)
            self._note = HeadNote(self._directory)
            for path in (self._lock.path, self._path):
                self._standing.learn(path)
            self._standing.forget(self._directory)  # whatever becomes of it, what is in it is not found any more
        except OSError as flaw:
            raise JournalFault(f"The data directory {self._directory} cannot be used: {flaw.strerror}.") from flaw
        with _Explained(self._path):
            self._sign(self._connected())

    def _sign(self, connection: sqlite3.Connection) -> None:
        """Leave our version in the file, so that an older forewarn can say which one it wants."""
        if connection.execute(sqlite_file.WRITTEN_BY).fetchone() != (__version__,):
            connection.execute("INSERT OR REPLACE INTO properties VALUES ('written_by', ?)", (__version__,))

    # Writing

    @contextmanager
    def write(self) -> Iterator[_Staged]:
        with self._writing:
            if self._doubt:
                self._settle()
            with _Explained(self._path):
                connection = self._connected()
                connection.execute("BEGIN IMMEDIATE")
            try:
                staged = _Staged(self._path, connection)
                yield staged
                with _Explained(self._path):
                    last = staged.flush()
                self._check_standing()
                self._commit(connection, last)
            except BaseException:
                self._roll_back(connection)
                raise

    def _commit(self, connection: sqlite3.Connection, last: Row | None) -> None:
        """Commit.

        After an error the end of the transaction may still be in the log, so it is taken back for certain.
        """
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back(connection)
            if sqlite_file.came_before_the_end(error):
                raise sqlite_file.fault(self._path, error) from error
            self._doubt = sqlite_file.doubt(self._path, error)
            try:
                self._settle()
            except JournalFault:
                raise Uncertain(sqlite_file.uncertain(self._path, error)) from error
            raise sqlite_file.fault(self._path, error) from error
        if last is not None and self._note is not None:
            self._note.write(last[0], last[9])
        if self._standing.flaw(self._written):
            raise Uncertain(f"{self.ailment()} The last commit may have gone with it: look before you try again.")

    def _settle(self) -> None:
        """Clear the doubt: everything acknowledged is moved into the file, and the log is emptied."""
        try:
            self._check_standing()
            with _Explained(self._path):
                (busy, *_) = self._connected().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                write_ahead.force_empty(sqlite_file.wal_of(self._path))
                self._doubt = ""
        except (OSError, JournalFault) as flaw:
            raise JournalFault(self._doubt) from flaw
        finally:
            self.ailment()
        if self._doubt:
            raise JournalFault(self._doubt)

    def _connected(self) -> sqlite3.Connection:
        self._check_open()
        if self._writer is None:
            beside = (sqlite_file.wal_of(self._path), sqlite_file.shm_of(self._path))
            for path in beside:
                self._standing.forget(path)  # the last one to close them may have taken them away
            self._check_standing()
            self._writer = sqlite_file.open_writer(self._path)
            for path in beside:
                self._standing.learn(path)
        return self._writer

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        """Forget the block. A connection that cannot even do that is given up; the next write opens another."""
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._writer = None
            connection.close()

    # What is wrong

    def ailment(self) -> str:
        """Why the journal cannot be used now, or empty. Logged when it changes."""
        found = "" if self._closed else self._doubt or self._standing.flaw()
        if found != self._told:
            self._told = found
            if found:
                _log.error("%s", found)
            else:
                _log.info("The journal %s can be written again.", self._path)
        return found

    def _check_standing(self) -> None:
        if flaw := self._standing.flaw():
            self.ailment()
            raise JournalFault(f"{flaw} Nothing was changed.")

    # Reading

    def head(self) -> int:
        with self._reader() as connection:
            row = connection.execute(_LAST).fetchone()
        return int(row[0]) if row is not None else 0

    def read(self, after: int, limit: int) -> list[Record]:
        with self._reader() as connection:
            return _read(connection, max(after, 0), max(limit, 0))

    def about(self, subject: str, limit: int) -> list[Record]:
        query = f"{sqlite_file.SELECT} WHERE subject = ? ORDER BY seq LIMIT ?"
        with self._reader() as connection:
            return records_of(connection.execute(query, (subject, max(limit, 0))))

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A connection for one thread at a time, lent from those that are idle."""
        with _Explained(self._path):
            with self._lending:
                self._check_open()
                connection = self._idle.pop() if self._idle else self._another_reader()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            with self._lending:
                if not self._closed:
                    self._idle.append(connection)
                    return
            connection.close()

    def _another_reader(self) -> sqlite3.Connection:
        """A new connection, refused where the path leads to another file by now."""
        self._check_standing()
        return sqlite_file.open_reader(self._path)

    # Snapshots

    def load(self) -> tuple[Region, int]:
        self._check_open()
        region, header = shelf.newest(snapshot_files.shelf(self._directory))
        return region, header.seq if header is not None else 0

    def snapshot(self, region: Region, seq: int) -> None:
        shelf.check_happened(seq, self.head())
        with self._reader() as connection:
            mark = chain_at(connection, seq)
        with self._shelving:
            self._check_standing()
            snapshot_files.keep(self._directory, region, seq, mark)

    # Care

    def verify(self) -> Iterator[str]:
        if flaw := self.ailment():
            yield flaw
            return
        try:
            with self._reader() as connection:
                pages = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
            yield from (f"The file {self._path} is damaged: {page}." for page in pages if page != "ok")
            yield from flaws_in(self._rows_after, self.head())
        except JournalFault as flaw:
            yield str(flaw)
        try:
            yield from shelf.flaws(snapshot_files.shelf(self._directory))
        except OSError as flaw:
            yield f"The snapshots in {self._directory} cannot be listed: {flaw.strerror}."

    def _rows_after(self, seq: int, limit: int) -> list[Row]:
        with self._reader() as connection:
            query = f"{sqlite_file.SELECT} WHERE seq > ? ORDER BY seq LIMIT ?"
            return connection.execute(query, (seq, limit)).fetchall()

    def close(self) -> None:
        """Close all connections, the writer's last, so that SQLite folds its log into the file."""
        with self._writing, self._shelving, self._lending:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            note, self._note = self._note, None
            with suppress(OSError):  # what is in these two does not wait for their close
                if note is not None:
                    note.close()
            with suppress(OSError):
                self._lock.release()

    def _check_open(self) -> None:
        if self._closed:
            raise JournalFault(f"The journal {self._path} is closed.")


def _read(connection: sqlite3.Connection, after: int, limit: int) -> list[Record]:
    """Records after ``after``, each checked against the one before it; a negative limit is none."""
    query = f"{sqlite_file.SELECT} WHERE seq > ? ORDER BY seq LIMIT ?"
    rows: list[Row] = connection.execute(query, (after, limit)).fetchall()
    return records_of(checked(rows, after, chain_at(connection, after))) if rows else []


class _Explained:
    """SQLite's errors become the journal's own, in sentences. A class: a write enters two, and generators cost more."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise sqlite_file.fault(self._path, error) from error
