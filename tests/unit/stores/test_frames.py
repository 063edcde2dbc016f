from __future__ import annotations

from io import BytesIO
from struct import pack

import pytest

from forewarn.stores.snapshots.frames import MAGIC, BrokenStream, framed, unframed

PAYLOADS = [b"first", b"", b"x" * 100_000, bytes(range(256))]


def _stream() -> bytes:
    return b"".join(framed(PAYLOADS))


def test_payloads_come_back_in_order() -> None:
    assert list(unframed(BytesIO(_stream()))) == PAYLOADS


def test_a_stream_without_payloads_is_whole() -> None:
    assert list(unframed(BytesIO(b"".join(framed([]))))) == []


def test_the_first_payload_can_be_had_without_reading_the_rest() -> None:
    stream = BytesIO(_stream())
    assert next(unframed(stream)) == b"first"
    assert stream.tell() < 100


def test_a_stream_cut_anywhere_is_broken() -> None:
    whole = _stream()
    for length in range(len(whole)):
        with pytest.raises(BrokenStream):
            list(unframed(BytesIO(whole[:length])))


def test_a_stream_with_any_byte_changed_is_broken() -> None:
    whole = _stream()
    for place in range(len(whole)):
        changed = whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :]
        with pytest.raises(BrokenStream):
            list(unframed(BytesIO(changed)))


def test_frames_that_changed_places_are_found() -> None:
    one, two, end = list(framed([b"one", b"two"]))[1:]
    with pytest.raises(BrokenStream, match="checksum"):
        list(unframed(BytesIO(MAGIC + two + one + end)))


def test_something_after_the_end_is_found() -> None:
    with pytest.raises(BrokenStream, match="follows its end"):
        list(unframed(BytesIO(_stream() + b"\0")))


def test_a_monstrous_length_is_not_believed() -> None:
    with pytest.raises(BrokenStream, match="cut short"):
        list(unframed(BytesIO(MAGIC + pack("<I16s", 0xFFFFFFFF, b"") + b"tiny")))
