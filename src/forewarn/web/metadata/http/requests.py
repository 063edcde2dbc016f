"""Bytes in, requests out: the parser with its limits. It owns no socket and no clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from forewarn.web.metadata.asking.request import Request
from forewarn.web.metadata.settings import Limits
from forewarn.wire.errors import ErrorReply, bad_request, error

MALFORMED = bad_request("The request is not HTTP/1.1 that can be understood")
UNEXPECTED = error(417, "Expectation failed. Only 100-continue can be expected")
TARGET_TOO_LONG = error(414, "URI too long")
HEAD_TOO_LARGE = error(431, "Request header fields too large")
TOO_SLOW = error(408, "Request timeout. The request did not arrive in time")
_RAW_BODY_FACTOR = 8  # what a body may weigh on the way, cut into chunks: a chunk of one byte weighs six, and some more


@dataclass(frozen=True, slots=True)
class Spoiled:
    """What came is no request; this is the last answer of the connection."""

    answer: ErrorReply


@dataclass(frozen=True, slots=True)
class Continue:
    """The client waits for a word before it sends its body."""


CONTINUE: Final = Continue()
Arrival: TypeAlias = Request | Spoiled | Continue


class RequestReader:
    """Fed with whatever comes; gives out what is complete. After the last request of a connection it is deaf."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parser: HttpRequestParser | None = None  # made when it is needed: many a connection never needs one
        self._deaf = False
        self._arrivals: list[Arrival] = []
        self._fault = MALFORMED
        self._taken = 0  # how many requests
        self.partial = False  # a request has begun and not ended
        self._begin()

    def feed(self, data: bytes) -> list[Arrival]:
        """What has become complete with this data."""
        if self._deaf:
            return []
        if self._parser is None:
            self._parser = HttpRequestParser(self)
        taken = self._taken
        try:
            self._parse(self._parser, data)
            if self.partial and self._taken == taken:
                self._weigh(len(data))
        except HttpParserError:
            self._end_with(Spoiled(self._fault))
        arrivals, self._arrivals = self._arrivals, []
        return arrivals

    def give_up(self) -> list[Arrival]:
        """The rest of a request did not come in time."""
        self._end_with(Spoiled(TOO_SLOW))
        arrivals, self._arrivals = self._arrivals, []
        return arrivals

    def close(self) -> None:
        """Stop reading, and break the reference cycle between parser and reader."""
        self._parser = None
        self._deaf = True
        self.partial = False

    def _parse(self, parser: HttpRequestParser, data: bytes) -> None:
        """An offer to change the protocol is passed over.

        At such an offer the parser stops after the head and takes a body for the new protocol's; so it gets the same
        head once more, without the offer.
        """
        rest = memoryview(data)
        while len(rest):
            try:
                parser.feed_data(rest)
                return
            except HttpParserUpgrade as upgrade:
                if self._deaf:
                    return
                parser.feed_data(self._plain_head())
                rest = rest[upgrade.args[0] :]

    def _plain_head(self) -> bytes:
        version = b"1.0" if self._http_1_0 else b"1.1"
        lines = [b"%b %b HTTP/%b" % (self._verb, self._target, version)]
        lines += [b"%b: %b" % field for field in self._fields if field[0] != b"upgrade"]
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _weigh(self, length: int) -> None:
        """Count the bytes of a request that is not complete, and refuse it at the limit."""
        self._raw_bytes += length
        if not self._head_complete and self._raw_bytes > self._limits.head_bytes:
            self._refuse(HEAD_TOO_LARGE)
        if self._raw_bytes > self._limits.head_bytes + self._limits.body_bytes * _RAW_BODY_FACTOR:
            self._take(oversized=True)

    def _refuse(self, answer: ErrorReply) -> None:
        self._fault = answer
        raise HttpParserError(answer.body)

    def _end_with(self, arrival: Arrival) -> None:
        """The last answer of the connection.

        Only once: after a request that was cut short, the parser complains of the cut, too.
        """
        if not self._deaf:
            self._arrivals.append(arrival)
            self.close()

    def _begin(self) -> None:
        self._verb = self._target = b""
        self._http_1_0 = False
        self._fields: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._raw_bytes = self._head_bytes = self._body_bytes = 0
        self._field_count = 0
        self._head_complete = False

    # What the parser calls

    def on_message_begin(self) -> None:
        self._begin()
        self.partial = True

    def on_url(self, piece: bytes) -> None:
        self._target += piece
        self._head_bytes += len(piece)
        if len(self._target) > self._limits.target_bytes:
            self._refuse(TARGET_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Also called for trailers, which count but are not kept: no check may hang on what comes after it."""
        self._field_count += 1
        self._head_bytes += len(name) + len(value)
        if self._field_count > self._limits.header_fields or self._head_bytes > self._limits.head_bytes:
            self._refuse(HEAD_TOO_LARGE)
        if not self._head_complete:
            self._fields.append((name.lower(), value.strip()))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        self._head_complete = True
        self._verb = self._parser.get_method()
        version = self._parser.get_http_version()
        self._http_1_0 = version == "1.0"
        if version not in ("1.1", "1.0"):
            self._refuse(MALFORMED)
        if self._is_offer():
            return
        if any(name == b"transfer-encoding" and value.lower() != b"chunked" for name, value in self._fields):
            self._refuse(MALFORMED)
        fields = dict(self._fields)
        if int(fields.get(b"content-length", b"0")) > self._limits.body_bytes:
            self._take(oversized=True)
        if b"expect" in fields and not self._http_1_0:
            if fields[b"expect"].lower() != b"100-continue":
                self._refuse(UNEXPECTED)
            self._arrivals.append(CONTINUE)

    def on_body(self, piece: bytes) -> None:
        self._body_bytes += len(piece)
        if self._body_bytes > self._limits.body_bytes:
            self._take(oversized=True)
        self._body.append(piece)

    def on_message_complete(self) -> None:
        if not self._is_offer():
            self._take()

    def _is_offer(self) -> bool:
        """Whether this is a head that will come once more. A tunnel is no offer: it is just refused."""
        assert self._parser is not None
        return self._parser.should_upgrade() and self._verb != b"CONNECT"

    def _take(self, *, oversized: bool = False) -> None:
        """The request is as complete as it will be. One with too much body is answered, and is the last."""
        assert self._parser is not None
        request = Request(
            verb=self._verb,
            target=self._target,
            fields=self._fields,
            body=b"" if oversized else b"".join(self._body),
            keep_alive=self._parser.should_keep_alive() and not oversized,
            http_1_0=self._http_1_0,
            oversized=oversized,
        )
        self._arrivals.append(request)
        self._taken += 1
        self._begin()
        self.partial = False
        if not request.keep_alive or request.verb == b"CONNECT":
            request.keep_alive = False
            self.close()
        if oversized:
            raise HttpParserError("no more of this body is wanted")
