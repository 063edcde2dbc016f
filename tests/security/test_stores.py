"""Files that an enemy wrote: a snapshot that unpacks to more than there is, or has right checksums and wrong parts."""

from __future__ import annotations

import io
import zlib
from hashlib import blake2b
from struct import Struct

import msgspec
import pytest

from forewarn.stores.snapshots import region as snapshots
from forewarn.stores.snapshots.frames import LARGEST, MAGIC, BrokenStream, framed, unframed
from forewarn.stores.snapshots.region import Header, Unusable

_HEAD = Struct("<I16s")


def _packed(content: bytes) -> bytes:
    """A stream of one frame that holds these bytes as they are."""
    chain = blake2b(MAGIC + content, digest_size=16).digest()
    return MAGIC + _HEAD.pack(len(content), chain) + content + _HEAD.pack(0, blake2b(chain, digest_size=16).digest())


def _bomb() -> bytes:
    """A few hundred kilobytes that stand for more than any frame may hold."""
    packing = zlib.compressobj(9)
    piece = bytes(1 << 20)
    return b"".join(packing.compress(piece) for _ in range((LARGEST >> 20) + 1)) + packing.flush()


def test_a_frame_that_stands_for_more_than_may_be_is_not_unpacked() -> None:
    bomb = _packed(_bomb())
    assert len(bomb) < LARGEST / 500
    with pytest.raises(Unusable, match="not what it seems"):
        snapshots.read_header(io.BytesIO(bomb))


@pytest.mark.parametrize("content", [b"nonsense", zlib.compress(b"a")[:-1], zlib.compress(b"a") + b"more"])
def test_a_frame_that_is_not_one_whole_packing_is_broken(content: bytes) -> None:
    with pytest.raises(BrokenStream):
        list(unframed(io.BytesIO(_packed(content))))


def test_parts_with_right_checksums_that_make_no_region_are_unusable() -> None:
    """Instants without a zone among those with one, places that are not there, columns that are none."""
    header = msgspec.msgpack.encode(Header(1, bytes(16), 0, None))
    row: list[object] = ["cloud-service", "a", None, {}, None, None, "2026-01-01T00:00:00", 1, [], None, ""]
    other: list[object] = ["cloud-service", "b", None, {}, None, None, "2026-01-01T00:00:00Z", 1, [], None, ""]
    scopes: list[object] = ["scopes", [row, other]]
    vms: list[object] = ["vms", *[[] for _ in range(4)], ["web"], *[[7] for _ in range(11)], {}, {}]
    for part in (scopes, vms, ["hosts", 1], ["nobody"]):
        stream = b"".join(framed([header, msgspec.msgpack.encode(part)]))
        with pytest.raises(Unusable, match="damaged"):
            snapshots.unpack(io.BytesIO(stream))
