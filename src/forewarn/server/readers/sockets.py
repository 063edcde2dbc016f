"""The listening sockets of readers: for each reader one of its own at the same address.

The kernel spreads connections over them. The server keeps each of them open, too: when a reader is killed, those that
wait to be accepted there wait for the next one.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from contextlib import ExitStack
from typing import Any

_AGAIN_SECONDS = 0.05  # ours: between two tries to bind
# Ours: readers of a server that was killed see that at once, but may be late on a busy machine
_FREE_AFTER_SECONDS = 3.0


async def bind_for_readers(host: str, port: int, readers: int, backlog: int) -> list[list[socket.socket]]:
    """For each reader a socket at every address that a name has. Nobody else may have the port, or ``OSError``."""
    tries = round(_FREE_AFTER_SECONDS / _AGAIN_SECONDS) if port else 1
    for left in reversed(range(tries)):
        try:
            return await _bind(host, port, readers, backlog)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE or not left:
                raise
            await asyncio.sleep(_AGAIN_SECONDS)
    raise AssertionError("the last try returns or raises")


async def _bind(host: str, port: int, readers: int, backlog: int) -> list[list[socket.socket]]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    places = tuple(dict.fromkeys((family, address[:2]) for family, _, _, _, address in found))
    with ExitStack() as stack:
        bound: list[list[socket.socket]] = [[] for _ in range(readers)]
        for family, address in places:
            for each, sockets in enumerate(bound):
                opened = stack.enter_context(_opened(family, address, alone=each == 0))
                address = opened.getsockname()[:2]  # port 0 has become a real one
                sockets.append(opened)
        for sockets in bound:
            for listening in sockets:
                listening.listen(backlog)
        stack.pop_all()
    return bound


def _opened(family: int, address: tuple[Any, ...], *, alone: bool) -> socket.socket:
    """The first of an address must have it alone: it is bound before it says that it would share.

    All others would share from the start, and must: so two servers never get the same port.
    """
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if not alone:
            _share(opened)
        opened.bind(address)
        _share(opened)
        opened.setblocking(False)
    except BaseException:
        opened.close()
        raise
    return opened


def _share(opened: socket.socket) -> None:
    if sys.platform == "linux":
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
