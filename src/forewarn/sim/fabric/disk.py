"""The disks of all VMs: files that keep what was synced, and after a loss of power only some of what was not."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from random import Random
from types import SimpleNamespace
from typing import Any

from forewarn.sim.fabric.strands import Process, Strands


@dataclass(slots=True)
class _File:
    data: bytearray = field(default_factory=bytearray)
    synced: int = 0  # so many bytes are safe


@dataclass(slots=True)
class _Opened:
    path: str
    file: _File
    process: Process


class Disks:
    """One tree for all VMs; a VM's own files are those below its name."""

    def __init__(self, hub: Strands, random: Random) -> None:
        self._hub = hub
        self._random = random
        self._files: dict[str, _File] = {}
        self._opened: dict[int, _Opened] = {}
        self._locks: dict[str, Process] = {}
        self._last = 100
        self.full: set[str] = set()  # VMs whose disk has no room

    # What happens to machines

    def lose_power(self, vm: str) -> None:
        """What was not synced is lost from some byte on."""
        for path, file in self._files.items():
            if path.startswith(f"/{vm}/") and file.synced < len(file.data):
                del file.data[self._random.randint(file.synced, len(file.data)) :]
                file.synced = len(file.data)

    def wipe(self, vm: str) -> None:
        for path in [path for path in self._files if path.startswith(f"/{vm}/")]:
            del self._files[path]

    def write(self, path: str, data: bytes) -> None:
        """From outside of any process, and safe."""
        self._files[path] = _File(bytearray(data), len(data))

    def exists(self, path: str) -> bool:
        return path in self._files

    # What programs do

    def _process(self) -> Process:
        process = self._hub.current().process
        process.check()
        return process

    def open(self, path: object, flags: int, mode: int = 0) -> int:
        process, name = self._process(), str(path)
        file = self._files.get(name)
        if file is not None and flags & os.O_EXCL:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
        if file is None:
            file = _File()
            if not flags & os.O_DIRECTORY:
                self._files[name] = file
        if flags & os.O_TRUNC:
            file.data.clear()
            file.synced = 0
        self._last += 1
        self._opened[self._last] = _Opened(name, file, process)
        number = self._last
        process.at_exit[("file", number)] = lambda: self._release(number)
        return number

    def _release(self, number: int) -> None:
        opened = self._opened.pop(number, None)
        if opened is not None and self._locks.get(opened.path) is opened.process:
            del self._locks[opened.path]

    def _close(self, number: int) -> None:
        process = self._process()
        process.at_exit.pop(("file", number), None)
        self._release(number)

    def _write(self, number: int, data: bytes) -> int:
        process, opened = self._process(), self._opened[number]
        if process.place in self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        opened.file.data += data
        return len(data)

    def _sync(self, number: int) -> None:
        self._process()
        file = self._opened[number].file
        file.synced = len(file.data)

    def _truncate(self, number: int, size: int) -> None:
        self._process()
        file = self._opened[number].file
        del file.data[size:]
        file.synced = min(file.synced, size)

    def _lock(self, number: int, how: int) -> None:
        opened = self._opened[number]
        holder = self._locks.get(opened.path)
        if holder is not None and holder is not opened.process and holder.alive:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK))
        self._locks[opened.path] = opened.process

    # For paths

    def read(self, path: str) -> bytes:
        self._process()
        file = self._files.get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return bytes(file.data)

    def put(self, path: str, data: bytes) -> None:
        if self._process().place in self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._files[path] = _File(bytearray(data), len(data))

    def rename(self, path: str, to: str) -> None:
        self._process()
        self._files[to] = self._files.pop(path)

    def remove(self, path: str) -> None:
        self._process()
        self._files.pop(path, None)


class _Stream:
    """An open file that is written and closed."""

    def __init__(self, disks: Disks, number: int) -> None:
        self._disks, self._number = disks, number

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._disks._close(self._number)

    def write(self, data: bytes) -> None:
        self._disks._write(self._number, data)

    def flush(self) -> None:
        """What is written is with the system already."""

    def fileno(self) -> int:
        return self._number


def os_of(disks: Disks) -> SimpleNamespace:
    """What stands for the module ``os`` where an agent keeps files that must outlive a loss of power."""
    names = [name for name in dir(os) if name.startswith("O_")]
    return SimpleNamespace(
        open=disks.open,
        fdopen=lambda number, mode: _Stream(disks, number),
        fchmod=lambda number, mode: None,
        close=disks._close,
        write=disks._write,
        fdatasync=disks._sync,
        fsync=disks._sync,
        ftruncate=disks._truncate,
        fstat=lambda number: SimpleNamespace(st_size=len(disks._opened[number].file.data)),
        **{name: getattr(os, name) for name in names},
    )


def fcntl_of(disks: Disks) -> SimpleNamespace:
    """What stands for the module ``fcntl`` there."""
    return SimpleNamespace(flock=disks._lock, LOCK_EX=fcntl.LOCK_EX, LOCK_NB=fcntl.LOCK_NB)


def path_of(disks: Disks) -> Callable[..., Any]:
    """What stands for ``pathlib.Path``."""

    class SimPath(PurePosixPath):
        """A path whose file is on one of the disks."""

        def mkdir(self, *_: object, **__: object) -> None:
            """Directories are names only."""

        def absolute(self) -> SimPath:
            return self

        def exists(self) -> bool:
            return disks.exists(str(self))

        def read_bytes(self) -> bytes:
            return disks.read(str(self))

        def read_text(self, *_: object) -> str:
            return disks.read(str(self)).decode()

        def write_bytes(self, data: bytes) -> int:
            disks.put(str(self), data)
            return len(data)

        def write_text(self, text: str) -> int:
            return self.write_bytes(text.encode())

        def touch(self) -> None:
            if not self.exists():
                disks.put(str(self), b"")

        def replace(self, target: object) -> object:
            disks.rename(str(self), str(target))
            return target

        def unlink(self, missing_ok: bool = False) -> None:
            disks.remove(str(self))

    return SimPath
