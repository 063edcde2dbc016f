"""One channel between a server and one of its readers: messages with their length before them, over a pair of sockets.

The pair is made by the server and inherited by the reader. It has no path and no port, so nobody else can reach it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import cast

_LENGTH_BYTES = 4  # of a message's length; none is near 4 GiB, for what is long goes in portions


class ReaderChannel(asyncio.Protocol):
    """Either end. ``take`` is called with each message that has come whole, ``lost`` once, when there are no more."""

    def __init__(self, take: Callable[[bytes], None], lost: Callable[[], None]) -> None:
        self._take = take
        self._lost = lost
        self._came = bytearray()
        self._transport: asyncio.Transport | None = None
        self._drained = asyncio.Event()
        self._drained.set()

    @classmethod
    async def over(cls, end: socket.socket, take: Callable[[bytes], None], lost: Callable[[], None]) -> ReaderChannel:
        """A channel on one end of a pair of sockets."""
        end.setblocking(False)
        loop = asyncio.get_running_loop()
        _, channel = await loop.create_connection(lambda: cls(take, lost), sock=end)
        return channel

    def send(self, *messages: bytes) -> None:
        """Queue messages behind those sent before. Dropped when the other end has gone."""
        if self._transport is not None:
            self._transport.write(b"".join(b"%b%b" % (len(each).to_bytes(_LENGTH_BYTES), each) for each in messages))

    @property
    def unsent_bytes(self) -> int:
        """How much the other end has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    async def drained(self) -> None:
        """Until the other end has taken most of what was sent, or is gone."""
        await self._drained.wait()

    def close(self) -> None:
        """Close the channel once everything has been sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # Of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        came = self._came
        came += data
        at = 0
        while len(came) >= at + _LENGTH_BYTES:
            begins = at + _LENGTH_BYTES
            ends = begins + int.from_bytes(came[at:begins])
            if len(came) < ends:
                break
            at = ends
            self._take(bytes(came[begins:ends]))
        del came[:at]

    def pause_writing(self) -> None:
        self._drained.clear()

    def resume_writing(self) -> None:
        self._drained.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._drained.set()
        self._lost()
