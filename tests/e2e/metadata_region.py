"""A region with its metadata face on real sockets, in a thread of its own, and a client that sees every byte."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from forewarn.core.commands import Command, CreateVms, RestartVms
from forewarn.core.facts import EventScheduled, Fact
from forewarn.core.rules import Rules
from forewarn.core.specs import Binding, VmSpec
from forewarn.plane.clock import Clock, TurnableClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Journal, Origin
from forewarn.plane.system import SYSTEM, Pace, ServerSystem
from forewarn.server.assembly import Assembly, Parts, assemble
from forewarn.server.process import new_event_loop
from forewarn.stores.memory import MemoryJournal
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.metadata.settings import MetadataSettings

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
VERSION = "2020-07-01"
PATIENCE_SECONDS = 20.0

_T = TypeVar("_T")
RegionT = TypeVar("RegionT", bound="MetadataRegion")


@dataclass(frozen=True)
class Response:
    status: int
    fields: dict[str, str]  # names in lower case
    body: bytes
    raw: bytes

    def incarnation(self) -> int:
        return int(self.fields["etag"].strip('"'))


class Guest:
    """One connection to the face."""

    def __init__(self, connected: socket.socket) -> None:
        connected.settimeout(PATIENCE_SECONDS)
        self.socket = connected
        self._left = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, data: bytes) -> Response:
        self.send(data)
        return self.answer()

    def answer(self, *, head_only: bool = False) -> Response:
        """The next response on this connection."""
        while b"\r\n\r\n" not in self._left:
            self._more()
        head, _, self._left = self._left.partition(b"\r\n\r\n")
        status_line, *lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        length = 0 if head_only else int(fields.get("content-length", "0"))
        while len(self._left) < length:
            self._more()
        body, self._left = self._left[:length], self._left[length:]
        return Response(int(status_line.split(" ")[1]), fields, body, head + b"\r\n\r\n" + body)

    def last_answer(self) -> tuple[int, str | None]:
        """The status of the next response, after which the server must close, and whether it said that it would."""
        answer = self.answer()
        assert self.rest() == b""
        return answer.status, answer.fields.get("connection")

    def rest(self) -> bytes:
        """All that still comes until the server closes."""
        found, self._left = self._left, b""
        while True:
            try:
                piece = self.socket.recv(65536)
            except ConnectionResetError:
                return found
            if not piece:
                return found
            found += piece

    def close(self) -> None:
        self.socket.close()

    def _more(self) -> None:
        piece = self.socket.recv(65536)
        assert piece, f"the server closed before a whole answer had come: {self._left!r}"
        self._left += piece


class MetadataRegion:
    """Everything of one test: the plane and the face live on a loop in another thread."""

    system: ServerSystem = SYSTEM

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._guests: list[Guest] = []
        self.complaints: list[dict[str, Any]] = []
        self.server: Assembly
        self.plane: Plane
        self.face: MetadataFace
        self.faults: FaultRules
        self.clock: Clock
        loop.set_exception_handler(lambda _, context: self.complaints.append(context))

    async def open(
        self,
        settings: MetadataSettings,
        clock: Clock,
        journal: Journal,
        rules: Rules,
        host: str,
        dice: random.Random,
        staleness: timedelta,
    ) -> None:
        self.clock = clock
        self.faults = FaultRules(dice)
        self.server = server = await assemble(
            Parts(
                journal=journal,
                clock_from=lambda _: clock,
                rules=rules,
                metadata=settings,
                faults=self.faults,
                pace=Pace(staleness=staleness),
                system=self.system,
            )
        )
        self.plane, self.face = server.plane, server.metadata_face()
        await self.plane.start()
        await self.face.start(host, 0)

    async def shut(self) -> None:
        await self.face.close()
        await self.plane.close()

    def close_guests(self) -> None:
        for guest in self._guests:
            guest.close()

    # What an operator does

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do something on the region's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_SECONDS)

    def do(self, work: Callable[[], _T]) -> _T:
        """The same for a plain call."""

        async def call() -> _T:
            return work()

        return self.run(call())

    def submit(self, command: Command) -> tuple[Fact, ...]:
        return self.run(self.plane.submit(command, Origin("operator")))

    def create(self, *names: str, spec: VmSpec | None = None, binding: Binding | None = None) -> None:
        self.submit(CreateVms(names, spec or VmSpec(), f"seed of {names}", binding))

    def restart(self, name: str, seed: str = "") -> str:
        """Schedule a restart; the event's id."""
        (found,) = [
            fact.event.id for fact in self.submit(RestartVms((name,), seed or name)) if isinstance(fact, EventScheduled)
        ]
        return found

    def advance(self, by: timedelta) -> None:
        self.run(self.plane.advance(self.do(self.plane.now) + by))

    # What a guest does

    def guest(self, host: str = "127.0.0.1", source: str | None = None) -> Guest:
        """A new connection."""
        connected = socket.create_connection(
            (host, self.face.port), PATIENCE_SECONDS, (source, 0) if source is not None else None
        )
        self._guests.append(Guest(connected))
        return self._guests[-1]

    def get(self, name: str | None = None, *lines: str, version: str = VERSION) -> Response:
        """Read the document on a connection of its own."""
        guest = self.guest()
        response = guest.ask(get(name, *lines, version=version))
        guest.close()
        return response

    def post(self, name: str | None, body: bytes, *lines: str, version: str = VERSION) -> Response:
        guest = self.guest()
        response = guest.ask(post(name, body, *lines, version=version))
        guest.close()
        return response


def path_of(name: str | None, version: str = VERSION) -> str:
    prefix = "" if name is None else f"/vm/{name}"
    return f"{prefix}/metadata/scheduledevents?api-version={version}"


def get(name: str | None = None, *lines: str, version: str = VERSION) -> bytes:
    return request("GET", path_of(name, version), "Metadata: true", *lines)


def post(name: str | None, body: bytes, *lines: str, version: str = VERSION) -> bytes:
    length = f"Content-Length: {len(body)}"
    return request("POST", path_of(name, version), "Metadata: true", length, *lines, body=body)


def request(verb: str, target: str, *lines: str, body: bytes = b"") -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"{verb} {target} HTTP/1.1", "Host: 169.254.169.254", *lines))
    return head.encode("latin-1") + b"\r\n" + body


def approval(*ids: str) -> bytes:
    return b'{"StartRequests":[' + b",".join(b'{"EventId":"%b"}' % event_id.encode() for event_id in ids) + b"]}"


@contextmanager
def region_of(
    kind: type[RegionT],
    settings: MetadataSettings | None = None,
    *,
    clock: Clock | None = None,
    journal: Journal | None = None,
    rules: Rules | None = None,
    host: str = "127.0.0.1",
    dice: random.Random | None = None,
    staleness: timedelta = timedelta(seconds=10),
    expected_errors: int = 0,
) -> Iterator[RegionT]:
    """One of a kind. When it ends, nothing may have escaped: not into the loop, not into the log."""
    loop = new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="region")
    thread.start()
    region = kind(loop)
    with _logged_errors() as errors:
        try:
            region.run(
                region.open(
                    settings or MetadataSettings(),
                    clock or TurnableClock(NOON),
                    journal or MemoryJournal(),
                    rules or Rules(),
                    host,
                    dice or random.Random(7),
                    staleness,
                )
            )
            yield region
        finally:
            region.close_guests()
            region.run(region.shut())
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
    assert region.complaints == []
    assert len(errors) == expected_errors, [record.getMessage() for record in errors]
    assert region.face.connections == 0


metadata_region = partial(region_of, MetadataRegion)  # a region for one test


@contextmanager
def _logged_errors() -> Iterator[list[logging.LogRecord]]:
    """What is logged as an error, or with a traceback, while this lasts."""
    errors: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR or record.exc_info:
                errors.append(record)

    handler = Keep()
    logging.getLogger().addHandler(handler)
    try:
        yield errors
    finally:
        logging.getLogger().removeHandler(handler)
