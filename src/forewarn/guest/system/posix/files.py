"""The agent's files on a POSIX system: only their owner may read them, and none is opened by way of a link."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from forewarn import durable
from forewarn.guest.system.own_files import StandardFiles, StandardOwnFile

assert sys.platform != "win32"

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC  # never one that a link leads to


class PosixFiles(StandardFiles):
    """Real ones."""

    def write_whole(self, path: Path, content: bytes) -> None:
        durable.write_whole(path, content, 0o600)

    def append(self, path: Path, *, anew: bool = False) -> StandardOwnFile:
        return StandardOwnFile(os.open(path, _APPEND | (os.O_TRUNC if anew else 0), 0o600))

    def move(self, path: Path, to: Path) -> None:
        path.replace(to)
