"""The other end of ``watched_disk.c``: lets calls of a running process fail, and reads what it did to its files."""

from __future__ import annotations

import errno
import mmap
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from tests.e2e.program import ROOT

_HERE = Path(__file__).parent
_NOTE = Struct("IIiiiiqq")
_RULE = Struct("IiiiiiiI224s")
_RULES = 8
_STRUCK_AT = 24  # bytes into a rule


class Call(IntEnum):
    """What the library knows of, by the numbers that it uses."""

    OPEN = 1
    WRITE = 2
    TRUNCATE = 3
    SYNC = 4  # fsync and fdatasync
    CLOSE = 5
    RENAME = 6
    UNLINK = 7
    MKDIR = 8
    RMDIR = 9
    BEGIN = 10  # a process begins: it has no descriptors yet


class How(IntEnum):
    """What becomes of a call that is struck."""

    FAIL = 0
    LIE = 1  # nothing is done, and success is told
    HALF = 2  # of a write: half of it arrives, then it fails
    WAIT = 3  # it takes so long


class Deed(NamedTuple):
    """One call that changed something. ``text`` is a path, two of them (NUL between) for a rename, or bytes written."""

    call: Call
    process: int
    file: int
    flags: int
    error: int
    offset: int
    at: float  # seconds of the monotonic clock, after the call
    text: bytes

    @property
    def path(self) -> str:
        return os.path.normpath(os.fsdecode(self.text.partition(b"\0")[0]))

    @property
    def other(self) -> str:
        return os.path.normpath(os.fsdecode(self.text.partition(b"\0")[2]))


class WatchedDisk:
    """Everything below ``root`` is watched, in each process that is started with ``environment``."""

    def __init__(self, root: Path, record: Path, rules: Path) -> None:
        self._root, self._record, self._rules = root.resolve(), record, rules
        rules.write_bytes(bytes(_RULE.size * _RULES))
        with rules.open("r+b") as file:
            self._mapped = mmap.mmap(file.fileno(), _RULE.size * _RULES)

    def environment(self) -> Mapping[str, str]:
        return {
            "LD_PRELOAD": str(library("watched_disk")),
            "WATCHED_DISK": str(self._root),
            "WATCHED_DISK_RECORD": str(self._record),
            "WATCHED_DISK_RULES": str(self._rules),
        }

    @contextmanager
    def striking(
        self,
        *calls: Call,
        pattern: str = "*",
        how: How = How.FAIL,
        error: int = errno.EIO,
        after: int = 0,
        times: int = -1,
        milliseconds: int = 0,
    ) -> Iterator[Strike]:
        """While this lasts, such calls on paths that match are struck: after so many, so many times (-1: all)."""
        place = next(at for at in range(0, len(self._mapped), _RULE.size) if not any(self._mapped[at : at + 4]))
        mask = sum(1 << call for call in calls)
        packed = _RULE.pack(mask, how, error, milliseconds, after, times, 0, 0, pattern.encode())
        self._mapped[place + 4 : place + _RULE.size] = packed[4:]
        self._mapped[place : place + 4] = packed[:4]  # last: from here on it holds
        try:
            yield Strike(self._mapped, place)
        finally:
            self._mapped[place : place + _RULE.size] = bytes(_RULE.size)

    def heal(self) -> None:
        """No call fails any more."""
        self._mapped[:] = bytes(len(self._mapped))

    def deeds(self) -> Iterator[Deed]:
        """What was done so far, in order."""
        return read_deeds(self._record)


class Strike(NamedTuple):
    """A rule at work."""

    mapped: mmap.mmap
    place: int

    @property
    def times(self) -> int:
        """How often it has struck."""
        return int.from_bytes(self.mapped[self.place + _STRUCK_AT : self.place + _STRUCK_AT + 4], "little")


def read_deeds(record: Path) -> Iterator[Deed]:
    """The record of all processes, in the order in which it happened. A last note that a kill cut off is none."""
    content = memoryview(record.read_bytes()) if record.exists() else memoryview(b"")
    at = 0
    while at + _NOTE.size <= len(content):
        size, call, process, file, flags, error, offset, when = _NOTE.unpack_from(content, at)
        at += _NOTE.size
        if at + size > len(content):
            return
        yield Deed(Call(call), process, file, flags, error, offset, when / 1e9, bytes(content[at : at + size]))
        at += size


@cache
def library(name: str) -> Path:
    """A preloaded library of ours, made when it is first wanted."""
    made = ROOT / ".build" / "loss" / f"{name}.so"
    made.parent.mkdir(parents=True, exist_ok=True)
    new = made.with_suffix(f".{os.getpid()}")
    source = _HERE / f"{name}.c"
    command = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", str(new), str(source), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"a C compiler is needed, see `make system`: {done.stderr}"
    new.replace(made)
    return made
