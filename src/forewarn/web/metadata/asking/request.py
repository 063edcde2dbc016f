"""A request as it came, and the two header fields that say more than the question itself: what a reader knows already
(``If-None-Match``), and how long it would wait for news (``Prefer: wait``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_TAG = re.compile(rb'(?:W/)?"?(\d{1,18})"?')
_WAIT = re.compile(rb'wait\s*=\s*"?(\d{1,9})"?', re.IGNORECASE)


@dataclass(slots=True)
class Request:
    """One request that has arrived whole, or as much of it as we were ready to take."""

    verb: bytes
    target: bytes
    fields: list[tuple[bytes, bytes]]  # names in lower case
    body: bytes = b""
    keep_alive: bool = True
    http_1_0: bool = False
    oversized: bool = False  # its body is beyond the limit and was not taken; nothing can follow it

    def values(self, name: bytes) -> list[bytes]:
        """All values of a header field, in order."""
        return [value for found, value in self.fields if found == name]


@dataclass(frozen=True, slots=True)
class Unless:
    """The incarnations of which the reader needs no copy."""

    incarnations: frozenset[int] = frozenset()
    everything: bool = False

    def covers(self, incarnation: int) -> bool:
        return self.everything or incarnation in self.incarnations


NEVER: Final = Unless()


def read_unless(values: list[bytes]) -> Unless:
    """Quoted as HTTP wants it, weak, or bare as Microsoft's sample sends it. What is no tag of ours cannot match."""
    tags = [tag.strip() for value in values for tag in value.split(b",")]
    known = frozenset(int(found[1]) for tag in tags if (found := _TAG.fullmatch(tag)))
    if b"*" in tags:
        return Unless(everything=True)
    return Unless(known) if tags else NEVER


def read_wait(values: list[bytes], longest: int) -> int | None:
    """The seconds that are granted. RFC 7240: the first of several counts, and what is not understood is ignored."""
    preferences = [piece.partition(b";")[0].strip() for value in values for piece in value.split(b",")]
    found = next((match for piece in preferences if (match := _WAIT.fullmatch(piece))), None)
    return None if found is None else min(int(found[1]), longest)
