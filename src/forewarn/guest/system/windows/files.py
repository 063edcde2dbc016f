"""The agent's files on Windows.

Their access lists come from the state directory, which is made for its owner, SYSTEM and the administrators only.
"""

from __future__ import annotations

import sys
from pathlib import Path

from forewarn import durable
from forewarn.guest.system.own_files import StandardFiles, StandardOwnFile

assert sys.platform == "win32"
from forewarn.durable_windows import open_to_append  # noqa: E402 - there is none elsewhere

_AS_ITS_DIRECTORY = 0o644  # ours: any mode that lets others read; the directory does not let them in


class WindowsFiles(StandardFiles):
    """Real ones."""

    def write_whole(self, path: Path, content: bytes) -> None:
        durable.write_whole(path, content, _AS_ITS_DIRECTORY)

    def append(self, path: Path, *, anew: bool = False) -> StandardOwnFile:
        opened = StandardOwnFile(open_to_append(path))
        if anew:
            opened.truncate(0)
        return opened

    def move(self, path: Path, to: Path) -> None:
        durable.replace(path, to)
