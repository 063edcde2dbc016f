"""A request as it came; the two header fields that say more than the question itself, what a reader knows already
(``If-None-Match``) and how long it would wait for news (``Prefer: wait``); and what of its bytes decides the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from forewarn.web.metadata.settings import Limits

# Looked at by ``questions`` and ``callers``, and by the parser for where a request ends and what happens then. What is
# noted of a watched VM or written to the log is not among them: no request is known from memory there.
DECISIVE = (
    *("host", "metadata", "x-forwarded-for", "origin", "if-none-match", "prefer", "content-encoding"),
    *("connection", "proxy-connection", "upgrade", "expect", "content-length", "transfer-encoding"),
)
_LONGEST = 1024  # bytes; ours: twice what is kept of a request, for all that does not matter
_DECISIVE_FIELD = re.compile(rf"\n((?i:{'|'.join(DECISIVE)}):[^\r]*)".encode())
# One whole GET without a body, in letters about which no parser disagrees; anything else is left to the real parser
_PLAIN = rb"GET [!-~]+ HTTP/1\.1\r\n(?:[!#$%%&'*+.^_`|~0-9A-Za-z-]+:[\t -~]*+\r\n){1,%d}+\r\n"

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


class Essences:
    """What of a request decides its answer: its first line, and the header fields that anybody here looks at.

    Many a client writes something new into each poll: the id of a trace, a time, a number of its own. Such a request is
    another one by its bytes and the same one by its essence. One that the parser of a face would refuse has none.
    """

    def __init__(self, limits: Limits) -> None:
        self._longest = min(_LONGEST, limits.remembered_bytes, limits.head_bytes)
        self._is_plain = re.compile(_PLAIN % limits.header_fields).fullmatch

    def of(self, request: bytes) -> bytes | None:
        if len(request) > self._longest or not self._is_plain(request):
            return None
        return b"\n".join((request[: request.index(b"\r")], *_DECISIVE_FIELD.findall(request)))
