"""Polls of one kind of client, byte for byte, with its habit: a connection for each, which it closes, or kept ones.

``python -m bench.polls PORT SECONDS VMS each|kept``, the request on standard input, with ``{number}`` for the VM's:
a process of its own, so that it has another core than the server. wrk cannot do it: it closes only what the server
closes, and most clients ask for a connection that is kept and close it themselves.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from dataclasses import dataclass

LINES = 16


@dataclass
class _Poller:
    """One client among those that ask at the same time."""

    socket: socket.socket
    received: bytes = b""


class _Polls:
    def __init__(self, port: int, requests: list[bytes], *, kept: bool) -> None:
        self.answered = self.failed = 0
        self._port, self._requests, self._kept = port, requests, kept
        self._epoll = select.epoll()
        self._pollers: dict[int, _Poller] = {}
        self._asked = 0

    def run(self, seconds: float) -> float:
        """The seconds it took. Whoever still waits at the end is answered and not counted."""
        begun = time.perf_counter()
        for _ in range(LINES):
            self._connect()
        while (passed := time.perf_counter() - begun) < seconds:
            for fd, _ in self._epoll.poll(1):
                self._hear(self._pollers[fd])
        for poller in self._pollers.values():
            poller.socket.close()
        return passed

    def _connect(self) -> None:
        poller = _Poller(socket.create_connection(("127.0.0.1", self._port)))
        poller.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pollers[poller.socket.fileno()] = poller
        self._epoll.register(poller.socket, select.EPOLLIN)
        self._ask(poller)

    def _ask(self, poller: _Poller) -> None:
        poller.received = b""
        poller.socket.sendall(self._requests[self._asked % len(self._requests)])
        self._asked += 1

    def _hear(self, poller: _Poller) -> None:
        data = poller.socket.recv(65_536)
        poller.received += data
        whole = _whole(poller.received)
        if not whole and data:
            return
        ok = whole and poller.received.startswith(b"HTTP/1.1 200 ")
        self.answered += ok
        self.failed += not ok
        if self._kept and ok:
            self._ask(poller)
            return
        del self._pollers[poller.socket.fileno()]
        poller.socket.close()  # epoll forgets it
        self._connect()


def _whole(received: bytes) -> bool:
    head, mark, body = received.partition(b"\r\n\r\n")
    if not mark:
        return False
    _, _, rest = head.lower().partition(b"\r\ncontent-length:")
    return len(body) >= int(rest.partition(b"\r\n")[0] or b"0")


def main(port: int, seconds: float, vms: int, kept: bool) -> None:
    """Print what came of it."""
    request = sys.stdin.buffer.read()
    requests = [request.replace(b"{number}", b"%d" % (number * 7919 % vms)) for number in range(vms)]
    polls = _Polls(port, requests, kept=kept)
    passed = polls.run(seconds)
    print(json.dumps({"answered": polls.answered, "failed": polls.failed, "seconds": passed}))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "kept")
