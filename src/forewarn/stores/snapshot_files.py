"""Snapshots as files in a directory: whole or not there, the last two of them, for their owner's eyes only."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from forewarn.core.region import Region
from forewarn.plane.ports import JournalFault
from forewarn.stores import snapshots
from forewarn.stores.snapshots import Header, Unusable

KEPT = 2  # the one before the newest helps when the newest is damaged
_NAME = re.compile(r"snapshot-\d{16}\.bin")
_UNFINISHED = ".unfinished"
_log = logging.getLogger(__name__)


def listed(directory: Path) -> list[Path]:
    """The snapshots, newest first."""
    return sorted((path for path in directory.iterdir() if _NAME.fullmatch(path.name)), reverse=True)


def headers(directory: Path) -> Iterator[tuple[Path, Header]]:
    """What the snapshots say of themselves, newest first; those that cannot be read say nothing."""
    for path in listed(directory):
        try:
            with path.open("rb") as stream:
                yield path, snapshots.read_header(stream)
        except (Unusable, OSError):
            continue


def newest(directory: Path) -> tuple[Region, int]:
    """The newest usable snapshot; an empty region without one."""
    for path in listed(directory):
        try:
            with path.open("rb") as stream:
                region, header = snapshots.unpack(stream)
            return region, header.seq
        except (Unusable, OSError) as reason:
            _log.warning("The snapshot %s is ignored: %s. The facts rebuild what it held.", path, reason)
    return Region(), 0


def flaws(directory: Path) -> Iterator[str]:
    """A sentence for each snapshot that could not be used."""
    for path in listed(directory):
        try:
            with path.open("rb") as stream:
                snapshots.check(stream)
        except (Unusable, OSError) as reason:
            yield f"The snapshot {path} cannot be used: {reason}. It may be deleted; the facts rebuild what it held."


def keep(directory: Path, region: Region, seq: int, mark: bytes) -> None:
    """Write a snapshot beside the others, then let go of the oldest."""
    path = directory / f"snapshot-{seq:016d}.bin"
    unfinished = path.with_suffix(_UNFINISHED)
    try:
        _write(unfinished, snapshots.pack(region, seq, mark))
        unfinished.replace(path)
        sync(directory)
        for old in listed(directory)[KEPT:]:
            old.unlink()
    except OSError as flaw:
        unfinished.unlink(missing_ok=True)
        raise JournalFault(
            f"The snapshot {path} could not be written: {flaw.strerror}. No fact is lost; check the disk."
        ) from flaw


def discard_unfinished(directory: Path) -> None:
    """Remove what a killed server was writing."""
    for path in directory.glob(f"snapshot-*{_UNFINISHED}"):
        path.unlink()


def sync(directory: Path) -> None:
    """Make the directory's own entries durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.writelines(pieces)
        stream.flush()
        os.fsync(stream.fileno())
