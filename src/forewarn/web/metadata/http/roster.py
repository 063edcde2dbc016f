"""All connections of a face, and the one timer that looks after them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Protocol

from forewarn.web.metadata.http.turns import Turns
from forewarn.web.metadata.settings import Limits

_log = logging.getLogger(__name__)


class RosterEntry(Protocol):
    """A connection as the roster sees it. ``origin`` is whose share it takes; empty where nothing tells."""

    @property
    def origin(self) -> str: ...

    def sweep(self, seconds: float) -> None: ...

    def hang_up(self) -> None: ...

    def abort(self) -> None: ...


class Connections:
    """One timer for all connections: a timer for each request would cost more than the request."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.connections
        self._most_each = limits.connections_each
        self._descriptors = limits.descriptors
        self._is_short = False  # of descriptors; said once, until there is plenty again
        self._by_origin: Counter[str] = Counter()
        self.turns = Turns(limits.answers_each_turn, limits.answers_all_turn)
        self._grace_seconds = limits.grace_seconds
        shortest = min(limits.request_seconds, limits.idle_seconds, limits.stalled_seconds, limits.linger_seconds * 2)
        self._sweep_seconds = min(limits.sweep_seconds, shortest / 4)
        self._admitted = 0
        self._connections: dict[RosterEntry, bool] = {}  # in the order in which they came; whether there was room
        self._empty = asyncio.Event()
        self._empty.set()
        self._sweeping: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep_on())

    def has_room(self, origin: str, descriptor: int) -> bool:
        """Whether one more of this origin would be let in."""
        room = descriptor < self._descriptors and self._admitted < self._most
        return room and self._by_origin[origin] < self._most_each

    def enter(self, connection: RosterEntry, descriptor: int) -> bool:
        """Known even where there is no room, until it has been told so; only those that were let in take room."""
        self._empty.clear()
        self._tell_if_short(descriptor)
        room = self.has_room(connection.origin, descriptor)
        self._connections[connection] = room
        if room:
            self._admitted += 1
            if connection.origin:
                self._by_origin[connection.origin] += 1
        return room

    def has_plenty(self, descriptor: int) -> bool:
        """Whether one that is refused may keep its descriptor for the moment in which it hears so."""
        return descriptor < self._descriptors // 2

    def _tell_if_short(self, descriptor: int) -> None:
        """Warn that descriptors run short: once, until there is plenty again."""
        if descriptor < self._descriptors:
            if self._is_short and self.has_plenty(descriptor):
                self._is_short = False
        elif not self._is_short:
            self._is_short = True
            _log.warning(
                "There are too many open files: connections are refused until fewer than %d are open. "
                "The system lets this process have no more (ulimit -n, LimitNOFILE).",
                self._descriptors,
            )

    def leave(self, connection: RosterEntry) -> None:
        if self._connections.pop(connection, False):
            self._admitted -= 1
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
