"""One directory, one server: the lock that tells a second one whose it is."""

from __future__ import annotations

import os
from pathlib import Path

from forewarn.durable import FileLock
from forewarn.plane.ports import JournalFault

NAME = "lock"


class DirectoryLock:
    """Held from construction until ``release``; its file has the number of the process that holds it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME
        try:
            self._lock = FileLock(self.path)
        except BlockingIOError:
            holder = self.path.read_bytes()[:20].decode("ascii", "replace").strip()
            raise JournalFault(
                f"The data directory {directory} is in use by process {holder or '(starting)'}. Stop that server, or "
                "give this one a directory of its own."
            ) from None
        try:
            self._lock.note(f"{os.getpid()}\n")
        except OSError:
            self._lock.close()
            raise

    def release(self) -> None:
        """Another server may have the directory from here on."""
        self._lock.close()
