"""One directory, one server. The kernel holds the lock, so a server that was killed leaves nothing to clean up."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from forewarn.plane.ports import JournalFault

NAME = "lock"


class DirectoryLock:
    """Held from construction until ``release``; the file tells the others whose it is."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise JournalFault(
                f"The data directory {directory} is in use by process {holder or '(starting)'}. Stop that server, or "
                "give this one a directory of its own."
            ) from None
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """The file stays: taking it away could take it from under somebody who waits for it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
