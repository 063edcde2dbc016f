"""Waiting for what sockets bring, in a thread, on every system; and being woken from another thread."""

from __future__ import annotations

import selectors
import socket
from contextlib import suppress

# poll has no highest descriptor, as select has on Linux, and makes none of its own, as epoll does. Windows has no poll.
_Selector: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)


def readable(seconds: float, *descriptors: int) -> list[int]:
    """Those from which something can be read, at the latest after so many seconds."""
    with _Selector() as looking:
        for descriptor in descriptors:
            looking.register(descriptor, selectors.EVENT_READ)
        return [key.fd for key, _ in looking.select(seconds)]


class Waker:
    """Wakes the thread that waits for its descriptor. ``wake`` may be called by any thread, also after ``close``."""

    def __init__(self) -> None:
        self._heard, self._said = socket.socketpair()
        for end in (self._heard, self._said):
            end.setblocking(False)

    def fileno(self) -> int:
        return self._heard.fileno()

    def wake(self) -> None:
        with suppress(OSError):  # it is full, which is loud enough, or closed
            self._said.send(b"!")

    def calm(self) -> None:
        """Forget that it was woken."""
        with suppress(BlockingIOError):
            while self._heard.recv(4096):
                pass

    def close(self) -> None:
        self._heard.close()
        self._said.close()
