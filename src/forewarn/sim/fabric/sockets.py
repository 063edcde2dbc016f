"""The sockets of simulated guests: ends of connections that strands block on."""

from __future__ import annotations

import contextvars
import errno
import os
from collections import deque

from forewarn.guest.system import DhcpFailed
from forewarn.guest.system.parts import Stream
from forewarn.sim.fabric.network import KNOCK_SECONDS, Address, End, Listener, Network
from forewarn.sim.fabric.strands import OVER, Process, Strands, Ticket


class Sock:
    """An end that belongs to a strand: as much of ``socket.socket`` as guests use."""

    peer: End

    def __init__(self, network: Network, hub: Strands, place: str) -> None:
        self._network = network
        self._hub = hub
        self.place = place
        self.context = contextvars.copy_context()
        self.open = True
        self.ready_at = 0.0
        network.numbered += 1
        self._number = network.numbered
        self._timeout: float | None = None
        self._received = bytearray()
        self._problem: Exception | None = None
        self._ended = False
        self._waiting: Ticket | None = None
        self._process: Process | None = hub.current().process if place else None
        if self._process is not None:
            self._process.at_exit[self] = self.close

    def __hash__(self) -> int:
        """Sets of sockets have the same order in every run."""
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other

    # Of the network

    def take(self, data: bytes) -> None:
        self._received += data
        self._wake()

    def take_end(self) -> None:
        self._ended = True
        self._wake()

    def take_reset(self) -> None:
        self._network.gone(self)
        self._problem = ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        self._wake()

    def die(self) -> None:
        """Its strand was killed with its process."""

    def _wake(self) -> None:
        if self._waiting is not None:
            self._waiting.wake(self._hub)
            self._waiting = None

    # Of the program

    def recv(self, most: int) -> bytes:
        ends_at = None if self._timeout is None else self._network.loop.time() + self._timeout
        while not self._received:
            if self._problem is not None:
                raise self._problem
            if self._ended or not self.open:
                return b""
            left = None if ends_at is None else ends_at - self._network.loop.time()
            self._waiting = Ticket(self._hub)
            if (left is not None and left <= 0) or self._hub.park(left) is OVER:
                self._waiting = None
                raise TimeoutError("timed out")
        data = bytes(self._received[:most])
        del self._received[:most]
        return data

    def sendall(self, data: bytes) -> None:
        self._hub.current().process.check()
        if self._problem is not None:
            raise self._problem
        if not self.open:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        self._network.send_data(self, data)

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds

    def shutdown(self) -> None:
        if self.open:
            self._network.send_end(self)
        self._ended = True
        self._wake()

    def close(self) -> None:
        if self.open:
            self._network.send_end(self)
            self._network.gone(self)
        if self._process is not None:
            self._process.at_exit.pop(self, None)


class StrandListener:
    """A listening socket of a strand."""

    def __init__(self, network: Network, hub: Strands, address: Address) -> None:
        self._hub = hub
        self._came: deque[Sock] = deque()
        self._waiting: Ticket | None = None
        self._open = True
        self.address = address
        process = hub.current().process

        def accept(_: Address) -> Sock:
            sock = Sock(network, hub, "")
            sock.place = process.place
            self._came.append(sock)
            self._wake()
            return sock

        self._listener = Listener(network, address, process.place, accept)
        network.open(self._listener)
        process.at_exit[self] = self.close

    def _wake(self) -> None:
        if self._waiting is not None:
            self._waiting.wake(self._hub)
            self._waiting = None

    def accept(self) -> Sock | None:
        while not self._came:
            if not self._open:
                return None
            self._waiting = Ticket(self._hub)
            self._hub.park()
        return self._came.popleft()

    def close(self) -> None:
        self._open = False
        self._listener.close()
        self._wake()


class SimSockets:
    """The sockets of a guest's system."""

    def __init__(self, network: Network, hub: Strands) -> None:
        self._network, self._hub = network, hub

    def connect(self, host: str, port: int, seconds: float) -> Sock:
        network, hub = self._network, self._hub
        place = hub.current().process.place
        ends_at = network.loop.time() + seconds
        while True:
            if network.loop.time() >= ends_at:
                raise TimeoutError("timed out")
            hub.sleep(min(network.round_trip(), ends_at - network.loop.time()))
            listener = network.find(place, host, port)
            if listener is not None:
                break
            hub.sleep(min(KNOCK_SECONDS, max(0.0, ends_at - network.loop.time())))
        sock = Sock(network, hub, place)
        network.join(sock, listener)
        return sock

    def listen(self, host: str, port: int, backlog: int) -> StrandListener:
        return StrandListener(self._network, self._hub, (host, port))

    def hang_up(self, connection: Stream) -> None:
        assert isinstance(connection, Sock)
        connection.shutdown()

    def secured(self, connection: Stream, host: str) -> Sock:
        raise OSError(errno.EPROTONOSUPPORT, "there is no TLS in a simulation")

    def connect_local(self, path: str, seconds: float) -> Sock:
        raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))

    def ask_dhcp(self, transaction: int) -> str:
        raise DhcpFailed("there is no DHCP in a simulation")
