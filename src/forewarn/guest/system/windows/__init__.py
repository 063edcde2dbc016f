"""Windows. Parts that the library does not need, files and programs among them, are loaded when they are first used."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING

from forewarn.guest.system.standard import (
    StandardChance,
    StandardClock,
    StandardSockets,
    StandardThreads,
    Unsupervised,
)

assert sys.platform == "win32"

if TYPE_CHECKING:
    import socket

    from forewarn.guest.system.parts import Files, Programs, Stream, Supervisor
    from forewarn.guest.system.windows.service import ManagedService


class WindowsSystem:
    """This machine."""

    def __init__(self) -> None:
        self.clock = WindowsClock()
        self.chance = StandardChance()
        self.threads = StandardThreads()
        self.sockets = WindowsSockets()
        self.environment: MutableMapping[str, str] = os.environ
        self.service: ManagedService | None = None  # that this process is run as

    @cached_property
    def files(self) -> Files:
        from forewarn.guest.system.windows.files import WindowsFiles

        return WindowsFiles()

    @cached_property
    def programs(self) -> Programs:
        from forewarn.guest.system.windows.programs import WindowsPrograms

        return WindowsPrograms()

    def boot_id(self) -> str:
        from forewarn.guest.system.windows.boot import boot_id

        return boot_id()

    def supervisor(self) -> Supervisor:
        return self.service or Unsupervised()

    def on_stop(self, stop: Callable[[str], None]) -> None:
        import threading

        if self.service is not None:
            self.service.on_stop(stop)
        elif threading.current_thread() is threading.main_thread():
            _hear_signals(stop)


def _hear_signals(stop: Callable[[str], None]) -> None:
    """In a thread of its own: a main thread that waits for something hears no signal there until it has come."""
    import signal
    import socket
    import threading

    hearing, telling = socket.socketpair()
    telling.setblocking(False)
    signal.set_wakeup_fd(telling.fileno())
    for which in (signal.SIGTERM, signal.SIGINT, signal.SIGBREAK):
        signal.signal(which, lambda *_: None)

    def listen(_kept: socket.socket = telling) -> None:
        while heard := hearing.recv(1):
            stop(f"heard {signal.Signals(heard[0]).name}")

    threading.Thread(target=listen, name="signals", daemon=True).start()


class WindowsClock(StandardClock):
    """With seconds that grow more often than every 16 ms, as those of ``time.monotonic`` do there."""

    def monotonic(self) -> float:
        import time

        return time.perf_counter()


class WindowsSockets(StandardSockets):
    """With ports that nobody else can share, and DHCP by the system's own client."""

    def _open(self, host: str, port: int, backlog: int) -> socket.socket:
        import socket

        opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
            opened.bind((host, port))
            opened.listen(backlog)
        except BaseException:
            opened.close()
            raise
        return opened

    def hang_up(self, connection: Stream) -> None:
        super().hang_up(connection)
        connection.close()  # what wakes a reader there

    def connect_local(self, path: str, seconds: float) -> Stream:
        import errno

        raise OSError(errno.EAFNOSUPPORT, "Windows has no sockets in the file system", path)

    def ask_dhcp(self, transaction: int) -> str:
        from forewarn.guest.system.windows.dhcp import ask_dhcp

        return ask_dhcp()
