"""What a node says of itself to those who send it requests, and how it asks them to go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx
import pytest

from forewarn.plane.clock import TurnableClock
from forewarn.plane.standing import Standing
from forewarn.server.assembly import Assembly, Parts, running
from forewarn.stores.memory import MemoryJournal
from forewarn.web.health import HealthPaths, NodeHealth, nothing_else

pytestmark = pytest.mark.anyio

READY = {"status": "ready", "seq": 0, "leads": True, "reasons": []}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[Assembly]:
    clock = TurnableClock(datetime(2026, 1, 1, tzinfo=UTC))
    parts = Parts(journal=MemoryJournal(), clock_from=lambda _: clock, token="sesame")
    async with running(parts) as opened:
        yield opened


def client_of(server: Assembly, health: NodeHealth) -> httpx.AsyncClient:
    """Before an operator face that lets nobody in."""
    app = server.operator_app(metadata_url="")
    return httpx.AsyncClient(transport=httpx.ASGITransport(HealthPaths(app, health)), base_url="http://odd.example")


async def test_a_node_is_ready_when_every_face_answers(server: Assembly) -> None:
    health = NodeHealth()
    async with client_of(server, health) as client:
        before = await client.get("/health/ready")
        health.started(server.plane)
        after = await client.get("/health/ready")

    assert before.status_code == 503
    assert before.json() == {"status": "not ready", "seq": 0, "leads": False, "reasons": ["This node is starting."]}
    assert (after.status_code, after.json()) == (200, READY)
    assert after.headers["Cache-Control"] == "no-store"


async def test_a_node_that_may_not_be_current_or_drains_is_alive_and_not_ready(
    server: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    health = NodeHealth()
    health.started(server.plane)
    server.plane.membership.drain()
    monkeypatch.setattr(Standing, "stale", "This node has not heard from its store for 10 s.")
    async with client_of(server, health) as client:
        ready, live = await client.get("/health/ready"), await client.get("/health/live")

    assert ready.status_code == 503
    assert ready.json()["reasons"] == [
        "This node has not heard from its store for 10 s.",
        "This node is shutting down and takes no new clients.",
    ]
    assert (live.status_code, live.json()) == (200, {"status": "live"})


@pytest.mark.parametrize("host", ["odd.example", "10.0.0.9:16926", "", "[::1"])
async def test_a_load_balancer_needs_no_token_and_no_right_name(server: Assembly, host: str) -> None:
    health = NodeHealth()
    health.started(server.plane)
    async with client_of(server, health) as client:
        for path in ("/health/ready", "/health/live"):
            assert (await client.get(path, headers={"Host": host})).status_code == 200
            assert (await client.head(path, headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/ping"),
        ("POST", "/health/ready"),
        ("GET", "/health"),
        ("GET", "/health/"),
        ("GET", "/health/ready/"),
        ("GET", "/health/ready/../../v1/ping"),
        ("GET", "/health/live/v1/ping"),
        ("GET", "//health/ready"),
        ("GET", "/Health/Ready"),
    ],
)
async def test_nothing_but_the_two_paths_is_let_through(server: Assembly, method: str, path: str) -> None:
    health = NodeHealth()
    health.started(server.plane)
    async with client_of(server, health) as client:
        named = await client.request(method, path, headers={"Host": "localhost"})
        unnamed = await client.request(method, path)

    assert (named.status_code, unnamed.status_code) == (401, 400)


async def test_while_it_drains_a_node_serves_and_asks_its_clients_to_go(server: Assembly) -> None:
    health = NodeHealth()
    health.started(server.plane)
    headers = {"Host": "localhost", "Authorization": "Bearer sesame"}
    async with client_of(server, health) as client:
        before = await client.get("/v1/ping", headers=headers)
        server.plane.membership.drain()
        after = await client.get("/v1/ping", headers=headers)

    assert (before.status_code, before.headers.get("Connection")) == (200, None)
    assert (after.status_code, after.headers["Connection"]) == (200, "close")


async def test_a_listener_for_health_alone_tells_nothing_else() -> None:
    app = HealthPaths(nothing_else, NodeHealth())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://odd.example") as client:
        assert (await client.get("/health/live")).status_code == 200
        answer = await client.get("/v1/ping")

    assert answer.status_code == 404
    assert (
        answer.json()["error"]["message"]
        == "There is only /health/live, /health/ready and, where metrics are on, /metrics here."
    )
