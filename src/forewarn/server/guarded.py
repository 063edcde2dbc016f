"""Limits of the control faces' connections: time for a request, bytes of its head, number of connections.

uvicorn waits for the rest of a request for ever, and takes as many header fields as are sent. The control faces share
one process and its file descriptors with the metadata face: without limits, slow or many connections here would keep
VMs from theirs.
"""

from __future__ import annotations

import asyncio
import re
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OFFER = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


def _without_offer(data: bytes) -> bytes:
    """The same bytes, but for an offer to change the protocol, which becomes a field that nobody reads.

    Java's HttpClient offers HTTP/2 with its first request. At such an offer uvicorn's parser stops after the head, and
    the body would be lost; nothing here speaks another protocol.
    """
    head, end, rest = data.partition(b"\r\n\r\n")
    return _OFFER.sub(b"\r\nx-offered:", head) + end + rest if _OFFER.search(head) else data


class Guarded(HttpToolsProtocol):
    """A request must have arrived within ``request_seconds`` of its first byte; the first, of the connection's."""

    request_seconds: ClassVar[float] = 60.0  # nginx waits as long for a head by default
    head_bytes: ClassVar[int] = 64 * 1024  # four times what node and IIS take: tokens of az are a few KiB
    most: ClassVar[int] = 4096  # ours: connections of one face; people, portals and az need dozens

    _deadline: asyncio.TimerHandle | None = None
    _in_head = False
    _in_body = False
    _head_bytes = 0
    _field_bytes = 0

    # Uvicorn narrows asyncio's signature, too
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.close()
            return
        self._expect_the_rest()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data if self._in_body else _without_offer(data))
        if self._in_head:
            self._head_bytes += len(data)
            self._check_head(self._head_bytes)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Also called for trailers of a chunked body, when no head is being read any more."""
        self._field_bytes += len(name) + len(value)
        if self._check_head(self._field_bytes):
            super().on_header(name, value)

    def _check_head(self, size: int) -> bool:
        if size > self.head_bytes and not self.transport.is_closing():
            self.send_400_response("The head of the request does not end.")
        return size <= self.head_bytes

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes, self._field_bytes = True, 0, 0
        self._expect_the_rest()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._expect_nothing()
        super().on_message_complete()

    def _expect_the_rest(self) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(self.request_seconds, self._give_up)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self.transport.abort()
