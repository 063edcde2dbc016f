"""Small damage to good input, by a seed: what a bounded run in the test suite tries. The same seed, the same damage."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

_ODD = (
    b"\0", b"\xff", b"\r\n", b"\n", b" ", b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b",", b":", b"/", b"%", b"=", b"#",
    b"-1", b"0", b"1e999", b"99999999999999999999", b"null", b"true", b"\xed\xa0\x80", b"\\ud800", b"\xe2\x80\xae",
    b"/*", b"*/", b"//", b"%00", b"%2e%2e", b"..", b"\x1b[2J", b"0001-01-01T00:00:00+23:59",
    b"9999-12-31T23:59:59-23:59",
)  # fmt: skip


def mutate(chance: random.Random, corpus: Sequence[bytes], most: int = 4096) -> bytes:
    """One of the corpus, damaged a few times, sometimes joined with another."""
    data = bytearray(chance.choice(corpus))
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        chance.choice(_DAMAGES)(chance, data, corpus)
    return bytes(data[:most])


def _flip(chance: random.Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _put(chance: random.Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    place = chance.randrange(len(data) + 1)
    data[place:place] = chance.choice(_ODD)


def _write_over(chance: random.Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    place, piece = chance.randrange(len(data) + 1), chance.choice(_ODD)
    data[place : place + len(piece)] = piece


def _drop(chance: random.Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    place = chance.randrange(len(data) + 1)
    del data[place : place + chance.choice((1, 2, 4, 16, 64))]


def _repeat(chance: random.Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    place = chance.randrange(len(data) + 1)
    data[place:place] = data[place : place + chance.choice((1, 4, 16, 64))] * chance.choice((1, 2, 8, 64))


def _splice(chance: random.Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    other = chance.choice(corpus)
    place, start = chance.randrange(len(data) + 1), chance.randrange(len(other) + 1)
    data[place:] = other[start:]


_DAMAGES: tuple[Callable[[random.Random, bytearray, Sequence[bytes]], None], ...] = (
    _flip, _put, _write_over, _drop, _repeat, _splice,
)  # fmt: skip
