"""The command line, run in this process against a real region behind the operator face; its clock stands still."""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
import uvicorn

from forewarn.cli.main import main
from forewarn.plane.clock import Clock, RealClock, TurnableClock
from forewarn.plane.hands.settings import NO_MACHINES, Machines
from forewarn.server.assembly import Parts, assemble
from forewarn.stores.memory import MemoryJournal
from forewarn.web.operator.schema.answers import SettingView
from forewarn.web.operator.stream import Streams
from tests.unit.web.apps import reused

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run one command, as if typed; ``stdin`` is what is piped into it."""

    def run(*arguments: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        status = main(arguments)
        out, err = capsys.readouterr()
        return Result(status, out, err)

    return run


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests shall matter."""
    for name in [name for name in os.environ if name.startswith("FOREWARN_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")


class House(uvicorn.Server):
    """One HTTP server for all tests; behind it stands the region of the test that is running."""

    def __init__(self) -> None:
        super().__init__(uvicorn.Config(self._answer, interface="asgi3", log_level="critical", lifespan="off"))
        self.region: Region | None = None
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._ready = threading.Event()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        assert self.region is not None
        await self.region.app(scope, receive, send)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()

    def open(self) -> str:
        """Its address, once it answers."""
        listening = socket.create_server(("127.0.0.1", 0))
        self._thread.start()
        self._serving = asyncio.run_coroutine_threadsafe(self.serve([listening]), self.loop)
        assert self._ready.wait(30)
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    def close(self) -> None:
        self.should_exit = True
        self._serving.result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Region:
    """A region behind the operator face."""

    def __init__(
        self,
        house: House,
        clock: Clock,
        token: str | None,
        portal: bool = False,
        machines: Machines = NO_MACHINES,
    ) -> None:
        self._house = house
        views = (
            SettingView("clock", "virtual", "flag", "the clock"),
            SettingView("portal", "on" if portal else "off", "flag", "pages for browsers"),
        )
        parts = Parts(
            journal=MemoryJournal(),
            clock_from=lambda _: clock,
            token=token or "",
            shown=views,
            portal=portal,
            machines=machines,
        )
        server = self.wait(assemble(parts))
        self.plane = server.plane
        self.wait(self.plane.start())
        fresh = server.operator_app(metadata_url="http://127.0.0.1:16925")
        self.app = reused(fresh, "cli", token, portal)
        self._streams: Streams = fresh.state.desk.streams
        house.region = self

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the region's loop do something."""
        return asyncio.run_coroutine_threadsafe(work, self._house.loop).result(30)

    def read(self, *names: str) -> None:
        """VMs read their documents, which enables their scopes."""
        for name in names:
            self.wait(self.plane.enable(self.plane.region.vms[name]))

    async def close(self) -> None:
        self._streams.close()
        await self.plane.close()


@pytest.fixture(scope="session")
def house() -> Iterator[tuple[House, str]]:
    """The HTTP server and its address."""
    opened = House()
    yield opened, opened.open()
    opened.close()


@pytest.fixture
def open_region(house: tuple[House, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Region]]:
    """Make a region of a certain kind; the commands find it by FOREWARN_URL."""
    opened: list[Region] = []

    def open_one(clock: Clock | None = None, token: str | None = None, portal: bool = False) -> Region:
        opened.append(Region(house[0], clock or TurnableClock(NOON), token, portal))
        monkeypatch.setenv("FOREWARN_URL", house[1])
        return opened[-1]

    yield open_one
    for region in opened:
        region.wait(region.close())


@pytest.fixture
def region(open_region: Callable[..., Region]) -> Region:
    """A region whose clock stands at noon."""
    return open_region()


@pytest.fixture
def real_time_region(open_region: Callable[..., Region]) -> Region:
    """A region on the machine's own clock."""
    return open_region(RealClock())


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An address that is taken and at which nobody answers."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        monkeypatch.setenv("FOREWARN_URL", url)
        yield url
