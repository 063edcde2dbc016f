"""What Python's standard library does alike on every system: clock, chance, threads, and sockets by TCP."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from forewarn.guest.system.parts import Condition, Flag, Listener, Queue, Slots, Stream, Thread

_T = TypeVar("_T")

# Who waits for an answer that is held back sends nothing, and so never hears that the other end is gone: its power cut,
# or its address moved with a live migration. Probes tell within 15 s; a held answer is waited for 40 s
PROBE_AFTER_SECONDS, PROBE_EVERY_SECONDS, PROBES = 5, 5, 2


class StandardClock:
    """The machine's own."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class StandardChance:
    """The kernel's. ``random`` and ``secrets`` would load a dozen modules for the same bytes."""

    def random(self) -> float:
        return (int.from_bytes(os.urandom(7)) >> 3) * 2.0**-53  # as random.SystemRandom does

    def getrandbits(self, bits: int, /) -> int:
        return int.from_bytes(os.urandom((bits + 7) // 8)) >> (-bits % 8)


class Unsupervised:
    """What stands for a supervisor where there is none: every word goes nowhere."""

    alive_every_seconds: float | None = None

    def ready(self, status: str = "") -> None: ...

    def alive(self) -> None: ...

    def status(self, text: str) -> None: ...

    def stopping(self, status: str = "") -> None: ...


class StandardThreads:
    """Real ones."""

    def start(self, work: Callable[[], None], name: str) -> Thread:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def lock(self) -> AbstractContextManager[bool]:
        return threading.Lock()

    def event(self) -> Flag:
        return threading.Event()

    def condition(self) -> Condition:
        return threading.Condition()

    def places(self, count: int) -> Slots:
        return threading.BoundedSemaphore(count)

    def queue(self, most: int = 0) -> Queue[_T]:
        import queue  # a program that only polls needs none

        if not most:
            return queue.SimpleQueue()

        class Bounded(queue.Queue[_T]):
            def put(self, item: _T, block: bool = False, timeout: float | None = None) -> None:
                super().put(item, block, timeout)

        return Bounded(most)


class StandardSockets:
    """TCP. What a system has beside it is added by a class of its own."""

    def connect(self, host: str, port: int, seconds: float) -> Stream:
        connection = socket.create_connection((host, port), seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        keep_alive(connection.setsockopt)
        return connection

    def secured(self, connection: Stream, host: str) -> Stream:
        import ssl  # few need it, and it is large

        try:
            return ssl.create_default_context().wrap_socket(cast(socket.socket, connection), server_hostname=host)
        except BaseException:
            connection.close()
            raise

    def listen(self, host: str, port: int, backlog: int) -> Listener:
        return _Listener(self._open(host, port, backlog))

    def _open(self, host: str, port: int, backlog: int) -> socket.socket:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=backlog)

    def hang_up(self, connection: Stream) -> None:
        with suppress(OSError):
            cast(socket.socket, connection).shutdown(socket.SHUT_RDWR)


def keep_alive(set_option: Callable[[int, int, int], None]) -> None:
    """Have the system probe the other end while nothing is sent. What it cannot be told, it does in its own time.

    Without TCP_USER_TIMEOUT a question that the other end never confirmed would be sent again for minutes instead.
    """
    set_option(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = "TCP_KEEPIDLE" if hasattr(socket, "TCP_KEEPIDLE") else "TCP_KEEPALIVE"  # macOS has its own name for it
    for name, value in (
        (idle, PROBE_AFTER_SECONDS),
        ("TCP_KEEPINTVL", PROBE_EVERY_SECONDS),
        ("TCP_KEEPCNT", PROBES),
        ("TCP_USER_TIMEOUT", 1000 * (PROBE_AFTER_SECONDS + PROBES * PROBE_EVERY_SECONDS)),
    ):
        if hasattr(socket, name):
            set_option(socket.IPPROTO_TCP, getattr(socket, name), value)


class _Listener:
    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self.address: tuple[str, int] = self._socket.getsockname()[:2]

    def accept(self) -> Stream | None:
        while True:
            try:
                return self._socket.accept()[0]
            except OSError:
                if not self._still_listens():
                    return None

    def _still_listens(self) -> bool:
        """Whether an error of ``accept`` was one connection's, not the listening socket's."""
        with suppress(OSError):
            return self._socket.fileno() >= 0 and bool(self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
        return False

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the one that accepts, which closing alone does not
        self._socket.close()
