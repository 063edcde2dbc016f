"""All connections of a face, and the one timer that looks after them."""

from __future__ import annotations

import asyncio
from collections import Counter

from forewarn.web.metadata.protocol import Connection
from forewarn.web.metadata.settings import Limits

_LONGEST_SWEEP_SECONDS = 5.0


class Connections:
    """One timer for everybody: a timer for each request would cost more than the request."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.connections
        self._most_each = limits.connections_each
        self._by_origin: Counter[str] = Counter()
        self._grace_seconds = limits.grace_seconds
        shortest = min(limits.request_seconds, limits.idle_seconds, limits.stalled_seconds, limits.linger_seconds * 2)
        self._sweep_seconds = min(_LONGEST_SWEEP_SECONDS, shortest / 4)
        self._connections: dict[Connection, None] = {}  # in the order in which they came
        self._empty = asyncio.Event()
        self._empty.set()
        self._sweeping: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep_on())

    def enter(self, connection: Connection) -> bool:
        """Known even where there is no room, until it has been told so."""
        self._connections[connection] = None
        self._empty.clear()
        if connection.origin:
            self._by_origin[connection.origin] += 1
            if self._by_origin[connection.origin] > self._most_each:
                return False
        return len(self._connections) <= self._most

    def leave(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        if connection.origin:
            self._by_origin[connection.origin] -= 1
            if not self._by_origin[connection.origin]:
                del self._by_origin[connection.origin]
        if not self._connections:
            self._empty.set()

    def __len__(self) -> int:
        return len(self._connections)

    async def close(self) -> None:
        """Let every connection end; those that cannot in time are cut."""
        for connection in tuple(self._connections):
            connection.hang_up()
        try:
            await asyncio.wait_for(self._empty.wait(), self._grace_seconds)
        except TimeoutError:
            for connection in tuple(self._connections):
                connection.abort()
            await self._empty.wait()
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)

    async def _sweep_on(self) -> None:
        while True:
            await asyncio.sleep(self._sweep_seconds)
            for connection in tuple(self._connections):
                connection.sweep(self._sweep_seconds)
