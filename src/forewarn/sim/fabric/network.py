"""A network between places: nodes, VMs and people. It is slow, loses, cuts and resets as it is told to.

A connection behaves as TCP does: bytes come whole and in order, or not at all. What is lost is sent again and comes
later; what cannot pass a cut waits until the cut heals, and a connection to a machine that is gone is reset.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import os
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from forewarn.sim.fabric.loop import SimLoop

_NEAR_SECONDS, _FAR_SECONDS = 0.0002, 0.002  # ours: one rack, one campus; how long bytes are under way when all is well
# From Linux' least retransmission timeout to three doublings of it: how much later what was lost comes
_AGAIN_SECONDS = (0.2, 1.6)
KNOCK_SECONDS = 1.0  # between two tries to open a connection through a cut
_SMALLEST = 1e-6  # between two deliveries on one connection, which keeps their order

Address = tuple[str, int]


class End(Protocol):
    """One side of a connection, as the other side and the network know it."""

    place: str
    peer: End
    context: contextvars.Context
    open: bool
    ready_at: float

    def take(self, data: bytes) -> None: ...

    def take_end(self) -> None: ...

    def take_reset(self) -> None: ...

    def die(self) -> None:
        """Its process was killed; nothing is closed properly."""


class Listener:
    """A listening socket. ``accept`` makes the listener's side of a new connection."""

    def __init__(self, network: Network, address: Address, place: str, accept: Callable[[Address], End]) -> None:
        self._network = network
        self.address = address
        self.place = place
        self.accept = accept
        self.context = contextvars.copy_context()
        self.sockets = (self,)  # as asyncio.Server has it

    def getsockname(self) -> Address:
        return self.address

    def close(self) -> None:
        self._network.forget(self)

    async def wait_closed(self) -> None:
        """Closing takes no time."""


class Network:
    """All listeners and connections, and the delays, losses and cuts between places."""

    def __init__(self, loop: SimLoop, random: Random) -> None:
        self.loop = loop
        self._random = random
        self._listeners: dict[tuple[str, int], Listener] = {}  # by place and port
        self._ends: dict[str, dict[End, None]] = {}  # by place
        self._cut: dict[str, int] = {}  # places that nothing reaches
        self._held: dict[str, list[Callable[[], None]]] = {}  # what waits until a place can be reached
        self.slow_seconds = 0.0  # the most that is added to a delivery
        self.loss = 0.0  # the share of deliveries that are lost at first
        self.route: Callable[[str, str, int], str | None] = lambda place, host, port: None  # a service's place
        self.numbered = 0
        self.addresses: dict[str, str] = {}  # place -> the address that others see

    # Weather

    def cut(self, place: str) -> None:
        self._cut[place] = self._cut.get(place, 0) + 1

    def mend(self, place: str) -> None:
        if place not in self._cut:
            return
        self._cut[place] -= 1
        if not self._cut[place]:
            del self._cut[place]
            for deliver in self._held.pop(place, []):
                deliver()

    def mend_all(self) -> None:
        for place, times in [*self._cut.items()]:
            for _ in range(times):
                self.mend(place)

    def is_cut(self, *places: str) -> bool:
        return any(place in self._cut for place in places)

    def reset_all(self, place: str) -> int:
        """Connections of a place break, as seen from both sides."""
        ends = [*self._ends.get(place, {})]
        for end in ends:
            self._reset(end)
            self._reset(end.peer)
        return len(ends)

    def vanish(self, place: str, *, silent: bool) -> None:
        """A place hears nothing more.

        The kernel of a program that died sends resets; a machine without power sends nothing.
        """
        for listener in [each for each in self._listeners.values() if each.place == place]:
            self.forget(listener)
        for end in [*self._ends.pop(place, {})]:
            end.open = False
            end.die()
            if not silent:
                self.send_reset(end)

    def _reset(self, end: End) -> None:
        if end.open:
            end.open = False
            self._ends.get(end.place, {}).pop(end, None)
            self.loop.call_soon(end.take_reset, context=end.context)

    # Listening and connecting

    def listen(self, place: str, build: Any, host: str, port: int) -> Listener:
        def accept(peer: Address) -> End:
            return Pipe(self, listener.place, build, listener.address, peer)

        listener = Listener(self, (host, port), place, accept)
        self.open(listener)
        return listener

    def open(self, listener: Listener) -> None:
        key = (listener.place, listener.address[1])
        if key in self._listeners:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        self._listeners[key] = listener

    def forget(self, listener: Listener) -> None:
        key = (listener.place, listener.address[1])
        if self._listeners.get(key) is listener:
            del self._listeners[key]

    def find(self, place: str, host: str, port: int) -> Listener | None:
        """The listener at an address, or None while nothing can pass."""
        to = self.route(place, host, port) or host
        if self.is_cut(place, to):
            return None
        listener = self._listeners.get((to, port))
        if listener is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        return listener

    def join(self, mine: End, listener: Listener) -> None:
        """Two ends, one connection. The listener's side comes to life in the listener's own context."""
        address = self.addresses.get(mine.place, "127.0.0.1")
        theirs: End = listener.context.copy().run(listener.accept, (address, 40_000))
        mine.peer, theirs.peer = theirs, mine
        for end in (mine, theirs):
            self._ends.setdefault(end.place, {})[end] = None

    def round_trip(self) -> float:
        return 2 * self._delay()

    async def connect(self, place: str, build: Any, host: str, port: int) -> tuple[Any, Any]:
        """Connect from a coroutine."""
        while True:
            await asyncio.sleep(self.round_trip())
            listener = self.find(place, host, port)
            if listener is not None:
                break
            await asyncio.sleep(KNOCK_SECONDS)
        pipe = Pipe(self, place, build, (self.addresses.get(place, "127.0.0.1"), 40_000), (host, port))
        self.join(pipe, listener)
        return pipe, pipe.protocol

    # Bytes under way

    def _delay(self) -> float:
        delay = self._random.uniform(_NEAR_SECONDS, _FAR_SECONDS)
        if self.slow_seconds:
            delay += self._random.uniform(0, self.slow_seconds)
        while self.loss and self._random.random() < self.loss:
            delay += self._random.uniform(*_AGAIN_SECONDS)
        return delay

    def send(self, sender: End, deliver: Callable[[End], None]) -> None:
        """Something for the other side, in its turn."""
        peer = sender.peer
        at = max(self.loop.time() + self._delay(), peer.ready_at + _SMALLEST)
        peer.ready_at = at
        self.loop.call_at(at, self._arrive, sender, deliver, context=peer.context)

    def _arrive(self, sender: End, deliver: Callable[[End], None]) -> None:
        peer = sender.peer
        for place in (sender.place, peer.place):
            if place in self._cut:
                again = lambda: self.send(sender, deliver)  # noqa: E731 - it is kept, not named
                self._held.setdefault(place, []).append(again)
                return
        if peer.open:
            deliver(peer)
        elif sender.open:
            self._reset(sender)

    def send_data(self, sender: End, data: bytes) -> None:
        self.send(sender, lambda end: end.take(data))

    def send_end(self, sender: End) -> None:
        self.send(sender, lambda end: end.take_end())

    def send_reset(self, sender: End) -> None:
        self.send(sender, self._reset)

    def gone(self, end: End) -> None:
        end.open = False
        self._ends.get(end.place, {}).pop(end, None)


class Pipe(asyncio.Transport):
    """An end that belongs to an asyncio protocol."""

    peer: End

    def __init__(self, network: Network, place: str, build: Any, own: Address, other: Address) -> None:
        super().__init__({"sockname": own, "peername": other})
        self._network = network
        self.place = place
        self.context = contextvars.copy_context()
        self.open = True
        self.ready_at = 0.0
        self._closing = False
        self._paused: list[bytes] | None = None
        self.protocol = build()
        self.protocol.connection_made(self)

    # Of the network

    def take(self, data: bytes) -> None:
        if self._paused is not None:
            self._paused.append(data)
        elif not self._closing:
            self.protocol.data_received(data)

    def take_end(self) -> None:
        if not self._closing and not self.protocol.eof_received():
            self.close()

    def take_reset(self) -> None:
        self._lose(ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)))

    def die(self) -> None:
        self._closing = True

    def _lose(self, problem: Exception | None) -> None:
        self._network.gone(self)
        if not self._closing or problem is None:
            self._closing = True
            self.protocol.connection_lost(problem)

    # Of the protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if data and self.open and not self._closing:
            self._network.send_data(self, bytes(data))

    def writelines(self, lines: Any) -> None:
        self.write(b"".join(lines))

    def write_eof(self) -> None:
        if self.open:
            self._network.send_end(self)

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            if self.open:
                self._network.send_end(self)
            self._network.loop.call_soon(self._lose, None, context=self.context)

    def abort(self) -> None:
        if not self._closing:
            self._closing = True
            if self.open:
                self._network.send_reset(self)
            self._network.loop.call_soon(self._lose, None, context=self.context)

    def is_closing(self) -> bool:
        return self._closing

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Does nothing: what is written is sent at once, so no buffer fills up."""

    def pause_reading(self) -> None:
        self._paused = self._paused or []

    def resume_reading(self) -> None:
        late, self._paused = self._paused or [], None
        for data in late:
            self.take(data)

    def is_reading(self) -> bool:
        return self._paused is None

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def get_protocol(self) -> Any:
        return self.protocol
