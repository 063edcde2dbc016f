"""A stream of frames that knows whether it is whole.

Each frame is its length, a hash chained over all frames so far, and its bytes, compressed. An empty frame ends the
stream. So a stream that was cut, swapped or edited anywhere is found out, and a reader that wants only the first frame
reads no further. Frames are small on purpose: the work on one frame is short, and other threads get their turn between.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from struct import Struct
from typing import BinaryIO

MAGIC = b"forewarn snapshot\n"
LONGEST = 64 << 20  # ours: no frame is near this; a damaged length must not make us ask for terabytes
LARGEST = 256 << 20  # ours: what a frame may hold; a few bytes that claim to be gigabytes are not unpacked

_head = Struct("<I16s")


class BrokenStream(Exception):  # noqa: N818 - the name says enough
    """The stream is not what was written. The message completes "it is damaged: …"."""


def framed(payloads: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of the stream, piece by piece."""
    yield MAGIC
    chain = MAGIC
    for payload in payloads:
        packed = zlib.compress(payload, 1)
        chain = _link(chain, packed)
        yield _head.pack(len(packed), chain) + packed
    yield _head.pack(0, _link(chain, b""))


def unframed(stream: BinaryIO) -> Iterator[bytes]:
    """The payloads of the stream; ends normally only when all of it was there and right."""
    if stream.read(len(MAGIC)) != MAGIC:
        raise BrokenStream("it does not begin like a snapshot")
    chain = MAGIC
    while True:
        packed, chain = _frame(stream, chain)
        if not packed:
            break
        yield _unpacked(packed)
    if stream.read(1):
        raise BrokenStream("something follows its end")


def _unpacked(packed: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        payload = unpacking.decompress(packed, LARGEST)
    except zlib.error as flaw:
        raise BrokenStream(str(flaw)) from flaw
    if not unpacking.eof or unpacking.unused_data:
        raise BrokenStream("a frame of it is not what it seems")
    return payload


def _frame(stream: BinaryIO, chain: bytes) -> tuple[bytes, bytes]:
    head = stream.read(_head.size)
    if len(head) < _head.size:
        raise BrokenStream("it was cut short")
    length, digest = _head.unpack(head)
    packed = stream.read(length) if length <= LONGEST else b""
    if len(packed) < length:
        raise BrokenStream("it was cut short")
    if _link(chain, packed) != digest:
        raise BrokenStream("its checksum is wrong")
    return packed, digest


def _link(chain: bytes, packed: bytes) -> bytes:
    return blake2b(chain + packed, digest_size=16).digest()
