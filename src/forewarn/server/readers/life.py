"""A reader's life: it is told what it is to be and what there is, answers VMs, and ends with its server."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from datetime import datetime
from itertools import islice
from typing import Any

from forewarn.plane.system import SYSTEM, ServerSystem
from forewarn.server import log as log_lines
from forewarn.server.process import STOPPING, new_event_loop, return_large_blocks, spare_the_collector, take_all_files
from forewarn.server.readers.channel import ReaderChannel
from forewarn.server.readers.ground import ReaderGround
from forewarn.server.readers.messages import (
    Beat,
    Edition,
    End,
    HandedAnswer,
    ReaderOrder,
    ReaderReport,
    decode_for_reader,
    encode,
)
from forewarn.server.readers.service import ReaderService
from forewarn.server.readers.shared_number import SharedNumber
from forewarn.web.answers import Answers
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.web.signals import request_log

_log = logging.getLogger(__name__)
_REPORT_SECONDS = 1.0  # ours: so old figures of a server may be
_FEW_READS = 1_000  # ours: so many are told with each report, for who looks at a VM; more only as often as they must be
_READS_TOGETHER = 2_000  # ours, as a relay's: the server notes them in some 2 ms, and has other work to do
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


class ServerGone(Exception):  # noqa: N818 - the name says enough
    """The server ended, and so does this reader: nothing that it knows is good any more."""


class DocumentReader:
    """``own`` makes a descriptor of the server's this reader's own: in a process of its own, each is already.

    ``prepare`` is called with the order, before anything else is done, ``settled`` once everything is known.
    """

    def __init__(
        self,
        own: Callable[[int], int] = int,
        prepare: Callable[[ReaderOrder], None] = lambda _order: None,
        settled: Callable[[], None] = lambda: None,
        system: ServerSystem = SYSTEM,
    ) -> None:
        self._own = own
        self._prepared = prepare
        self._settled = settled
        self._system = system
        self._order: ReaderOrder
        self._channel: ReaderChannel
        self.ground: ReaderGround
        self.face: MetadataFace | None = None
        self._answers = Answers()
        self._sockets: list[socket.socket] = []
        self._number: SharedNumber | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._starting: asyncio.Task[None] | None = None
        self._ending = False
        self._untold: dict[str, datetime] = {}  # reads of very many VMs, which are told one portion after the other
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, end: socket.socket) -> None:
        """Until the server says that it is enough. ``ServerGone`` where it is not there any more."""
        self._channel = await ReaderChannel.over(end, self._take, self._lost)
        try:
            await self.over
        finally:
            for task in self._tasks:
                task.cancel()

    def _take(self, message: bytes) -> None:
        try:
            self._hear(message)
        except Exception as fault:  # what was not understood is missing from here on
            self._fail(fault)

    def _hear(self, message: bytes) -> None:
        match decode_for_reader(message):
            case ReaderOrder() as order:
                self._prepare(order)
            case Edition() as news:
                self.ground.take(news)
                if not news.more and self._starting is None:
                    self._starting = self._begin(self._start())
            case Beat() as beat:
                self.ground.hear(beat)
            case HandedAnswer() as answer:
                self.ground.answered(answer)
            case End():
                self._ending = True
                self._begin(self._finish())

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(self._look_at)
        self._tasks.append(task)
        return task

    def _look_at(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fail(fault)

    def _fail(self, fault: BaseException) -> None:
        if not self.over.done():
            self.over.set_exception(fault)

    def _lost(self) -> None:
        if self.over.done():
            return
        if self._ending:
            self.over.set_result(None)
        else:
            self.over.set_exception(ServerGone())

    # What it does

    def _prepare(self, order: ReaderOrder) -> None:
        self._prepared(order)
        self._order = order
        self._sockets = [socket.socket(fileno=self._own(each)) for each in order.sockets]
        self._number = SharedNumber(self._own(order.number), writes=False)
        self.ground = ReaderGround(self._number, order.staleness_seconds, self._system)
        self.ground.send = lambda message: self._channel.send(encode(message))

    async def _start(self) -> None:
        order, ground = self._order, self.ground
        settings = MetadataSettings(
            first_read_delay=order.first_read_delay,
            not_before_format=order.not_before_format,
            desk=order.desk,
            short_way=order.short_way,
            request_log=order.request_log,
            limits=order.limits,
        )
        self.face = MetadataFace(ground, ground.faults, ground.watched, settings, self._answers, service=ReaderService)
        ground.told = self.face.renew
        await self.face.start_on(self._sockets)
        self._settled()
        self._report()
        self._begin(self._report_on())
        self._begin(self._tell_reads_of_many_on())

    async def _report_on(self) -> None:
        while True:
            await asyncio.sleep(min(_REPORT_SECONDS, self._order.reads_seconds))
            self.ground.give_up()
            reads: dict[str, datetime] = {}
            if len(self.ground.last) <= _FEW_READS:
                reads, self.ground.last = self.ground.last, {}
            self._report(reads)

    async def _tell_reads_of_many_on(self) -> None:
        """Those of one while are told in the next one, spread over it."""
        seconds = self._order.reads_seconds / 2
        while True:
            if len(self.ground.last) > _FEW_READS:
                self._untold, self.ground.last = self.ground.last, {}
            pause = seconds / max(1, math.ceil(len(self._untold) / _READS_TOGETHER))
            while self._untold:
                self._report(self._portion())
                await asyncio.sleep(pause)
            await asyncio.sleep(pause)

    def _portion(self) -> dict[str, datetime]:
        found = dict(islice(self._untold.items(), _READS_TOGETHER))
        for name in found:
            del self._untold[name]
        return found

    def _report(self, reads: dict[str, datetime] | None = None) -> None:
        assert self.face is not None
        counted = self._answers.take_out()
        self._channel.send(encode(ReaderReport(reads or {}, counted, self.face.connections, self.face.waiting)))

    async def _finish(self) -> None:
        """Everything that has come is answered, then the server hears of it."""
        if self._starting is not None:
            await self._starting
        if self.face is not None:
            await self.face.close()
            self._untold |= self.ground.last
            while self._untold:
                self._report(self._portion())
            self._report()
        self._channel.close()


def main(descriptor: int) -> int:
    """In a process that a server has begun, which hands over one end of a channel."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)  # they mean the server, which then says what is to be done
    _die_with_the_server()
    take_all_files()
    return_large_blocks()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_live(descriptor))


async def _live(descriptor: int) -> int:
    try:
        await DocumentReader(prepare=_log_as_the_server, settled=spare_the_collector).run(
            socket.socket(fileno=descriptor)
        )
    except ServerGone:
        os._exit(1)  # at once: the port must be free for the next server
    return 0


def _log_as_the_server(order: ReaderOrder) -> None:
    log_lines.configure(order.log_level, order.log_format)
    if order.request_log:
        request_log.switch_on()


def _die_with_the_server() -> None:
    """However it ends, and whatever this process is doing then. One that is gone already is seen by its channel."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
