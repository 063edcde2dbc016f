"""A data directory is for its owner only: made so, tightened, or refused where others could replace what is in it."""

from __future__ import annotations

import logging
import os
import stat
import sys
from pathlib import Path

from forewarn.durable import make_directory
from forewarn.plane.ports import JournalFault
from forewarn.stores.sqlite import file as sqlite_file
from forewarn.stores.sqlite import head_note, lock

_log = logging.getLogger(__name__)
_OTHERS = 0o077  # the mode bits of group and others: a journal may hold custom data
_OTHERS_WRITE = 0o022  # the mode bits that let group or others write


def prepare(directory: Path, ours: str = sqlite_file.NAME) -> None:
    """Make sure of the directory; raises ``OSError``, or ``JournalFault`` where others may change it.

    One that is ours, by what is in it, or empty, is closed to others. A place that many use, such as /tmp, is
    refused instead.
    """
    make_directory(directory)
    if sys.platform == "win32":
        return  # what it made is its owner's by its access list; one that was there is as its owner wants it
    found = directory.stat()
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid not in (os.geteuid(), 0):
        raise JournalFault(
            f"The data directory {directory} belongs to another user (number {found.st_uid}), who may replace what is "
            f"in it. Nothing was changed; give it to the server's user (chown {os.geteuid()}), or choose another one."
        )
    if not mode & _OTHERS_WRITE:
        return
    if found.st_uid != os.geteuid() or not _is_nobody_elses(directory, ours):
        raise JournalFault(
            f"Other users may write to the data directory {directory} (mode {mode:04o}), and could replace what is in "
            "it. Nothing was changed; close it to them (chmod go-rwx) and give it to the server's user (chown "
            f"{os.geteuid()}), or choose another one."
        )
    directory.chmod(mode & ~_OTHERS)
    _log.warning(
        "Other users could write to the data directory %s (mode %04o); it is now for its owner only (mode %04o).",
        directory,
        mode,
        mode & ~_OTHERS,
    )


def _is_nobody_elses(directory: Path, ours: str) -> bool:
    names = {path.name for path in directory.iterdir()}
    return not names or ours in names


def tighten(directory: Path) -> None:
    """The files in it too; a copy that was put back may be open to all."""
    if sys.platform == "win32":
        return  # a file's access list comes from its directory
    opened = [path for path in directory.iterdir() if _is_ours(path) and path.stat().st_mode & _OTHERS]
    for path in opened:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)
    if opened:
        names = ", ".join(sorted(path.name for path in opened))
        _log.warning("What other users could read or write in %s is now for its owner only: %s.", directory, names)


def _is_ours(path: Path) -> bool:
    """Whether the server made it. Other files in the directory are neither checked nor changed."""
    if sys.platform == "win32":
        return False
    named = path.name in (lock.NAME, head_note.NAME) or path.name.startswith((sqlite_file.NAME, "snapshot-"))
    return named and path.is_file() and not path.is_symlink() and path.stat().st_uid == os.geteuid()
