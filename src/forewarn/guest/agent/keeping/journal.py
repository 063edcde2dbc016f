"""The agent's memory across crashes and reboots: records appended to one file, each on disk before it is acted on.

A crash can tear the last line only; it is cut off, because what it announced was not begun. A line that is wrong
anywhere else means that the file was spoiled by others: it is set aside and the agent keeps what it could read,
since not to restore would be worse.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from forewarn.guest.agent.deciding.state import Record, State, fold, fold_all, snapshot
from forewarn.guest.agent.keeping.lines import BadLine, decode, encode

FILE_NAME = "journal"
_OWN_FILE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC  # never one that a link leads to
_COMPACT_AFTER = 500  # records; a quiet agent writes none at all


class Busy(Exception):  # noqa: N818 - it reads as what it is
    """Another agent has this state directory."""


class Journal:
    """One writer. ``state`` is what all records together say."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        self._path = directory / FILE_NAME
        self._lock = _lock(directory)
        self.spoiled = ""  # a sentence, where the file was not as we had left it
        self._file: int | None = None
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        """Read what is there, and make it durable before it is acted on, the names as well."""
        records, whole = self._read()
        self.state = fold_all(records)
        self._count = len(records)
        if not whole or records:
            self._compact()
        else:
            self._file = os.open(self._path, _OWN_FILE, 0o600)
            _sync_directory(self._directory)
            with suppress(PermissionError):  # whoever may not look into it has not made our directory there
                _sync_directory(self._directory.parent)

    def write(self, record: Record) -> State:
        """Returns when the record is on disk; then it is safe to do what it announces."""
        if self._file is None or self._count >= _COMPACT_AFTER:
            self._compact()
        assert self._file is not None
        size = os.fstat(self._file).st_size
        try:
            _write_all(self._file, encode(record))
            os.fdatasync(self._file)
        except OSError:
            self._take_back(size)
            raise
        self.state = fold(self.state, record)
        self._count += 1
        return self.state

    def close(self) -> None:
        self._let_go()
        os.close(self._lock)

    def _let_go(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError):  # what matters in it is synced
                os.close(file)

    def _take_back(self, size: int) -> None:
        """The record must not be read later: what it announces is not done.

        It is cut off, and because nothing that was written here is certain any more, a new file takes the place of this
        one. A disk that does not even allow that leaves it to the next write, or to the next start.
        """
        assert self._file is not None
        with suppress(OSError):
            os.ftruncate(self._file, size)
        try:
            self._compact()
        except OSError:
            self._let_go()

    def _read(self) -> tuple[list[Record], bool]:
        """The records, and whether the file holds nothing else."""
        try:
            lines = self._path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return [], True
        records: list[Record] = []
        for number, line in enumerate(lines, start=1):
            try:
                records.append(decode(line if line.endswith(b"\n") else b""))
            except BadLine as problem:
                torn = not line.endswith(b"\n") or b"\0" in line  # the middle of it is a hole: the power went
                if number < len(lines) or not torn:
                    self._set_aside(f"line {number} of {self._path} cannot be read: {problem}")
                return records, False
        return records, True

    def _set_aside(self, why: str) -> None:
        kept = self._path.with_suffix(".spoiled")
        kept.unlink(missing_ok=True)  # whatever stands there, a link above all, is not written to
        file = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _write_all(file, self._path.read_bytes())
        finally:
            os.close(file)
        self.spoiled = f"{why}; what follows it is not used, and the file is kept as {kept}"

    def _compact(self) -> None:
        """One record instead of all, in a new file that takes the place of the old one whole or not at all."""
        fresh = self._path.with_suffix(".new")
        file = os.open(fresh, _OWN_FILE | os.O_TRUNC, 0o600)
        try:
            _write_all(file, encode(snapshot(self.state)))
            os.fsync(file)
            fresh.replace(self._path)
            _sync_directory(self._directory)
        except OSError:
            os.close(file)
            raise
        self._let_go()
        self._file, self._count = file, 1


class Memory:
    """A journal that nobody reads again: for a dry run."""

    def __init__(self, state: State | None = None) -> None:
        self.state = state or State()
        self.spoiled = ""

    def write(self, record: Record) -> State:
        self.state = fold(self.state, record)
        return self.state

    def close(self) -> None:
        """Nothing is held."""


def peek(directory: Path) -> State:
    """What a journal says, without taking it: for those who only look."""
    records: list[Record] = []
    try:
        lines = (directory / FILE_NAME).read_bytes().splitlines(keepends=True)
    except OSError:
        return State()
    for line in lines:
        try:
            records.append(decode(line if line.endswith(b"\n") else b""))
        except BadLine:
            break
    return fold_all(records)


def _lock(directory: Path) -> int:
    file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise Busy(f"another agent is at work with {directory}") from None
    return file


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
