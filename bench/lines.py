"""Many connections in one thread: what thousands of VMs look like from outside. Times are taken as answers arrive."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.processes import CannotMeasure

_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Heard:
    """An answer and when its last byte was there."""

    status: int
    head: bytes
    body: bytes
    at: float

    def header(self, name: bytes) -> bytes:
        for line in self.head.split(b"\r\n")[1:]:
            found, _, value = line.partition(b":")
            if found.lower() == name:
                return value.strip()
        return b""


class Line:
    """One kept-alive connection."""

    def __init__(self, port: int, source: str = "127.0.0.1") -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", port))
        self._received = b""

    def send(self, request: bytes) -> None:
        self.socket.sendall(request)

    def receive(self) -> Heard | None:
        """What has arrived, if it makes an answer whole."""
        data = self.socket.recv(65536)
        at = time.perf_counter()
        if not data:
            raise CannotMeasure("the server closed a connection instead of answering")
        self._received += data
        head, mark, rest = self._received.partition(b"\r\n\r\n")
        if not mark:
            return None
        heard = Heard(int(head[9:12]), head, rest, at)
        if heard.status != 304 and len(rest) < int(heard.header(b"content-length") or b"0"):
            return None
        self._received = b""
        return heard

    def close(self) -> None:
        self.socket.close()


class Exchange:
    """Requests that are under way on many lines."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = {line.socket.fileno(): line for line in lines}
        self._poll = select.epoll()
        for number in self._lines:
            self._poll.register(number, select.EPOLLIN)

    def collect(self, wanted: int) -> dict[Line, Heard]:
        """The next ``wanted`` answers."""
        heard: dict[Line, Heard] = {}
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(heard) < wanted:
            if time.monotonic() > deadline:
                raise CannotMeasure(f"{wanted - len(heard)} of {wanted} answers did not come")
            for number, _ in self._poll.poll(1.0):
                answer = self._lines[number].receive()
                if answer is not None:
                    heard[self._lines[number]] = answer
        return heard

    def ask(self, requests: Mapping[Line, bytes], at_once: int = 500) -> dict[Line, Heard]:
        """Send on each line and wait for the answers, so many at a time."""
        heard: dict[Line, Heard] = {}
        left = list(requests.items())
        while left:
            batch, left = left[:at_once], left[at_once:]
            for line, request in batch:
                line.send(request)
            heard |= self.collect(len(batch))
        return heard

    def close(self) -> None:
        self._poll.close()
        for line in self._lines.values():
            line.close()


def get(path: str, *fields: str) -> bytes:
    """A VM's request."""
    extra = "".join(f"{field}\r\n" for field in fields)
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nMetadata: true\r\n{extra}\r\n".encode()


def post(path: str, port: int, body: bytes) -> bytes:
    """An operator's request."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
