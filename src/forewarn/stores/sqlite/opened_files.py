"""Whether what a server holds open is still what its data directory's path leads to.

Files that were moved, replaced or deleted under a running server can be written as ever, and no restart would find
what is in them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


class OpenedFiles:
    """Device and inode of each file when it was opened, to compare with what its path leads to now."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, tuple[int, int] | None] = {}  # texts: every commit looks at each path twice
        self.learn(directory)

    def learn(self, path: Path) -> None:
        """Note device and inode of a file that was just opened."""
        self._known[str(path)] = _identity(str(path))

    def forget(self, path: Path) -> None:
        """It is closed: its path is no longer checked."""
        self._known.pop(str(path), None)

    def flaw(self, paths: Iterable[str] = ()) -> str:
        """What is wrong with these paths, or all, as a sentence; nothing where each still leads to what it led to."""
        for path in paths or self._known:
            known = self._known.get(path)
            if known is None or _identity(path) != known:
                return (
                    f"The data directory {self._directory} is not what this server has opened: {path} was moved, "
                    "replaced or deleted. Bring it back, or stop this server and start it on what is to be kept."
                )
        return ""


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path makes a text of itself for each look
    except OSError:
        return None
    return found.st_dev, found.st_ino
