"""One reader as its server sees it: a seat with sockets that stay, on which one process sits after the other."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from forewarn.core.region import fold
from forewarn.plane.plane import Plane
from forewarn.server.readers.answering import HandedOn
from forewarn.server.readers.channel import ReaderChannel
from forewarn.server.readers.messages import (
    End,
    Enough,
    HandedAnswer,
    HandedRequest,
    ReaderOrder,
    ReaderReport,
    decode_for_server,
    encode,
)
from forewarn.server.readers.telling import Telling
from forewarn.web.answers import Answers
from forewarn.web.metadata.service import Service

_log = logging.getLogger(__name__)
_MOST_UNREAD = 64 * 1024 * 1024  # ours: bytes that a reader may be behind; a beginning of 100 000 VMs has a third


class ReaderProcess(Protocol):
    """A process that was begun."""

    @property
    def pid(self) -> int: ...

    def kill(self) -> None: ...

    async def wait(self) -> int: ...


# Begins a process that inherits one end of a channel, and these descriptors
Launch = Callable[[socket.socket, Sequence[int]], Awaitable[ReaderProcess]]


class Seat:
    """``ready`` while its reader answers VMs, ``ended`` once its first one has ended."""

    def __init__(
        self,
        order: ReaderOrder,
        sockets: Sequence[socket.socket],
        launch: Launch,
        plane: Plane,
        service: Service,
        answers: Answers,
    ) -> None:
        self._order = order
        self.sockets = sockets
        self._launch = launch
        self._plane = plane
        self._service = service
        self._answers = answers
        self.ready, self.ended = asyncio.Event(), asyncio.Event()
        self.connections = self.waiting = 0
        self.pid = 0
        self.heard_at = 0.0  # by the system's ``elapsed``: a message of it, or all that it was sent taken
        self._process: ReaderProcess | None = None
        self._channel: ReaderChannel | None = None
        self._handed: HandedOn | None = None
        self._later: list[bytes] | None = None  # what is told after the beginning, while that is under way
        self._later_bytes = 0
        self._lost = asyncio.Event()
        self._is_finishing = False

    async def serve(self, telling: Telling) -> int:
        """Begin a reader, tell it everything, and stay until it has ended; its exit status."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = await self._launch(theirs, (self._order.number, *self._order.sockets))
            except BaseException:
                ours.close()
                raise
        self._process, self.pid, self.heard_at = process, process.pid, self._plane.system.elapsed()
        self._keep_for_later()
        self._lost = asyncio.Event()
        over: list[asyncio.Future[Any]] = [asyncio.ensure_future(process.wait())]
        try:
            self._channel = await ReaderChannel.over(ours, self._take, self._lost.set)
            self._handed = HandedOn(self._service, self._answer)
            self._channel.send(encode(self._order))
            over += [asyncio.ensure_future(self._lost.wait()), asyncio.ensure_future(self._begin(telling))]
            await asyncio.wait(over[:2], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._leave()
            for each in over[1:]:
                each.cancel()
            _kill(process)
            status: int = await asyncio.shield(over[0])
            self.ended.set()
        return status

    def _leave(self) -> None:
        """Forget the process that has ended. The server still carries out what it handed on; the answers go nowhere."""
        self.ready.clear()
        self.connections = self.waiting = self.pid = 0
        self._process = self._later = None
        if self._handed is not None:
            self._handed.forget()
        if self._channel is not None:
            self._channel.abort()
        self._handed = self._channel = None

    async def _begin(self, telling: Telling) -> None:
        try:
            await self._introduce(telling)
        except Exception:
            _log.exception("The reader %d could not be told what there is; another one begins.", self.pid)
            self.kill()

    async def _introduce(self, telling: Telling) -> None:
        """All there is, in portions; then what was told meanwhile, and from then on everything at once."""
        assert self._channel is not None
        channel = self._channel
        self._keep_for_later()  # in the same turn in which the first portion is cut out
        for message in telling.beginning():
            channel.send(message)
            await channel.drained()
            self.heard_at = self._plane.system.elapsed()
            await asyncio.sleep(0)
        later, self._later = self._later or [], None
        channel.send(*later)
        if self._is_finishing:
            channel.send(encode(End()))

    def _keep_for_later(self) -> None:
        self._later, self._later_bytes = [], 0

    def tell(self, message: bytes) -> None:
        """Send an edition; behind the beginning, while that is under way.

        Nothing is kept where nobody sits, nor more than a reader may be behind.
        """
        unread = 0
        if self._later is not None:
            self._later.append(message)
            self._later_bytes += len(message)
            unread = self._later_bytes
        elif self._channel is not None:
            self._channel.send(message)
            unread = self._channel.unsent_bytes
        if unread > _MOST_UNREAD:
            _log.error("The reader %d does not take what it is told; it begins anew.", self.pid)
            self._keep_for_later()
            self.kill()

    def beat(self, message: bytes) -> None:
        """Send a beat to a reader that has been told the beginning."""
        if self._later is None and self._channel is not None:
            self._channel.send(message)

    def finish(self) -> None:
        """Let the reader end once all it has accepted is answered.

        While it is still being told the beginning, ``End`` is sent behind that.
        """
        self._is_finishing = True
        if self._channel is not None and self._later is None:
            self._channel.send(encode(End()))

    def kill(self) -> None:
        """Kill its process at once, if there is one."""
        if self._process is not None:
            _kill(self._process)

    # What it says

    def _take(self, message: bytes) -> None:
        self.heard_at = self._plane.system.elapsed()
        try:
            said = decode_for_server(message)
        except msgspec.MsgspecError:
            _log.exception("The reader %d says what no reader says; it begins anew.", self.pid)
            self.kill()
            return
        match said:
            case HandedRequest() if self._handed is not None:
                self._handed.ask(said)
            case Enough(number=number) if self._handed is not None:
                self._handed.enough(number)
            case ReaderReport():
                self._note(said)

    def _note(self, report: ReaderReport) -> None:
        plane = self._plane
        self._answers.put_in(report.counted)
        self.connections, self.waiting = report.connections, report.waiting
        region, now, last = plane.region, plane.now(), plane.reads.last
        for name, at in report.reads.items():
            known = last.get(name)
            if fold(name) in region.vms and (known is None or known < at):
                last[name] = min(at, now)
        if self._channel is not None:
            self.ready.set()

    def _answer(self, answer: HandedAnswer) -> None:
        if self._channel is not None:
            self._channel.send(encode(answer))


def _kill(process: ReaderProcess) -> None:
    with suppress(ProcessLookupError):  # it has ended by itself
        process.kill()
