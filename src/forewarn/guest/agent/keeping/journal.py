"""The agent's memory across crashes and reboots: records appended to one file, each on disk before it is acted on.

A crash can tear the last line only; it is cut off, because what it announced was not begun. A line that is wrong
anywhere else means that the file was spoiled by others: it is set aside and the agent keeps what it could read,
since not to restore would be worse.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from forewarn.guest.agent.deciding.state import AgentState, Record, fold, fold_all, snapshot
from forewarn.guest.agent.keeping.lines import BadLine, decode, encode
from forewarn.guest.system.parts import Files, Held, OwnFile

FILE_NAME = "journal"
_COMPACT_AFTER = 500  # ours: records, a few for each event; a quiet agent writes none at all


class Busy(Exception):  # noqa: N818 - it reads as what it is
    """Another agent has this state directory."""


class AgentJournal:
    """One writer. ``state`` is what all records together say."""

    def __init__(self, files: Files, directory: Path) -> None:
        files.make_directory(directory)
        self._files = files
        self._directory = directory
        self._path = directory / FILE_NAME
        self._lock = _lock(files, directory)
        self.spoiled = ""  # a sentence, where the file was not as we had left it
        self._file: OwnFile | None = None
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
            self._file = self._files.append(self._path)
            self._files.sync_names(self._directory)
            with suppress(PermissionError):  # a directory we may not look into is not one that we made
                self._files.sync_names(self._directory.parent)

    def write(self, record: Record) -> AgentState:
        """Returns when the record is on disk; then it is safe to do what it announces."""
        if self._file is None or self._count >= _COMPACT_AFTER:
            self._compact()
        assert self._file is not None
        size = self._file.size()
        try:
            self._file.write(encode(record))
            self._file.sync()
        except OSError:
            self._take_back(size)
            raise
        self.state = fold(self.state, record)
        self._count += 1
        return self.state

    def close(self) -> None:
        self._let_go()
        self._lock.close()

    def _let_go(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError):  # what matters in it is synced
                file.close()

    def _take_back(self, size: int) -> None:
        """Remove a record that could not be written durably: what it announces is not done.

        It is cut off, and because nothing written here is certain any more, a new file replaces this one. Where the
        disk does not even allow that, the next write, or the next start, does it.
        """
        assert self._file is not None
        with suppress(OSError):
            self._file.truncate(size)
        try:
            self._compact()
        except OSError:
            self._let_go()

    def _read(self) -> tuple[list[Record], bool]:
        """The records, and whether the file holds nothing else."""
        try:
            lines = self._files.read(self._path).splitlines(keepends=True)
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
        self._files.write_whole(kept, self._files.read(self._path))
        self.spoiled = f"{why}; what follows it is not used, and the file is kept as {kept}"

    def _compact(self) -> None:
        """One record instead of all, in a new file that takes the place of the old one whole or not at all."""
        fresh = self._path.with_suffix(".new")
        file = self._files.append(fresh, anew=True)
        try:
            file.write(encode(snapshot(self.state)))
            file.sync()
            self._let_go()  # first: on Windows an open file cannot be replaced
            self._files.move(fresh, self._path)
            self._files.sync_names(self._directory)
        except OSError:
            file.close()
            raise
        self._file, self._count = file, 1


class Remembered:
    """A journal in memory alone: for a dry run."""

    def __init__(self, state: AgentState | None = None) -> None:
        self.state = state or AgentState()
        self.spoiled = ""

    def write(self, record: Record) -> AgentState:
        self.state = fold(self.state, record)
        return self.state

    def close(self) -> None:
        """Nothing is held."""


def peek(files: Files, directory: Path) -> AgentState:
    """What a journal says, without locking it, for tools that only look."""
    records: list[Record] = []
    try:
        lines = files.read(directory / FILE_NAME).splitlines(keepends=True)
    except OSError:
        return AgentState()
    for line in lines:
        try:
            records.append(decode(line if line.endswith(b"\n") else b""))
        except BadLine:
            break
    return fold_all(records)


def _lock(files: Files, directory: Path) -> Held:
    try:
        return files.lock(directory / "lock")
    except BlockingIOError:
        raise Busy(f"another agent is at work with {directory}") from None
