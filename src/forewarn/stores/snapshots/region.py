"""A region as bytes, so that a start need not read the whole journal.

Only what cannot be derived is kept; ``core.folding.assemble`` makes the rest. A snapshot that cannot be used is put
aside with a reason, and the facts rebuild what it held. Therefore there is one format only, and ``FORMAT`` grows
whenever the parts below change, or their meaning does.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from typing import BinaryIO

import msgspec
from msgspec import Struct

from forewarn import __version__
from forewarn.core.region import Region
from forewarn.stores.snapshots import parts
from forewarn.stores.snapshots.frames import BrokenStream, framed, unframed

FORMAT = 7  # another one is not read: the journal is, from its beginning


# What comes of parts that fit each other in no region: places and names that are not there, instants without a zone.
_NO_REGION = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, AssertionError)


class Unusable(Exception):  # noqa: N818 - the name says enough
    """The snapshot has to be ignored. The message says why, as the end of a sentence."""


class OtherFormat(Unusable):
    """The snapshot is whole, but another version wrote it in a form that this one does not read."""


class Header(Struct):
    """What a snapshot says of itself. ``mark`` is the journal's own proof of record ``seq``, from ``stores.rows``."""

    seq: int
    mark: bytes
    lone_vms_made: int
    latest_at: datetime | None
    written_by: str = __version__
    format: int = FORMAT


class _AnyHeader(Struct):
    """The two fields that a header of every format has."""

    format: int
    written_by: str = "another version"


_decode_header = msgspec.msgpack.Decoder(Header).decode
_decode_any_header = msgspec.msgpack.Decoder(_AnyHeader).decode


def pack(region: Region, seq: int, mark: bytes) -> Iterator[bytes]:
    """The bytes of a snapshot, piece by piece."""
    header = Header(seq, mark, region.lone_vms_made, region.latest_at)
    return framed(map(parts.encode, chain([header], parts.parts_of(region))))


def read_header(stream: BinaryIO) -> Header:
    """The header alone; raises ``Unusable``."""
    try:
        return _header(next(unframed(stream)))
    except (BrokenStream, StopIteration, msgspec.DecodeError) as flaw:
        raise Unusable(f"it is damaged: {flaw}") from flaw


def check(stream: BinaryIO) -> Header:
    """Read all of a snapshot without making anything of it; raises ``Unusable``."""
    try:
        payloads = unframed(stream)
        header = _header(next(payloads))
        deque(payloads, maxlen=0)
        return header
    except (BrokenStream, StopIteration, msgspec.DecodeError) as flaw:
        raise Unusable(f"it is damaged: {flaw}") from flaw


def unpack(stream: BinaryIO) -> tuple[Region, Header]:
    """The region in the snapshot; raises ``Unusable`` when it has to be ignored."""
    try:
        payloads = unframed(stream)
        header = _header(next(payloads))
        with _collector_at_rest():
            assembly = parts.RegionBuilder()
            for payload in payloads:
                assembly.take(parts.decode(payload))
            return assembly.region(header.lone_vms_made, header.latest_at), header
    except (BrokenStream, StopIteration, msgspec.DecodeError, *_NO_REGION) as flaw:
        raise Unusable(f"it is damaged: {flaw}") from flaw


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Switch garbage collection off: millions of objects are made and all stay, and scanning them doubles the time."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


def _header(payload: bytes) -> Header:
    found = _decode_any_header(payload)
    if found.format != FORMAT:
        raise OtherFormat(f"forewarn {found.written_by} wrote it in format {found.format}; this one reads {FORMAT}")
    return _decode_header(payload)
