"""One VM that does too much: ``python -m bench.crowd KIND PORT ADDRESS``, until its input ends.

A process of its own, and of the lowest priority: what another VM waits for is to be the server, not this program.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from bench.lines import get
from bench.processes import CannotMeasure, raise_open_files
from bench.region import DOCUMENT

_REQUEST = get(f"/{DOCUMENT}")
_PIPELINED = 64  # requests in one write; as many are under way at once as the server takes
_FLOODING = 256  # kept-alive connections that ask again as soon as they are answered
_MANY = 20_000
_LOWEST = 19
_READY_SECONDS = 60.0
_PATIENCE_SECONDS = 1.0


@contextmanager
def crowd(kind: str, port: int, address: str) -> Iterator[None]:
    """Goes on for as long as the block lasts, and has begun when it is entered."""
    command = [sys.executable, "-m", "bench.crowd", kind, str(port), address]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert running.stdout is not None
    try:
        if not select.select([running.stdout], [], [], _READY_SECONDS)[0] or not running.stdout.readline():
            raise CannotMeasure(f"a VM that was to do too much ({kind}) did not begin")
        yield
        if running.poll() is not None:
            raise CannotMeasure(f"a VM that was to do too much ({kind}) has ended")
    finally:
        running.communicate()  # the end of its input ends it


def _connected(port: int, address: str) -> socket.socket:
    found = socket.socket()
    found.bind((address, 0))
    found.connect(("127.0.0.1", port))
    return found


def _pipeline(port: int, address: str, over: threading.Event) -> None:
    """One connection, and never an end of requests on it."""
    line = _connected(port, address)
    line.setblocking(False)
    left = b""
    while not over.is_set():
        readable, writable, _ = select.select([line], [line], [], 1.0)
        if readable and not line.recv(1 << 20):
            line.close()
            line = _connected(port, address)
            line.setblocking(False)
            left = b""
        elif writable:
            left = left or _REQUEST * _PIPELINED
            with suppress(BlockingIOError, OSError):
                left = left[line.send(left) :]


def _flood(port: int, address: str, over: threading.Event) -> None:
    """Many connections that ask at once and again."""
    lines = {line.fileno(): line for line in (_connected(port, address) for _ in range(_FLOODING))}
    poll = select.epoll()
    for number, line in lines.items():
        poll.register(number, select.EPOLLIN)
        line.sendall(_REQUEST)
    while not over.is_set():
        for number, _ in poll.poll(1.0):
            with suppress(OSError):
                lines[number].recv(65_536)
                lines[number].sendall(_REQUEST)


def _knock(port: int, address: str, over: threading.Event) -> None:
    """A connection for each request, one after the other as quickly as they are taken."""
    while not over.is_set():
        with suppress(OSError), _connected(port, address) as line:
            line.sendall(_REQUEST)
            line.recv(65_536)


def _open_many(port: int, address: str, over: threading.Event) -> None:
    """As many connections as this process may have, up to 20,000: each asks once and is held; then all over again."""
    most = min(_MANY, raise_open_files() - 100)
    lines: list[socket.socket] = []
    while not over.is_set():
        if len(lines) >= most:
            for line in lines:
                line.close()
            lines.clear()
        with suppress(OSError):
            line = socket.socket()
            lines.append(line)
            line.settimeout(_PATIENCE_SECONDS)
            line.bind((address, 0))
            line.connect(("127.0.0.1", port))
            line.sendall(_REQUEST)


KINDS: dict[str, Callable[[int, str, threading.Event], None]] = {
    "pipelines": _pipeline,
    "floods": _flood,
    "connects for each request": _knock,
    f"opens {_MANY:,} connections": _open_many,
}


def _main(kind: str, port: int, address: str) -> None:
    os.nice(_LOWEST)
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    print("begun", flush=True)
    KINDS[kind](port, address, over)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
