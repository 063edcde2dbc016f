"""The same region served by readers: their own sockets and channels, all in the one loop so that a test may meddle."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from typing import Any

from forewarn.server.readers.crew import Readers
from forewarn.server.readers.life import DocumentReader
from forewarn.server.readers.seats import Seat
from forewarn.server.readers.sockets import bind_for_readers
from tests.contract.metadata.bench import FaceBench
from tests.e2e.metadata_region import Guest

_PIDS = count(1)
_BACKLOG = 100


class LoopReader:
    """A reader that is no process: begun, waited for and killed like one."""

    def __init__(self, end: socket.socket, _descriptors: Sequence[int]) -> None:
        self.pid = next(_PIDS)
        self.reader = DocumentReader(own=os.dup)
        self._running = asyncio.ensure_future(self.reader.run(socket.socket(fileno=os.dup(end.fileno()))))
        self._over = asyncio.ensure_future(self._end())

    def kill(self) -> None:
        if (channel := vars(self.reader).get("_channel")) is not None:
            channel.abort()  # it hears no more from now on
        self._running.cancel()

    async def wait(self) -> int:
        return await asyncio.shield(self._over)

    async def _end(self) -> int:
        status = 0
        try:
            await asyncio.wait([self._running])
            status = -9 if self._running.cancelled() else int(self._running.exception() is not None)
        finally:
            reader = self.reader
            if reader.face is not None:
                for connection in tuple(reader.face._connections._connections):
                    connection.abort()
                await reader.face.close()
            for listening in reader._sockets:
                listening.close()  # as the end of a process does: a face that never began has not closed them
            reader._channel.abort()
        return status


class _Faces:
    """All readers together, where a test looks at one face."""

    def __init__(self, bench: ReadersBench) -> None:
        self._bench = bench

    @property
    def port(self) -> int:
        port: int = self._bench.readers.seats[0].sockets[0].getsockname()[1]
        return port

    @property
    def waiting(self) -> int:
        return sum(each.face.waiting for each in self._bench.at_work() if each.face is not None)


class ReadersBench(FaceBench):
    """Two readers. Nothing needs to catch up: what is published counts for whoever asks after it."""

    readers: Readers
    begun: dict[int, LoopReader]  # by pid
    count = 2

    async def open(self, *values: Any) -> None:
        await super().open(*values)
        self.begun = {}
        sockets = await bind_for_readers("127.0.0.1", 0, self.count, _BACKLOG)
        self.readers = Readers(self.plane, self.node_face, self.server.parts, sockets, launch=self._launch)
        await self.readers.start()
        self.face = _Faces(self)  # type: ignore[assignment]  # a test looks at no more of a face than this has

    async def shut(self) -> None:
        await self.readers.close()
        self.face = self.node_face
        await super().shut()

    async def _launch(self, end: socket.socket, descriptors: Sequence[int]) -> LoopReader:
        found = LoopReader(end, descriptors)
        self.begun[found.pid] = found
        return found

    def begin(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        """Do something on the region's loop, and do not wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def at_work(self) -> list[DocumentReader]:
        return [self.begun[seat.pid].reader for seat in self.readers.seats if seat.pid]

    def at_reader(self, seat: int) -> Guest:
        """A connection that one reader has."""
        self.until(lambda: self.do(self.readers.seats[seat].ready.is_set), f"a reader on seat {seat}")
        found = self.guest()
        while self._is_elsewhere(found, seat):
            found = self.guest()
        return found

    def _is_elsewhere(self, guest: Guest, seat: int) -> bool:
        """Found out by a request that every reader hands on, and that changes nothing."""
        asked = self.do(lambda: self._asked_by(seat))
        guest.ask(b"GET /nowhere HTTP/1.1\r\nHost: x\r\nMetadata: true\r\n\r\n")
        return self.do(lambda: self._asked_by(seat)) == asked

    def _asked_by(self, seat: int) -> int:
        return self.begun[self.readers.seats[seat].pid].reader.ground._asked

    def hold_up(self, seat: int) -> Callable[[], None]:
        """Nothing that the server says reaches this reader, until what is returned is called."""
        found: Any = self.readers.seats[seat]
        kept: list[Callable[[], None]] = []

        def begin() -> None:
            for name in ("tell", "beat", "_answer"):
                setattr(found, name, lambda said, name=name: kept.append(lambda: getattr(Seat, name)(found, said)))

        def go_on() -> None:
            for name in ("tell", "beat", "_answer"):
                delattr(found, name)
            for each in kept:
                each()

        self.do(begin)
        return lambda: self.do(go_on)


class HastyReadersBench(ReadersBench):
    """For planted bugs: what does not come soon is taken not to come."""

    patience_seconds = 1.0

    def guest(self, host: str = "127.0.0.1", source: str | None = None) -> Guest:
        found = super().guest(host, source)
        found.socket.settimeout(2)
        return found

    async def shut(self) -> None:
        """A bug may leave something that does not end."""
        for reader in self.begun.values():
            reader.kill()
        with suppress(AssertionError):
            await super().shut()
