"""HTTP/1.1 as a guest needs it, as bytes: what to send, and a reader that is fed with what comes. Owns no socket.

It exists because the standard library's client brings the mail package along and has no asynchronous twin. It knows
no proxies: a metadata service is never behind one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass

LONGEST_HEAD = 64 * 1024  # curl takes 300 KiB; the service sends less than one
LONGEST_BODY = 8 * 1024 * 1024  # some ten thousand events: more than a scope can have
_BODYLESS = frozenset({204, 304})  # RFC 9112, 6.3


class BadResponse(Exception):  # noqa: N818 - it is named after what it is about
    """What came is no HTTP answer, or not a whole one."""


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A question without its place. Header fields are our own constants and are not checked again here."""

    verb: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def encode(self, authority: str, prefix: str = "") -> bytes:
        lines = [f"{self.verb} {prefix}{self.target} HTTP/1.1", f"Host: {authority}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.body or self.verb == "POST":
            lines.append(f"Content-Length: {len(self.body)}")
        return "".join(f"{line}\r\n" for line in lines).encode("latin-1") + b"\r\n" + self.body


@dataclass(frozen=True, slots=True)
class Response:
    """An answer. Names of fields are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    reusable: bool = False  # whether the connection may carry another question


class ResponseReader:
    """Takes bytes as they come, empty ones when the server has closed, until there is a whole answer."""

    def __init__(self) -> None:
        self.begun = False  # whether any byte has come
        self._parser = _parse()
        next(self._parser)

    def feed(self, data: bytes) -> Response | None:
        self.begun = self.begun or bool(data)
        try:
            self._parser.send(data)
        except StopIteration as end:
            found: Response = end.value
            return found
        return None


_Parser = Generator[None, bytes, Response]
_Bytes = Generator[None, bytes, bytes]
_Nothing = Generator[None, bytes, None]


def _parse() -> _Parser:
    held = bytearray()
    version, status, headers = yield from _head(held)
    while 100 <= status < 200:  # what comes before the answer
        version, status, headers = yield from _head(held)
    closes = version == "HTTP/1.0" or "close" in headers.get("connection", "").lower()
    length = headers.get("content-length")
    if status in _BODYLESS:
        body = b""
    elif "chunked" in headers.get("transfer-encoding", "").lower():
        body = yield from _chunks(held)
    elif length is not None:
        body = yield from _take(held, _number(length, 10))
    else:
        body, closes = (yield from _until_closed(held)), True
    return Response(status, headers, body, reusable=not closes and not held)


def _head(held: bytearray) -> Generator[None, bytes, tuple[str, int, dict[str, str]]]:
    status_line = (yield from _line(held)).split(" ", 2)
    if len(status_line) < 2 or not status_line[0].startswith("HTTP/1.") or not _is_status(status_line[1]):
        raise BadResponse("what answers there does not speak HTTP")
    headers: dict[str, str] = {}
    size = 0
    while line := (yield from _line(held)):
        size += len(line)
        if size > LONGEST_HEAD:
            raise BadResponse("the head of the answer does not end")
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return status_line[0], int(status_line[1]), headers


def _is_status(text: str) -> bool:
    return len(text) == 3 and text.isascii() and text.isdecimal() and text[0] != "0"


def _line(held: bytearray) -> Generator[None, bytes, str]:
    while (end := held.find(b"\n")) < 0:
        if len(held) > LONGEST_HEAD:
            raise BadResponse("a line of the answer does not end")
        yield from _more(held)
    line = held[:end].removesuffix(b"\r").decode("latin-1")
    del held[: end + 1]
    return line


def _take(held: bytearray, count: int) -> _Bytes:
    if count > LONGEST_BODY:
        raise BadResponse("the answer is too large")
    while len(held) < count:
        yield from _more(held)
    taken = bytes(held[:count])
    del held[:count]
    return taken


def _chunks(held: bytearray) -> _Bytes:
    body = bytearray()
    while size := _number((yield from _line(held)).partition(";")[0], 16):
        body += yield from _take(held, size)
        yield from _line(held)
        if len(body) > LONGEST_BODY:
            raise BadResponse("the answer is too large")
    while (yield from _line(held)):  # trailers
        pass
    return bytes(body)


def _until_closed(held: bytearray) -> _Bytes:
    while data := (yield):
        held += data
        if len(held) > LONGEST_BODY:
            raise BadResponse("the answer is too large")
    body = bytes(held)
    held.clear()
    return body


def _more(held: bytearray) -> _Nothing:
    data = yield
    if not data:
        raise BadResponse("the connection was closed before the whole answer had come")
    held += data


def _number(text: str, base: int) -> int:
    """Only digits: Python would also take signs, spaces and underscores."""
    text = text.strip()
    digits = "0123456789abcdefABCDEF" if base == 16 else "0123456789"
    if not text or len(text) > 16 or text.strip(digits):
        raise BadResponse("the answer has a length that is no number")
    return int(text, base)
