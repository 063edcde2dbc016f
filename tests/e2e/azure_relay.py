"""What stands between a guest and a region to make the region as plain, and as moody, as the service of Azure."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.client import HTTPConnection, HTTPMessage, parse_headers
from itertools import cycle
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import cast

_PATIENCE_SECONDS = 30.0
_OURS = frozenset({"etag", "preference-applied", "vary"})  # what a region tells and Azure does not
_NOT_HEARD = frozenset({"if-none-match", "prefer", "host", "connection"})  # what a region honours and Azure does not


class Mood(Enum):
    """What becomes of one request. The value is the status and whether the region hears of it."""

    GOOD = (0, True)
    GONE = (410, False)
    THROTTLED = (429, False)
    BROKEN = (500, False)
    EMPTY = (200, False)
    UNTOLD = (503, True)  # heard and done, and the answer was lost


READS = (Mood.GONE, Mood.GOOD, Mood.THROTTLED, Mood.GOOD, Mood.BROKEN, Mood.GOOD, Mood.EMPTY, Mood.GOOD)
APPROVALS = (Mood.GONE, Mood.THROTTLED, Mood.BROKEN, Mood.UNTOLD, Mood.GOOD)


@dataclass
class AzureRelay:
    """Reads and approvals meet their moods in turn, for as long as it stands."""

    region_port: int
    port: int = 0
    met: Counter[tuple[str, Mood]] = field(default_factory=Counter)
    conditional: int = 0  # reads that named an ETag, which nobody here has told
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _moods: dict[str, Iterator[Mood]] = field(
        default_factory=lambda: {"GET": cycle(READS), "POST": cycle(APPROVALS)}, init=False
    )

    @classmethod
    @contextmanager
    def before(cls, region_port: int) -> Iterator[AzureRelay]:
        """Relay to a region on this machine. Its guests must have ended before the block does."""
        with _Server(cls(region_port)) as server:
            server.relay.port = server.server_address[1]
            thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="relay")
            thread.start()
            try:
                yield server.relay
            finally:
                server.shutdown()
                thread.join()

    def answer(self, verb: str, target: str, fields: HTTPMessage, body: bytes) -> bytes:
        with self._lock:
            mood = next(self._moods[verb])
            self.met[verb, mood] += 1
            self.conditional += "If-None-Match" in fields
        status, heard = mood.value
        told = self._ask(verb, target, fields, body) if heard else b""
        return told if mood is Mood.GOOD else _plain(status)

    def _ask(self, verb: str, target: str, fields: HTTPMessage, body: bytes) -> bytes:
        passed = {name: value for name, value in fields.items() if name.lower() not in _NOT_HEARD}
        connection = HTTPConnection("127.0.0.1", self.region_port, timeout=_PATIENCE_SECONDS)
        try:
            connection.request(verb, target, body or None, passed)
            response = connection.getresponse()
            told = [(name, value) for name, value in response.getheaders() if name.lower() not in _OURS]
            return _encode(response.status, told, response.read())
        finally:
            connection.close()


def _plain(status: int) -> bytes:
    return _encode(status, [("Content-Length", "0")], b"")


def _encode(status: int, fields: list[tuple[str, str]], body: bytes) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"HTTP/1.1 {status} So\r\n{lines}\r\n".encode("latin-1") + body


class _Server(ThreadingTCPServer):
    allow_reuse_address = True

    def __init__(self, relay: AzureRelay) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.relay = relay


class _Connection(StreamRequestHandler):
    def handle(self) -> None:
        try:
            while line := self.rfile.readline():
                verb, target, _ = line.decode("latin-1").split(" ")
                fields = parse_headers(self.rfile)
                body = self.rfile.read(int(fields.get("Content-Length", "0")))
                self.wfile.write(cast(_Server, self.server).relay.answer(verb, target, fields, body))
        except ConnectionError:
            return  # a guest that is gone does not take its answer
