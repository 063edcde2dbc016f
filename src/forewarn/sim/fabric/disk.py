"""The disks of all VMs: files that keep what was synced, and after a loss of power only some of what was not."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from forewarn.sim.fabric.strands import Process, Strands


@dataclass(slots=True)
class _File:
    data: bytearray = field(default_factory=bytearray)
    synced: int = 0  # so many bytes are safe


class Disks:
    """One tree for all VMs; a VM's own files are those below its name. Names are safe at once."""

    def __init__(self, hub: Strands, random: Random) -> None:
        self._hub = hub
        self._random = random
        self._files: dict[str, _File] = {}
        self._locks: dict[str, Process] = {}
        self.full: set[str] = set()  # VMs whose disk has no room

    # What happens to machines

    def lose_power(self, vm: str) -> None:
        """Lose what was not synced, from a random byte on."""
        for path, file in self._files.items():
            if path.startswith(f"/{vm}/") and file.synced < len(file.data):
                del file.data[self._random.randint(file.synced, len(file.data)) :]
                file.synced = len(file.data)

    def wipe(self, vm: str) -> None:
        for path in [path for path in self._files if path.startswith(f"/{vm}/")]:
            del self._files[path]

    def write(self, path: str, data: bytes) -> None:
        """Write a file from outside of any process; it is durable at once."""
        self._files[path] = _File(bytearray(data), len(data))

    def exists(self, path: str) -> bool:
        return path in self._files

    # What programs do

    def process(self) -> Process:
        """The process that calls; raises ``Killed`` where it has been killed."""
        process = self._hub.current().process
        process.check()
        return process

    def check_room(self) -> None:
        if self.process().place in self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def find(self, path: str) -> _File:
        self.process()
        file = self._files.get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return file

    def open(self, path: str) -> _File:
        self.process()
        return self._files.setdefault(path, _File())

    def put(self, path: str, data: bytes) -> None:
        self.check_room()
        self.write(path, data)

    def rename(self, path: str, to: str) -> None:
        self.find(path)
        self._files[to] = self._files.pop(path)

    def remove(self, path: str) -> None:
        self.process()
        self._files.pop(path, None)

    def lock(self, path: str) -> Callable[[], None]:
        """Hold it for the process that asks, until it ends or calls what it is given."""
        process, holder = self.process(), self._locks.get(path)
        if holder is not None and holder is not process and holder.alive:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK))
        self._locks[path] = process

        def release() -> None:
            process.at_exit.pop(("lock", path), None)
            if self._locks.get(path) is process:
                del self._locks[path]

        process.at_exit["lock", path] = release
        return release


class SimFiles:
    """The files of a guest's system."""

    def __init__(self, disks: Disks) -> None:
        self._disks = disks

    def read(self, path: Path) -> bytes:
        return bytes(self._disks.find(str(path)).data)

    def exists(self, path: Path) -> bool:
        return self._disks.exists(str(path))

    def make_directory(self, path: Path) -> None:
        self._disks.process()

    def sync_names(self, directory: Path) -> None:
        self._disks.process()

    def write_whole(self, path: Path, content: bytes) -> None:
        self._disks.put(str(path), content)

    def append(self, path: Path, *, anew: bool = False) -> SimOwnFile:
        opened = SimOwnFile(self._disks, self._disks.open(str(path)))
        if anew:
            opened.truncate(0)
        return opened

    def move(self, path: Path, to: Path) -> None:
        self._disks.rename(str(path), str(to))

    def touch(self, path: Path) -> None:
        if not self.exists(path):
            self._disks.put(str(path), b"")

    def remove(self, path: Path) -> None:
        self._disks.remove(str(path))

    def discard(self, path: Path) -> None:
        self._disks.remove(str(path))

    def lock(self, path: Path) -> SimLock:
        return SimLock(self._disks.lock(str(path)))


class SimOwnFile:
    """An open file; moving or removing its name leaves it open, as on POSIX."""

    def __init__(self, disks: Disks, file: _File) -> None:
        self._disks, self._file = disks, file

    def size(self) -> int:
        return len(self._file.data)

    def write(self, data: bytes) -> None:
        self._disks.check_room()
        self._file.data += data

    def sync(self) -> None:
        self._disks.process()
        self._file.synced = len(self._file.data)

    def truncate(self, size: int) -> None:
        self._disks.process()
        del self._file.data[size:]
        self._file.synced = min(self._file.synced, size)

    def close(self) -> None:
        self._disks.process()


@dataclass(frozen=True, slots=True)
class SimLock:
    """A lock that is held."""

    release: Callable[[], None]

    def close(self) -> None:
        self.release()
