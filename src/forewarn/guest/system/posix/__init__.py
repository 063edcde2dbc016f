"""Linux, and macOS as far as the library needs it.

Parts that the library does not need, files and programs among them, are loaded when they are first used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from forewarn.guest.system import DhcpFailed
from forewarn.guest.system.standard import StandardChance, StandardClock, StandardSockets, StandardThreads, Unsupervised

assert sys.platform != "win32"

if TYPE_CHECKING:
    from forewarn.guest.system.parts import Files, Programs, Stream, Supervisor


class PosixSystem:
    """This machine."""

    def __init__(self) -> None:
        self.clock = StandardClock()
        self.chance = StandardChance()
        self.threads = StandardThreads()
        self.sockets = PosixSockets()
        self.environment: MutableMapping[str, str] = os.environ

    @cached_property
    def files(self) -> Files:
        from forewarn.guest.system.posix.files import PosixFiles

        return PosixFiles()

    @cached_property
    def programs(self) -> Programs:
        if sys.platform == "linux":
            from forewarn.guest.system.posix.programs import PosixPrograms

            return PosixPrograms()
        raise OSError("the agent runs on Linux and on Windows, not on this system")

    def boot_id(self) -> str:
        with suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123 - loads less
            return file.read().strip()
        return ""

    def supervisor(self) -> Supervisor:
        if sys.platform == "linux":
            from forewarn.guest.system.posix.systemd import SystemdNotifier

            return SystemdNotifier.from_environment(self.environment)
        return Unsupervised()

    def on_stop(self, stop: Callable[[str], None]) -> None:
        import signal
        import threading

        if threading.current_thread() is threading.main_thread():
            for which in (signal.SIGTERM, signal.SIGINT):
                signal.signal(which, lambda number, _: stop(f"heard {signal.Signals(number).name}"))


class PosixSockets(StandardSockets):
    """With Unix sockets, and DHCP by a socket of our own."""

    def connect_local(self, path: str, seconds: float) -> Stream:
        import socket

        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(seconds)
            connection.connect(path)
        except BaseException:
            connection.close()
            raise
        return connection

    def ask_dhcp(self, transaction: int) -> str:
        if sys.platform == "linux":
            from forewarn.guest.system.posix.dhcp import ask_dhcp  # few machines ever need it

            return ask_dhcp(transaction)
        raise DhcpFailed("no DHCP server is asked on this system; set FOREWARN_ENDPOINT", lasting=True)
