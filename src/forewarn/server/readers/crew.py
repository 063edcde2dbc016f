"""All readers of a server: begun with it, begun again when they end, and ended with it."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace

from forewarn.core.region import replace as replaced
from forewarn.plane.plane import Plane
from forewarn.server.assembly import Parts
from forewarn.server.readers.messages import ReaderOrder, encode
from forewarn.server.readers.seats import Launch, ReaderProcess, Seat
from forewarn.server.readers.shared_number import SharedNumber
from forewarn.server.readers.telling import Telling
from forewarn.settings.errors import CommandFailed
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.metadata.settings import Limits

_log = logging.getLogger(__name__)
_PROGRAM = "forewarn.server.readers"
_BEATS = 8  # within ``staleness``: some may be late on a busy machine
_LONGEST_BEAT_SECONDS = 1.0  # ours: so soon readers hear that the server's store is back
_READS_SECONDS = 10.0  # as plane/reads.py keeps scopes enabled in time
_SILENT_SECONDS = 10.0  # ours, at the least: a reader says something each second
# Ours: of CPU a beginning takes a sixth of this for each VM. A reader of a million, on two cores with a load of 14, was
# heard 65 s after it had been told all
_BEGINNING_SECONDS_EACH = 0.0001
_YOUNG_SECONDS = 10.0  # ours: one that ends sooner was not well from the start
_AGAIN_SECONDS = (0.0, 0.1, 0.5, 2.0, 5.0)  # ours: after the first that was not well, the second, and so on
_LEEWAY_SECONDS = 5.0  # ours: for a reader that ends, after the time in which its answers must have left


class Readers:
    """``start`` returns when all of them answer."""

    def __init__(
        self,
        plane: Plane,
        face: MetadataFace,
        parts: Parts,
        sockets: Sequence[Sequence[socket.socket]],
        *,
        launch: Launch | None = None,
        log: tuple[str, str] = ("info", "text"),
    ) -> None:
        self._plane = plane
        self._number = SharedNumber.create()
        self._staleness_seconds = parts.pace.staleness.total_seconds()
        self._grace_seconds = parts.metadata.limits.grace_seconds
        order = _order_of(parts, len(sockets), self._number.descriptor, log)
        self.seats = [
            Seat(replace_sockets(order, own), own, launch or launch_process, plane, face.service, parts.answers)
            for own in sockets
        ]
        metadata = parts.metadata
        self._telling = Telling(
            plane,
            self._number,
            parts.faults,
            parts.watched,
            always_hands_on=bool(metadata.throttle_per_second or metadata.visibility_lag or parts.onlooker),
            tell=self._tell,
            fail=self._begin_anew,
        )
        self.ended = 0  # how many readers have ended that were not to
        self._closing = False
        self._keeping: list[asyncio.Task[None]] = []
        self._beating: asyncio.Task[None] | None = None

    @property
    def connections(self) -> int:
        return sum(seat.connections for seat in self.seats)

    @property
    def waiting(self) -> int:
        """How many GETs they hold."""
        return sum(seat.waiting for seat in self.seats)

    @property
    def answering(self) -> int:
        """How many of them answer VMs now."""
        return sum(seat.ready.is_set() for seat in self.seats)

    async def start(self) -> None:
        """``CommandFailed`` where one of them does not begin. ``close`` is called in any case."""
        self._keeping = [asyncio.create_task(self._keep(seat)) for seat in self.seats]
        self._beating = asyncio.create_task(self._beat_on())
        for seat in self.seats:
            either = [asyncio.ensure_future(each.wait()) for each in (seat.ready, seat.ended)]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            for each in either:
                each.cancel()
            if not seat.ready.is_set():
                raise CommandFailed("a reader did not start; the log above says why.")

    async def close(self) -> None:
        """Accept what has come and no more, let what is owed be answered, and end all of them."""
        if self._closing:
            return
        self._closing = True
        for seat in self.seats:
            for listening in seat.sockets:
                listening.close()  # here: what a reader closes after it is closed, and what has come is its own
        self._beat()
        for seat in self.seats:
            seat.finish()
        longest = self._grace_seconds + _LEEWAY_SECONDS
        _, late = await asyncio.wait(self._keeping, timeout=longest) if self._keeping else (set(), set())
        if late:
            _log.error("%d readers do not end; they are killed.", len(late))
            for seat in self.seats:
                seat.kill()
            await asyncio.wait(late)
        if self._beating is not None:
            self._beating.cancel()
        self._telling.close()
        self._number.close()

    # While they run

    async def _keep(self, seat: Seat) -> None:
        """Keep a reader on this seat until the server ends.

        After one that ended young, wait before the next (``_AGAIN_SECONDS``).
        """
        young = 0
        while not self._closing:
            began, why = self._plane.system.elapsed(), ""
            try:
                why = _ending(await seat.serve(self._telling))
            except OSError as problem:  # no process, or no descriptor, is to be had
                why = f"could not begin ({problem.strerror or problem})"
                seat.ended.set()
            if self._closing:
                return
            self.ended += 1
            young = young + 1 if self._plane.system.elapsed() - began < _YOUNG_SECONDS else 0
            _log.warning("A reader %s; another one begins.", why)
            await asyncio.sleep(_AGAIN_SECONDS[min(young, len(_AGAIN_SECONDS) - 1)])

    async def _beat_on(self) -> None:
        every = min(_LONGEST_BEAT_SECONDS, self._staleness_seconds / _BEATS)
        now = self._plane.system.elapsed()
        while True:
            await asyncio.sleep(every)
            self._beat()
            before, now = now, self._plane.system.elapsed()
            self._end_who_is_silent(now, now - before - every)

    def _end_who_is_silent(self, now: float, late: float) -> None:
        """While this server stood still, it heard nobody: what it is late does not count."""
        for seat in self.seats:
            seat.heard_at = min(now, seat.heard_at + max(0.0, late))
            if seat.pid and now - seat.heard_at > self._longest_silence(seat):
                _log.error("The reader %d has fallen silent; it is killed.", seat.pid)
                seat.kill()

    def _longest_silence(self, seat: Seat) -> float:
        longest = max(_SILENT_SECONDS, self._staleness_seconds)
        if not seat.ready.is_set():
            longest += len(self._plane.region.vms) * _BEGINNING_SECONDS_EACH
        return longest

    def _beat(self) -> None:
        message = encode(self._telling.beat())
        for seat in self.seats:
            seat.beat(message)

    def _tell(self, message: bytes) -> None:
        for seat in self.seats:
            seat.tell(message)

    def _begin_anew(self) -> None:
        for seat in self.seats:
            seat.kill()


def _order_of(parts: Parts, readers: int, number: int, log: tuple[str, str]) -> ReaderOrder:
    settings = parts.metadata
    return ReaderOrder(
        sockets=(),
        number=number,
        first_read_delay=settings.first_read_delay,
        not_before_format=settings.not_before_format,
        desk=settings.desk,
        short_way=settings.short_way,
        request_log=settings.request_log,
        limits=share_of(settings.limits, readers),
        staleness_seconds=parts.pace.staleness.total_seconds(),
        reads_seconds=min(_READS_SECONDS, parts.rules.disable_after.total_seconds() / 8),
        log_level=log[0],
        log_format=log[1],
    )


def share_of(limits: Limits, readers: int) -> Limits:
    """Each reader's part of the server's limits: all readers together let in no more than the server would."""
    return replace(
        limits,
        connections=max(1, limits.connections // readers),
        connections_each=max(1, limits.connections_each // readers),
    )


def replace_sockets(order: ReaderOrder, sockets: Sequence[socket.socket]) -> ReaderOrder:
    """The order for a reader with these."""
    return replaced(order, sockets=tuple(each.fileno() for each in sockets))


async def launch_process(end: socket.socket, descriptors: Sequence[int]) -> ReaderProcess:
    """A process of its own. It is begun, not forked: this one has threads, a loop and a journal that it must not have.

    A session of its own, so that Ctrl-C at a terminal reaches the server alone, which then lets its readers end.
    """
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # what lies in the working directory is no part of the program
        "-m",
        _PROGRAM,
        str(end.fileno()),
        pass_fds=(end.fileno(), *descriptors),
        start_new_session=True,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
    )


def _ending(status: int) -> str:
    return f"was ended by signal {-status}" if status < 0 else f"has ended with status {status}"
