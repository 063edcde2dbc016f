"""What systemd wants to hear from a service of ``Type=notify``: that it is ready, alive, and what it is doing."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import MutableMapping
from contextlib import suppress

assert sys.platform == "linux"

_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class SystemdNotifier:
    """The line to systemd. Where there is none, or it breaks, every word goes nowhere and nothing is disturbed."""

    def __init__(self, address: str = "", watchdog_seconds: float | None = None) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._watchdog_seconds = watchdog_seconds

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str] = os.environ) -> SystemdNotifier:
        """As systemd told it. The variables are taken away, so that no step's program speaks in our name."""
        address, period, pid = (environment.pop(name, "") for name in _VARIABLES)
        ours = not pid or pid == str(os.getpid())
        seconds = int(period) / 1e6 if period.isdecimal() and int(period) > 0 and ours else None
        return cls(address, seconds)

    @property
    def listens(self) -> bool:
        return bool(self._address)

    @property
    def alive_every_seconds(self) -> float | None:
        """How often to say that we are alive: twice in the time after which we would be ended. None: never."""
        return None if self._watchdog_seconds is None else self._watchdog_seconds / 2

    def ready(self, status: str = "") -> None:
        self._say("READY=1", _status(status))

    def alive(self) -> None:
        self._say("WATCHDOG=1")

    def status(self, text: str) -> None:
        self._say(_status(text))

    def stopping(self, status: str = "") -> None:
        self._say("STOPPING=1", _status(status))

    def _say(self, *lines: str) -> None:
        told = "\n".join(line for line in lines if line)
        if not self._address or not told:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
            line.setblocking(False)
            line.sendto(told.encode(), self._address)


def _status(text: str) -> str:
    """One line: a line break would begin another assignment."""
    return f"STATUS={' '.join(text.split())}" if text.strip() else ""
