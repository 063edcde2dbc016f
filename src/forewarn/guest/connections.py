"""Plain sockets: one question and its answer at a time on each, kept open for the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forewarn.guest.endpoint import Endpoint
from forewarn.guest.exchange import Lost, Send
from forewarn.guest.faults import Closed
from forewarn.guest.http1 import BadResponse, Response, ResponseReader

if TYPE_CHECKING:
    from forewarn.guest.system.parts import Stream, System

_RECEIVE_BYTES = 65_536  # asyncio's default, too
_MOST_IDLE = 2  # one for the reader that polls or waits, one for an approval


class KeptConnections:
    """Those of one client. Threads that ask at the same time get one each."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._lock = system.threads.lock()
        self._idle: list[tuple[Endpoint, Stream]] = []
        self._busy: set[Stream] = set()
        self._closed = system.threads.event()

    def send(self, send: Send) -> Response | Lost:
        """Put a question and wait for the answer."""
        kept = self._take(send.endpoint)
        try:
            connection = kept or self._connect(send)
        except OSError as problem:
            self._check_open()
            return Lost.by(problem, send.connect_seconds)
        reader, response = ResponseReader(), None
        try:
            response = self._converse(connection, send, reader)
        except (OSError, BadResponse) as problem:
            self._check_open()
            return Lost.by(problem, send.answer_seconds, kept=kept is not None and not reader.begun)
        finally:
            self._give_back(send.endpoint, connection, keep=response is not None and response.reusable)
        return response

    def wait(self, seconds: float) -> None:
        """Sleep, unless the client is closed meanwhile."""
        self._closed.wait(seconds)
        self._check_open()

    def close(self) -> None:
        """Close every connection. A thread that waits for an answer gets an ``OSError`` at once."""
        self._closed.set()
        with self._lock:
            idle, busy, self._idle = self._idle, [*self._busy], []
            for connection in busy:
                self._system.sockets.hang_up(connection)
        for _, connection in idle:
            connection.close()

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise Closed

    def _take(self, endpoint: Endpoint) -> Stream | None:
        """A connection that was kept. One to another place is of no use any more: a client has one place."""
        self._check_open()
        with self._lock:
            while self._idle:
                place, connection = self._idle.pop()
                if place == endpoint:
                    self._busy.add(connection)
                    return connection
                connection.close()
        return None

    def _connect(self, send: Send) -> Stream:
        connection = self._system.sockets.connect(send.endpoint.host, send.endpoint.port, send.connect_seconds)
        with self._lock:
            self._busy.add(connection)
            if self._closed.is_set():
                self._system.sockets.hang_up(connection)
        return connection

    def _give_back(self, endpoint: Endpoint, connection: Stream, *, keep: bool) -> None:
        with self._lock:
            self._busy.discard(connection)
            keep = keep and not self._closed.is_set() and len(self._idle) < _MOST_IDLE
            if keep:
                self._idle.append((endpoint, connection))
        if not keep:
            connection.close()

    def _converse(self, connection: Stream, send: Send, reader: ResponseReader) -> Response:
        clock = self._system.clock
        ends_at = clock.monotonic() + send.answer_seconds
        connection.settimeout(send.answer_seconds)
        connection.sendall(send.request.encode(send.endpoint.authority, send.endpoint.prefix))
        while True:
            left = ends_at - clock.monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
            response = reader.feed(connection.recv(_RECEIVE_BYTES))
            if response is not None:
                return response
