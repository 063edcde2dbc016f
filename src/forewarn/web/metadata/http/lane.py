"""The short way of a poll: accept, read, answer and close in one turn of the loop, without a transport.

Most clients in the field (curl, PowerShell, urllib, scripts of cron) open a connection for each poll. For them the
usual way costs more for the connection than for the answer: a transport, a protocol and two callbacks that are used
once. Here a connection is its bare socket for as long as each request on it is one that ``answering.recall`` knows by
its bytes. Everything else (other bytes, half a request, an answer that the client does not take, a connection for
which there is no room) is handed over to a ``Connection`` with the bytes that were read, and never comes back. So one
place knows HTTP, and this is a way around it for bytes that it has understood before.

A connection that stays open waits in an epoll of the lane's own, which asyncio watches as one descriptor. The short
way is Linux's alone (``CAN_BE_SHORT``); elsewhere the face listens with asyncio.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import select
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Protocol

from forewarn.web.metadata.answering.outcomes import RememberedAnswer
from forewarn.web.metadata.asking.callers import Caller, Entrance
from forewarn.web.metadata.http.roster import Connections
from forewarn.web.metadata.service import Service
from forewarn.web.metadata.settings import Limits

_log = logging.getLogger(__name__)

CAN_BE_SHORT: Final = sys.platform == "linux"
if sys.platform == "linux":
    _NOW: Final = socket.MSG_DONTWAIT
    _DEFER_ACCEPT: Final = socket.TCP_DEFER_ACCEPT
    _READABLE: Final = select.EPOLLIN
else:
    _NOW = _DEFER_ACCEPT = _READABLE = 0

_AT_ONCE: Final = 64  # ours: connections that one turn of the loop accepts or reads before all others have theirs
_EACH_TURN: Final = 2  # as Limits.answers_each_turn: of one VM's connections, where its network tells which VM it is
_LOOKED_AT: Final = 256  # ours: connections that are seen to be readable in one look, so that a flood hides nobody long
# Ours: connections on their way to the usual one; others wait to be accepted, for each of these holds a descriptor
_MOST_MOVING: Final = 16
# Within so many seconds a connection on which nothing was sent is not told of (tcp(7)); after them it is all the same
_DEFERRED_SECONDS: Final = 1
_CALLERS_KEPT: Final = 4096  # ours: addresses of which the caller is known; forgotten all together
_PAUSE_SECONDS: Final = 1.0  # as asyncio: before accepting again where the system has no descriptor or memory left
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a ``Connection`` takes over: a request that was read, or the rest of an answer that was not taken."""

    request: bytes = b""
    unsent: bytes = b""
    is_last: bool = False  # nothing follows what is unsent
    # Gives up the place that the connection had: called when it takes one as a ``Connection``, so that no other gets it
    release: Callable[[], None] | None = field(default=None, compare=False)


_NOTHING: Final = Beginning()

HandOver = Callable[[Entrance, Beginning], asyncio.Protocol]


class Lane:
    """The short way for all listening sockets of a face."""

    def __init__(self, service: Service, limits: Limits, roster: Connections, hand_over: HandOver) -> None:
        self._recall = service.memory.recall
        self._again = service.reading.again
        self._protocol = hand_over
        self.share_of = service.share_of
        self.roster = roster
        self.request_bytes = limits.remembered_bytes
        self.idle_seconds = limits.idle_seconds
        self._loop = asyncio.get_running_loop()
        self._staying: dict[int, StayingConnection] = {}  # by descriptor
        self._waiting = _new_epoll()
        self._loop.add_reader(self._waiting.fileno(), self._read_on)
        self._moving: set[asyncio.Task[None]] = set()

    def listen(self, listening: socket.socket, entrance: Entrance) -> LaneEntrance:
        """Take the connections of a listening socket, which belongs to what is returned from now on."""
        listening.setblocking(False)
        listening.setsockopt(socket.IPPROTO_TCP, _DEFER_ACCEPT, _DEFERRED_SECONDS)
        return LaneEntrance(self, listening, entrance)

    @property
    def is_moving_many(self) -> bool:
        """Whether enough connections are on their way to the usual one."""
        return len(self._moving) >= _MOST_MOVING

    async def settle(self) -> None:
        """Wait until each connection that was handed over is a ``Connection``, and known to the roster."""
        await asyncio.gather(*self._moving, return_exceptions=True)

    def close(self) -> None:
        """Give the poll back. To be called when no entrance is open and no connection is left."""
        self._loop.remove_reader(self._waiting.fileno())
        self._waiting.close()

    def try_answer(self, connection: socket.socket, caller: Caller, request: bytes) -> RememberedAnswer | Beginning:
        """The question that was answered, or what is left for a ``Connection`` to do."""
        known = self._recall(caller, request)
        answer = None if known is None else self._again(known)
        if known is None or answer is None:
            return Beginning(request)
        try:
            sent = connection.send(answer, _NOW)
        except OSError:  # full, or broken: whoever takes over finds out which
            return Beginning(request)
        return known if sent == len(answer) else Beginning(unsent=answer[sent:], is_last=known.is_last)

    def keep(self, staying: StayingConnection, descriptor: int) -> None:
        """Wait for the next request."""
        self.roster.enter(staying, descriptor)
        self._staying[descriptor] = staying
        self._waiting.register(descriptor, _READABLE)

    def forget(self, descriptor: int) -> None:
        """Stop waiting for a connection, before it is closed or handed over."""
        self._waiting.unregister(descriptor)
        del self._staying[descriptor]

    def hand_over(self, connection: socket.socket, entrance: Entrance, beginning: Beginning = _NOTHING) -> None:
        """Make a ``Connection`` of it, in a task."""
        connection.setblocking(False)
        task = self._loop.create_task(self._introduce(connection, entrance, beginning))
        self._moving.add(task)
        task.add_done_callback(self._moving.discard)

    async def _introduce(self, moved: socket.socket, entrance: Entrance, beginning: Beginning) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: self._protocol(entrance, beginning), moved)
        except OSError:  # the client is gone
            moved.close()
            if beginning.release is not None:
                beginning.release()

    def _read_on(self) -> None:
        """Let connections that are readable read, no VM more than its share in one turn of the loop.

        Those passed over are readable in the next turn as well, and come before those that become so meanwhile.
        """
        shares, left = _Shares(), _AT_ONCE
        for descriptor, _ in self._waiting.poll(0, _LOOKED_AT):
            staying = self._staying.get(descriptor)
            if staying is None or not left:
                continue
            if origin := staying.origin:
                if not shares.has_left(origin):
                    continue
                shares.take(origin)
            staying.read()
            left -= 1


class _Shares:
    """How much each VM has had of one turn of the loop. Callers that nothing tells apart have no share."""

    __slots__ = ("_had",)

    def __init__(self) -> None:
        self._had: dict[str, int] = {}

    def has_left(self, origin: str) -> bool:
        return self._had.get(origin, 0) < _EACH_TURN

    def take(self, origin: str) -> None:
        self._had[origin] = self._had.get(origin, 0) + 1


class LaneEntrance:
    """One listening socket, and the callers that have come by it."""

    def __init__(self, lane: Lane, listening: socket.socket, entrance: Entrance) -> None:
        self._lane = lane
        self._listening = listening
        self._entrance = entrance
        self._local = str(listening.getsockname()[0])
        self._callers: dict[str, Caller] = {}  # by their address
        self._loop = asyncio.get_running_loop()
        self._pausing: asyncio.TimerHandle | None = None
        self._open()

    def close(self) -> None:
        """Accept no more than has come already: closing the socket would cut those that wait for it."""
        self._stop_accepting()
        while self._accept(closing=True):
            pass
        self._stop_accepting()
        self._listening.close()

    def _open(self) -> None:
        self._pausing = None
        self._loop.add_reader(self._listening.fileno(), self._accept)

    def _accept(self, *, closing: bool = False) -> bool:
        """Whether there may be more. One VM's connections end the turn when it has had its share of that."""
        shares = _Shares()
        for _ in range(_AT_ONCE):
            if self._lane.is_moving_many and not closing:
                return True
            try:
                connection, peer = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return False
            except OSError as problem:
                if problem.errno in _EXHAUSTED:
                    self._pause(problem)
                    return False
                continue  # the client is gone already
            origin = self._welcome(connection, peer[0], connection.fileno())
            if origin and not closing:
                shares.take(origin)
                if not shares.has_left(origin):
                    return True
        return True

    def _stop_accepting(self) -> None:
        self._loop.remove_reader(self._listening.fileno())
        if self._pausing is not None:
            self._pausing.cancel()

    def _pause(self, problem: OSError) -> None:
        _log.error("No connection can be accepted (%s); trying again in a second.", problem.strerror)
        self._stop_accepting()
        self._pausing = self._loop.call_later(_PAUSE_SECONDS, self._open)

    def _welcome(self, connection: socket.socket, peer: str, descriptor: int) -> str:
        """Let a connection in, or have it refused. Whose share it takes."""
        caller = self._callers.get(peer) or self._get_to_know(peer)
        share = self._lane.share_of(caller)
        if self._lane.roster.has_room(share, descriptor):
            self._begin(connection, caller, share, descriptor)
        else:
            self._lane.hand_over(connection, self._entrance)
        return share

    def _begin(self, connection: socket.socket, caller: Caller, share: str, descriptor: int) -> None:
        """Answer what has come already. Then the connection is closed, stays, or is handed over."""
        lane = self._lane
        try:
            request = connection.recv(lane.request_bytes, _NOW)
        except BlockingIOError:  # nothing has come yet
            lane.keep(StayingConnection(lane, connection, self._entrance, caller, share), descriptor)
            return
        except OSError:  # the client is gone
            connection.close()
            return
        outcome = lane.try_answer(connection, caller, request) if request else _NOTHING
        if isinstance(outcome, Beginning):
            StayingConnection(lane, connection, self._entrance, caller, share).move(outcome, descriptor)
        elif outcome.is_last:
            connection.close()
        else:
            lane.keep(StayingConnection(lane, connection, self._entrance, caller, share), descriptor)

    def _get_to_know(self, peer: str) -> Caller:
        if len(self._callers) >= _CALLERS_KEPT:
            self._callers.clear()
        caller = self._callers[peer] = Caller.at(self._entrance, peer, self._local)
        return caller


class StayingConnection:
    """A connection that has not asked yet, or was answered and may ask again."""

    __slots__ = ("_caller", "_connection", "_descriptor", "_entrance", "_is_moving", "_lane", "_waited", "origin")

    def __init__(self, lane: Lane, connection: socket.socket, entrance: Entrance, caller: Caller, origin: str) -> None:
        self._lane = lane
        self._connection = connection
        self._descriptor = connection.fileno()
        self._entrance = entrance
        self._caller = caller
        self.origin = origin
        self._waited = 0.0
        self._is_moving = False  # to a ``Connection``, which takes over its place

    def read(self) -> None:
        """Something has come: a request, or the end."""
        try:
            request = self._connection.recv(self._lane.request_bytes, _NOW)
        except BlockingIOError:
            return
        except OSError:
            request = b""
        if not request:
            self.hang_up()
            return
        self._waited = 0.0
        outcome = self._lane.try_answer(self._connection, self._caller, request)
        if isinstance(outcome, Beginning):
            self._lane.forget(self._descriptor)
            self._hand_over(outcome)
        elif outcome.is_last:
            self.hang_up()

    def move(self, beginning: Beginning, descriptor: int) -> None:
        """Take a place and keep it for the ``Connection`` that this becomes at once."""
        self._lane.roster.enter(self, descriptor)
        self._hand_over(beginning)

    def _hand_over(self, beginning: Beginning) -> None:
        self._is_moving = True
        place = partial(self._lane.roster.leave, self)
        self._lane.hand_over(self._connection, self._entrance, replace(beginning, release=place))

    def sweep(self, seconds: float) -> None:
        self._waited += seconds
        if self._waited >= self._lane.idle_seconds:
            self.hang_up()

    def hang_up(self) -> None:
        """Close at once: no answer is under way on a connection that stays."""
        if not self._is_moving:
            self._lane.forget(self._descriptor)
            self._lane.roster.leave(self)
            self._connection.close()

    abort = hang_up


class _Epoll(Protocol):
    """What the lane needs of ``select.epoll``, which types know on Linux only."""

    def fileno(self) -> int: ...

    def register(self, descriptor: int, wanted: int, /) -> None: ...

    def unregister(self, descriptor: int, /) -> None: ...

    def poll(self, seconds: float, most: int, /) -> list[tuple[int, int]]: ...

    def close(self) -> None: ...


def _new_epoll() -> _Epoll:
    if sys.platform != "linux":
        raise OSError("the short way is Linux's alone")
    return select.epoll()
