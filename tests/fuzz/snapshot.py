"""A snapshot to damage: a region in which all that can be in one is."""

from __future__ import annotations

from functools import cache

from forewarn.core.region import Region
from forewarn.stores.snapshots import parts
from forewarn.stores.snapshots import region as snapshots
from tests.unit.stores.story import story


def rich_region() -> Region:
    return story()[9][0]


@cache
def whole_snapshot() -> bytes:
    return b"".join(snapshots.pack(rich_region(), 7, bytes(range(16))))


def payloads() -> list[bytes]:
    """Its parts as they are before they are framed."""
    return [parts.encode(part) for part in parts.parts_of(rich_region())]
