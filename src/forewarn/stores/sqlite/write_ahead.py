"""SQLite's write-ahead log, looked at without SQLite, which takes whatever follows a damaged frame for never written.

The format is documented (sqlite.org/fileformat2.html#walformat): a header, then frames of one page each, every frame
with the log's two salts and a checksum over all before it. A frame that ends a transaction says so.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from struct import unpack
from sys import byteorder
from typing import BinaryIO, NamedTuple

from forewarn import durable

_HEADER_BYTES = 32  # SQLite's file format, section 4.1
_FRAME_HEADER_BYTES = 24  # SQLite's file format, section 4.1
_MAGIC = 0x377F0682  # with the lowest bit set, checksums are over big-endian words
_PAGE_SIZES = [512 << power for power in range(8)]
_WORD = 0xFFFFFFFF  # SQLite's checksums are sums of 32-bit words
_RENEWED_AT_ONCE = 1 << 20  # a megabyte: bounds memory, and the disk is not asked more often than it must


class _Frame(NamedTuple):
    page: int
    commits: bool
    salts: bytes
    checksum: tuple[int, int]
    summed: bytes  # what the checksum is over
    content: bytes


def is_damaged(log: Path, file: Path) -> bool:
    """Whether the log has lost a transaction that was forced to the disk.

    A transaction is begun only when the one before it is on the disk. So a loss of power can spoil the last one, in any
    of its frames, and no other: where two ends of transactions stand behind the last whole one, the first of them was
    safe once. A single one may have been lost before it was acknowledged; ``stores.sqlite.head_note`` may know better.
    """
    with log.open("rb") as stream, file.open("rb") as pages:
        return _is_damaged(stream, pages)


def _is_damaged(stream: BinaryIO, pages: BinaryIO) -> bool:
    head = stream.read(_HEADER_BYTES)
    if len(head) < _HEADER_BYTES:
        return False
    magic, _, page_bytes, *_ = unpack(">8I", head)
    big = bool(magic & 1)
    checksum = _summed(head[:24], (0, 0), big)
    if magic & ~1 != _MAGIC or page_bytes not in _PAGE_SIZES or checksum != unpack(">2I", head[24:]):
        return _is_wanted(stream, pages)
    return _ends_behind_the_whole(stream, page_bytes, head[16:24], checksum, big) > 1


def _ends_behind_the_whole(
    stream: BinaryIO, page_bytes: int, salts: bytes, checksum: tuple[int, int], big: bool
) -> int:
    """How many frames that end a transaction of this log stand behind the first frame that does not fit."""
    whole, ends = True, 0
    for frame in _frames(stream, page_bytes):
        if whole:
            checksum = _summed(frame.summed, checksum, big) if frame.salts == salts else (0, 0)
            whole = frame.salts == salts and checksum == frame.checksum
        if not whole:
            ends += frame.commits and frame.salts == salts
    return ends


def _is_wanted(stream: BinaryIO, pages: BinaryIO) -> bool:
    """Whether a log whose header is damaged holds what the file does not.

    A header is written when all of the log is in the file, and forced to the disk before the first new frame. If that
    is what went wrong, the frames behind it are old, and the file has their pages.
    """
    (page_bytes,) = unpack(">H", pages.read(18)[16:].ljust(2, b"\0"))
    page_bytes = 65536 if page_bytes == 1 else page_bytes
    wanted, latest, salts = dict[int, bytes](), dict[int, bytes](), b""
    for frame in _frames(stream, page_bytes):
        salts = salts or frame.salts
        if frame.salts != salts:
            break
        latest[frame.page] = frame.content
        if frame.commits:
            wanted |= latest
            latest.clear()
    return any(_page(pages, number, page_bytes) != content for number, content in wanted.items())


def _page(pages: BinaryIO, number: int, page_bytes: int) -> bytes:
    """The page with this number, from 1 on; empty where a damaged number leads nowhere."""
    if number < 1:
        return b""
    pages.seek((number - 1) * page_bytes)
    return pages.read(page_bytes)


def _frames(stream: BinaryIO, page_bytes: int) -> Iterator[_Frame]:
    """All whole frames, from where the stream stands."""
    while len(data := stream.read(_FRAME_HEADER_BYTES + page_bytes)) == _FRAME_HEADER_BYTES + page_bytes:
        page, size, _, _, first, second = unpack(">6I", data[:_FRAME_HEADER_BYTES])
        content = data[_FRAME_HEADER_BYTES:]
        yield _Frame(page, size > 0, data[8:16], (first, second), data[:8] + content, content)


def _summed(data: bytes, checksum: tuple[int, int], big: bool) -> tuple[int, int]:
    """SQLite's running checksum over pairs of words."""
    words = array("I", data)
    if big is (byteorder == "little"):
        words.byteswap()
    first, second = checksum
    pairs = iter(words)
    for one, other in zip(pairs, pairs, strict=True):
        first = (first + one + second) & _WORD
        second = (second + other + first) & _WORD
    return first, second


def renew(log: Path) -> None:
    """Write the log again as it is, and force it to the disk.

    After a failure to do so, the system may show bytes that are not on the disk and that it does not hold for new: a
    later success would say nothing of them. Code that builds on the log forces it to the disk first.
    """
    with log.open("r+b") as stream:
        place = 0
        while piece := durable.read_at(stream.fileno(), _RENEWED_AT_ONCE, place):
            place += durable.write_at(stream.fileno(), piece, place)
        durable.sync(stream.fileno())


def force_empty(log: Path) -> None:
    """Sync a log that was just emptied.

    It is written once more first: after a failed sync the system may hold it for clean.
    """
    descriptor = os.open(log, os.O_RDWR | durable.OWN)
    try:
        for length in (1, 0):
            os.ftruncate(descriptor, length)
        durable.sync(descriptor)
    finally:
        os.close(descriptor)
