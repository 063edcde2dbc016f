"""The snapshots that a store keeps, newest first, wherever it keeps them: what every store does with them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO, NamedTuple

from forewarn.core.region import Region
from forewarn.plane.ports import JournalFault
from forewarn.stores.snapshots import region as snapshots
from forewarn.stores.snapshots.region import Header, OtherFormat, Unusable

KEPT = 2  # the one before the newest helps when the newest is damaged
_log = logging.getLogger(__name__)


class Kept(NamedTuple):
    """One snapshot: what a person calls it, and how to get at its bytes. ``Unusable`` says that this cannot be done."""

    name: str
    opened: Callable[[], AbstractContextManager[BinaryIO]]


def newest(shelf: Iterable[Kept]) -> tuple[Region, Header | None]:
    """The newest usable snapshot; an empty region without one."""
    for kept in shelf:
        try:
            with kept.opened() as stream:
                return snapshots.unpack(stream)
        except Unusable as reason:
            _log.warning("The snapshot %s is ignored: %s. The facts rebuild what it held.", kept.name, reason)
    return Region(), None


def headers(shelf: Iterable[Kept]) -> Iterator[tuple[str, Header]]:
    """What the snapshots say of themselves; those that cannot be read say nothing."""
    for kept in shelf:
        try:
            with kept.opened() as stream:
                header = snapshots.read_header(stream)
        except Unusable:
            continue
        yield kept.name, header


def flaws(shelf: Iterable[Kept]) -> Iterator[str]:
    """A sentence for each damaged snapshot. One of another version is none: after an upgrade it is simply not used."""
    for kept in shelf:
        try:
            with kept.opened() as stream:
                snapshots.check(stream)
        except OtherFormat:
            continue
        except Unusable as reason:
            yield (
                f"The snapshot {kept.name} cannot be used: {reason}. It may be deleted; the facts rebuild what it held."
            )


def check_happened(seq: int, head: int) -> None:
    """Refuse a snapshot of records that the journal does not have."""
    if seq > head:
        raise JournalFault(f"No snapshot can stand for record {seq}: the journal ends at record {head}.")
