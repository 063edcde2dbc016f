"""A server of raw bytes, and one that behaves as Azure has been seen to where forewarn does better.

No ETag, no Prefer, an old host that knows only old versions, answers in chunks, connections closed without a word.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from forewarn.terms import Document
from forewarn.wire.document import encode_document
from forewarn.wire.errors import BAD_VERSION
from forewarn.wire.start_requests import decode_start_requests
from forewarn.wire.versions import find

Behaviour = Callable[[bytes], bytes | None]  # a request to a raw response; None hangs up without one
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"


class RawServer:
    """Listens on loopback; one thread for each connection."""

    def __init__(self, behave: Behaviour) -> None:
        self._behave = behave
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[bytes] = []
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """How many there have been."""
        return len(self._connections)

    def close(self) -> None:
        for each in (self._listener, *self._connections):
            with suppress(OSError):  # on Windows closing is what wakes the one that waits, elsewhere this
                each.shutdown(socket.SHUT_RDWR)
            if sys.platform == "win32" or each is self._listener:
                each.close()
        self._threads[0].join()
        for connection in self._connections:  # one that came at the last moment
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while request := _one_request(connection):
                    self.requests.append(request)
                    response = self._behave(request)
                    if response is None:
                        return
                    connection.sendall(response)
                    if b"\r\nX-Hang-Up:" in response:
                        return
            except OSError:
                return


def _one_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := connection.recv(65536)):
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        if not (piece := connection.recv(65536)):
            return b""
        body += piece
    return head + b"\r\n\r\n" + body


@contextmanager
def raw_server(behave: Behaviour) -> Iterator[RawServer]:
    server = RawServer(behave)
    try:
        yield server
    finally:
        server.close()


@dataclass
class Azure:
    """Documents that a test shows one after the other, without any of our courtesies."""

    document: Document = field(default_factory=lambda: Document(1))
    newest: str = "2020-07-01"
    faults: list[bytes | None] = field(default_factory=list)  # what the next answers become
    story: list[Document] = field(default_factory=list)  # what is shown next, a document a read
    approved: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)

    def behave(self, request: bytes) -> bytes | None:
        line, _, rest = request.partition(b"\r\n")
        verb, target, _ = line.decode().split(" ")
        assert b"\r\nMetadata: true\r\n" in request
        assert b"X-Forwarded-For" not in request
        if self.faults:
            return self.faults.pop(0)
        if "/instance?" in target:
            return _chunked(200, json.dumps({"compute": {"name": "web_0", "vmScaleSetName": "web"}}).encode())
        version = find(target.partition("api-version=")[2])
        if version is None or version.date > self.newest:
            return _chunked(400, BAD_VERSION.body)
        self.versions.append(version.date)
        if verb == "POST":
            self._approve(decode_start_requests(rest.partition(b"\r\n\r\n")[2]))
            return _chunked(200, b"")
        if self.story:
            self.document = self.story.pop(0)
        return _chunked(200, encode_document(self.document, version))

    def _approve(self, ids: tuple[str, ...]) -> None:
        self.approved += ids
        events = tuple(
            replace(event, status="Started", not_before=None) if event.event_id in ids else event
            for event in self.document.events
        )
        self.document = Document(self.document.incarnation + 1, events)


def _chunked(status: int, body: bytes) -> bytes:
    chunks = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
    head = (
        b"HTTP/1.1 %d X\r\nContent-Type: application/json; charset=utf-8\r\nServer: IMDS/150.870.65.1854\r\n" % status
    )
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


def plain(status: int, body: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)
