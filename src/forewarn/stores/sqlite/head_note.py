"""The last record that was committed, noted beside the journal: a start notices when the journal does not hold it.

The note is written after each commit and never forced to the disk. After a loss of power it may be older than the
journal, never newer: what it names was safe. A note that cannot be read says nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from forewarn import durable

NAME = "head"
_LONGEST = 128  # a number of 20 digits, a chain and a proof of 16 fit


class Noted(NamedTuple):
    seq: int
    chain: bytes


def read(directory: Path) -> Noted | None:
    try:
        with (directory / NAME).open("rb") as file:
            return understood(file.read(_LONGEST))
    except OSError:
        return None


def understood(text: bytes) -> Noted | None:
    """The content of a note; None where it is damaged."""
    try:
        seq, chain, proof = text.decode("ascii").split()
        return Noted(int(seq), bytes.fromhex(chain)) if proof == _proof(seq, chain) else None
    except ValueError:
        return None


def _proof(seq: str, chain: str) -> str:
    return blake2b(f"{seq} {chain}".encode(), digest_size=8).hexdigest()


class HeadNote:
    """The note of a journal that is open."""

    def __init__(self, directory: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | durable.OWN
        self._descriptor = os.open(directory / NAME, flags, 0o600)

    def write(self, seq: int, chain: bytes) -> None:
        """Overwrite the note, always with the same length. A failure leaves the one before."""
        number, text = f"{seq:020d}", chain.hex()
        with suppress(OSError):
            durable.write_at(self._descriptor, f"{number} {text} {_proof(number, text)}\n".encode(), 0)

    def close(self) -> None:
        os.close(self._descriptor)
