"""A whole region behind the operator face: the real plane, a journal in memory, a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias

import httpx
import pytest
from fastapi import FastAPI

from forewarn.core.commands import Tick
from forewarn.core.rules import Rules
from forewarn.plane.clock import Clock, TurnableClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Journal, Origin
from forewarn.server.assembly import Parts, running
from forewarn.stores.memory import MemoryJournal
from forewarn.web.operator.schema.answers import SettingView
from tests.unit.web.apps import reused

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SETTINGS = (
    SettingView("vms_per_host", "4", "file", "VMs that fit on one host"),
    SettingView("token", "sesame", "environment", "secret"),
    SettingView("store", "postgresql://me:se:sa@me@db.example/f", "environment", "database"),
)


class Bench:
    """What a test holds: the plane behind the face, and a client before it."""

    def __init__(self, plane: Plane, app: FastAPI, client: httpx.AsyncClient) -> None:
        self.plane = plane
        self.app = app
        self.client = client

    async def get(self, path: str, status: int = 200, **query: Any) -> Any:
        answer = await self.client.get(path, params=query)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        answer = await self.client.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def refused(self, status: int, method: str, path: str, body: Any = None, **more: Any) -> str:
        """Ask, be refused in the envelope, see that nothing changed; the sentence."""
        await self.settled()
        before = self.plane.seq, self.plane.region, self.plane.now()
        if body is not None:
            more["json"] = body
        answer = await self.client.request(method, path, **more)
        assert answer.status_code == status, answer.text
        error = answer.json()["error"]
        assert set(error) == {"kind", "message", "request_id"}
        assert error["request_id"] == answer.headers["X-Request-Id"]
        assert before == (self.plane.seq, self.plane.region, self.plane.now())
        message: str = error["message"]
        assert message.endswith((".", "?")), message
        return message

    async def create(self, name: str, **spec: Any) -> list[str]:
        created: list[str] = (await self.post("/v1/vms", {"name": name, **spec}, 201))["created"]
        return created

    async def read(self, *names: str) -> None:
        """VMs read their documents for the first time, so that their scopes are enabled."""
        for name in names:
            await self.plane.enable(self.plane.region.vms[name])

    async def settled(self) -> None:
        """Engines have taken in hand what has started: the writer does that before it takes the next command."""
        await self.plane.submit(Tick(), Origin("clock"))


OpenBench: TypeAlias = Callable[..., AbstractAsyncContextManager[Bench]]


@asynccontextmanager
async def open_bench(
    *,
    journal: Journal | None = None,
    clock: Clock | None = None,
    token: str | None = None,
    hosts: tuple[str, ...] = (),
    rules: Rules | None = None,
    base_url: str = "http://127.0.0.1:16926",
    metadata_url: str = "http://127.0.0.1:16925",
) -> AsyncIterator[Bench]:
    chosen = clock or TurnableClock(NOON)
    parts = Parts(
        journal=journal or MemoryJournal(),
        clock_from=lambda _: chosen,
        rules=rules or Rules(vms_per_host=4),
        token=token or "",
        shown=SETTINGS,
    )
    async with running(parts) as server:
        app = reused(server.operator_app(metadata_url=metadata_url, hosts=hosts), hosts, token)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base_url) as client:
            yield Bench(server.plane, app, client)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(name="open_bench")
def open_bench_fixture() -> OpenBench:
    return open_bench


@pytest.fixture
async def bench(anyio_backend: str) -> AsyncIterator[Bench]:
    async with open_bench() as opened:
        yield opened
