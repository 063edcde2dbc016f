"""Snapshots as files in a directory: whole or not there, the last two of them, for their owner's eyes only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from forewarn.core.region import Region
from forewarn.durable import OWN, replace, sync, sync_directory
from forewarn.plane.ports import JournalFault
from forewarn.stores.snapshots import region as snapshots
from forewarn.stores.snapshots.region import Unusable
from forewarn.stores.snapshots.shelf import KEPT, Kept

_NAME = re.compile(r"snapshot-\d{16}\.bin")
_UNFINISHED = ".unfinished"


def listed(directory: Path) -> list[Path]:
    """The snapshots, newest first."""
    return sorted((path for path in directory.iterdir() if _NAME.fullmatch(path.name)), reverse=True)


def shelf(directory: Path) -> Iterator[Kept]:
    return (Kept(str(path), partial(_opened, path)) for path in listed(directory))


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as stream:
            yield stream
    except OSError as flaw:
        raise Unusable(str(flaw)) from flaw


def keep(directory: Path, region: Region, seq: int, mark: bytes) -> None:
    """Write a snapshot beside the others, then let go of the oldest."""
    path = directory / f"snapshot-{seq:016d}.bin"
    unfinished = path.with_suffix(_UNFINISHED)
    try:
        _write(unfinished, snapshots.pack(region, seq, mark))
        replace(unfinished, path)
        sync_directory(directory)
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


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | OWN, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.writelines(pieces)
        stream.flush()
        sync(stream.fileno())
