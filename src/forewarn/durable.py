"""Files that outlive a loss of power. The standard library only: whatever writes a file may import this.

A file's bytes are on disk when the file is synced, and its name when its directory is; a call that fails leaves what
was there before. See docs/loss.md for every file that forewarn relies on.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl  # noqa: TID251 - here are the locks

# A size that has changed is data, the time of the change is not. macOS has only the call that syncs both.
sync_data = os.fsync if sys.platform == "darwin" else os.fdatasync


def sync_directory(directory: Path) -> None:
    """Make the names in it durable: new, renamed and removed ones."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory: Path, mode: int = 0o700) -> None:
    """With those above it, each durable. The mode is for this one; one that is there is left as it is."""
    directory = directory.absolute()
    try:
        directory.mkdir(mode=mode)
    except FileNotFoundError:
        make_directory(directory.parent, 0o777)  # as mkdir -p does: what the user's mask leaves of it
        directory.mkdir(mode=mode, exist_ok=True)
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
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        new.replace(path)
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


class FileLock:
    """A file of its own, held against all other processes until ``close`` or the end of this one.

    The kernel holds the lock: a process that was killed leaves nothing to clean up. The file stays when the lock goes:
    deleting it could take it from a process that waits for it. Raises ``BlockingIOError`` where it is held,
    unless it shall ``wait``.
    """

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
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
