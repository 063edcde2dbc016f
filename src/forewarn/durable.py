"""Files that outlive a loss of power. The standard library only: whatever writes a file may import this.

A file's bytes are on disk when the file is synced, and its name when its directory is; a call that fails leaves what
was there before. See docs/loss.md for every file that forewarn relies on. What is different on Windows is in
``durable_windows``.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

# What every system has in its own way:
#   OWN                 flags for os.open: bytes as they are, for no child of ours, never what a link leads to
#   sync, sync_data     return when all that was written to a descriptor is on disk. A size that has changed is data,
#                       the time of the change is not
#   sync_directory      make the names in it durable: new, renamed and removed ones
#   replace             put a file in the place of another, whole or not at all; sync_directory makes it last
#   write_at, read_at   at a place of their own
#   make_own, open_own  a directory, a file that is new: for their owner only where the mode says so
#   FileLock            see there
if sys.platform == "win32":
    from forewarn.durable_windows import (
        OWN,
        FileLock,
        make_own,
        open_own,
        read_at,
        replace,
        sync,
        sync_data,
        sync_directory,
        write_at,
    )
else:
    import fcntl  # noqa: TID251 - here are the locks

    OWN = os.O_CLOEXEC | os.O_NOFOLLOW
    write_at, read_at, replace, make_own = os.pwrite, os.pread, os.replace, os.mkdir

    if sys.platform == "darwin":

        def sync(descriptor: int) -> None:
            """fsync alone leaves it in the drive's own memory, says Apple's page about it."""
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)

        sync_data = sync
    else:
        sync, sync_data = os.fsync, os.fdatasync

    def sync_directory(directory: Path) -> None:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sync(descriptor)
        finally:
            os.close(descriptor)

    def open_own(path: Path, mode: int) -> int:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, mode)  # whatever the user's mask leaves of one
        return descriptor

    class FileLock:
        """A file of its own, held against all other processes until ``close`` or the end of this one.

        The kernel holds the lock: a process that was killed leaves nothing to clean up. The file stays when the lock
        goes: deleting it could take it from a process that waits for it. Raises ``BlockingIOError`` where it is held,
        unless it shall ``wait``.
        """

        def __init__(self, path: Path, *, wait: bool = False) -> None:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | OWN, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BaseException:
                os.close(descriptor)
                raise
            self._descriptor: int | None = descriptor

        def note(self, text: str) -> None:
            """What others may read in the file, instead of what is there."""
            assert self._descriptor is not None, "the lock is held"
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text.encode(), 0)

        def close(self) -> None:
            descriptor, self._descriptor = self._descriptor, None
            if descriptor is not None:
                os.close(descriptor)


__all__ = (
    "OWN",
    "FileLock",
    "make_directory",
    "read_at",
    "remove",
    "replace",
    "sync",
    "sync_data",
    "sync_directory",
    "sync_file",
    "write_at",
    "write_whole",
)


def sync_file(path: Path) -> None:
    """One that is open nowhere, or by others."""
    descriptor = os.open(path, os.O_RDWR | OWN)  # Windows syncs no file that is open for reading only
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory: Path, mode: int = 0o700) -> None:
    """With those above it, each durable. The mode is for this one; one that is there is left as it is."""
    directory = directory.absolute()
    try:
        make_own(directory, mode)
    except FileNotFoundError:
        make_directory(directory.parent, 0o777)  # as mkdir -p does: what the user's mask leaves of it
        with suppress(FileExistsError):
            make_own(directory, mode)
    except OSError:
        if not directory.is_dir():
            raise
        return
    with suppress(PermissionError):  # one may be allowed to make it there, and not to look
        sync_directory(directory.parent)


def write_whole(path: Path, content: bytes, mode: int) -> None:
    """Put a file in its place, whole or not at all, and never readable by others on the way.

    A failure leaves the file that was there; what was being written is taken away again.
    """
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)  # left by a process that was killed
    descriptor = open_own(new, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            sync(file.fileno())
        replace(new, path)
    except OSError:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def remove(path: Path) -> None:
    """Take a file away for good. One that is not there is no fault."""
    with suppress(FileNotFoundError):
        path.unlink()
        sync_directory(path.parent)
