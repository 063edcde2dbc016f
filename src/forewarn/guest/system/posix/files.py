"""The agent's files on a POSIX system; what is durable about them is in ``forewarn.durable``."""

from __future__ import annotations

import os
from pathlib import Path

from forewarn import durable

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC  # never one that a link leads to


class PosixFiles:
    """Real ones."""

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def exists(self, path: Path) -> bool:
        return path.exists()

    def make_directory(self, path: Path) -> None:
        durable.make_directory(path)

    def sync_names(self, directory: Path) -> None:
        durable.sync_directory(directory)

    def write_whole(self, path: Path, content: bytes) -> None:
        durable.write_whole(path, content, 0o600)

    def append(self, path: Path, *, anew: bool = False) -> PosixOwnFile:
        return PosixOwnFile(os.open(path, _APPEND | (os.O_TRUNC if anew else 0), 0o600))

    def move(self, path: Path, to: Path) -> None:
        path.replace(to)

    def touch(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def remove(self, path: Path) -> None:
        durable.remove(path)

    def discard(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def lock(self, path: Path) -> durable.FileLock:
        return durable.FileLock(path)


class PosixOwnFile:
    """A descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]

    def sync(self) -> None:
        durable.sync_data(self._descriptor)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def close(self) -> None:
        os.close(self._descriptor)
