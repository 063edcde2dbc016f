"""The agent's files as far as every system treats them alike; what is durable about them is in ``forewarn.durable``."""

from __future__ import annotations

import os
from pathlib import Path

from forewarn import durable


class StandardFiles:
    """Real ones. How a file is written whole, opened to append to and moved, each system says for itself."""

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def exists(self, path: Path) -> bool:
        return path.exists()

    def make_directory(self, path: Path) -> None:
        durable.make_directory(path)

    def sync_names(self, directory: Path) -> None:
        durable.sync_directory(directory)

    def touch(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def remove(self, path: Path) -> None:
        durable.remove(path)

    def discard(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def lock(self, path: Path) -> durable.FileLock:
        return durable.FileLock(path)


class StandardOwnFile:
    """An open file of the agent, by its descriptor: no buffer of ours stands between a write and a sync."""

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
