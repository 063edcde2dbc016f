"""The page /metrics, read by the library's own parser."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from forewarn.core.commands import Tick
from forewarn.plane.clock import TurnableClock
from forewarn.plane.ports import CLOCK
from forewarn.server.assembly import Assembly, Parts, running
from forewarn.stores.memory import MemoryJournal
from forewarn.web.health import HealthPaths, NodeHealth
from forewarn.web.signals.counted import CountedFace
from forewarn.web.signals.gauges import Gauges
from forewarn.web.signals.page import MetricsAlone, MetricsPage
from tests.figures import figures
from tests.unit.web.operator.conftest import NOON

_PAGE = (Path(__file__).parents[4] / "docs" / "signals.md").read_text()
_DOCUMENTED = set(re.findall(r"^\| `(forewarn_\w+)` \|", _PAGE, re.MULTILINE))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Watched:
    """A server without sockets, its page, and a client of its control face."""

    def __init__(self, server: Assembly, token: str) -> None:
        self.plane = server.plane
        self.health = NodeHealth()
        self.gauges = Gauges()
        self.page = MetricsPage(self.health, server.parts.answers, self.gauges, timedelta(hours=2))
        app = server.operator_app(metadata_url="http://127.0.0.1:1", metrics=self.page)
        face = CountedFace(app, "operator", server.parts.answers, server.plane.system.elapsed, logged=False)
        fields = {"Authorization": f"Bearer {token}"} if token else {}
        at = "http://127.0.0.1:16926"
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(face), base_url=at, headers=fields)
        self.open = httpx.AsyncClient(
            transport=httpx.ASGITransport(HealthPaths(MetricsAlone(self.page), self.health)), base_url="http://any"
        )

    def start(self) -> None:
        self.health.started(self.plane)
        self.page.started(self.plane, "memory")

    async def look(self) -> dict[tuple[str, ...], float]:
        return figures((await self.client.get("/metrics")).text)


def parts(token: str = "") -> Parts:
    return Parts(journal=MemoryJournal(), clock_from=lambda _: TurnableClock(NOON), token=token)


@pytest.mark.anyio
async def test_what_was_asked_written_and_is_open_is_on_the_page() -> None:
    async with running(parts()) as server:
        watched = Watched(server, "")
        watched.start()
        await watched.client.post("/v1/vms", json={"name": "web", "count": 2})
        await watched.client.post("/v1/vms", json={"name": "web-0"})
        await server.plane.enable(server.plane.region.vms["web-0"])
        await watched.client.post("/v1/vms/restart", json={"names": ["web-0"]})
        await watched.client.get("/v1/vms/nobody")
        told = await watched.look()
        assert told["forewarn_vms",] == 2
        assert told["forewarn_events", "scheduled", "Reboot"] == 1
        assert told["forewarn_events", "started", "Freeze"] == 0
        assert told["forewarn_scopes_enabled",] == 1
        assert told["forewarn_commands_total", "operator", "done"] == 2
        assert told["forewarn_commands_total", "operator", "refused"] == 1
        assert told["forewarn_facts_total", "VmCreated"] == 2
        assert told["forewarn_answers_total", "operator", "GET", "404"] == 1
        assert told["forewarn_answers_total", "operator", "POST", "201"] == 1
        assert told["forewarn_write_seconds_count",] == sum(
            value for name, value in told.items() if name[0] == "forewarn_commands_total"
        )
        assert told["forewarn_commit_seconds_bucket", "+Inf"] == told["forewarn_commit_seconds_count",] > 0
        assert told["forewarn_journal_head",] == server.plane.seq
        assert told["forewarn_leads",] == told["forewarn_ready",] == 1


@pytest.mark.anyio
async def test_a_deadline_that_nobody_approved_is_counted_and_an_approved_start_is_not() -> None:
    async with running(parts()) as server:
        watched = Watched(server, "")
        watched.start()
        await watched.client.post("/v1/vms", json={"name": "web", "count": 2})
        for name in ("web-0", "web-1"):
            await server.plane.enable(server.plane.region.vms[name])
            await watched.client.post("/v1/vms/restart", json={"names": [name]})
        approved, _ = (await watched.client.get("/v1/events")).json()["events"]
        await watched.client.post("/v1/events/approve", json={"ids": [approved["id"]]})
        await server.plane.advance(NOON + timedelta(minutes=20))
        await server.plane.submit(Tick(), CLOCK)
        assert (await watched.look())["forewarn_deadlines_missed_total", "Reboot"] == 1


@pytest.mark.anyio
async def test_on_the_control_port_a_token_is_needed_and_on_the_health_port_none() -> None:
    async with running(parts("sesame")) as server:
        watched = Watched(server, "sesame")
        early = await watched.open.get("/metrics")
        watched.start()
        stranger = await watched.client.get("/metrics", headers={"Authorization": "Bearer guess"})
        known, opened = await watched.client.get("/metrics"), await watched.open.get("/metrics")
        other = await watched.open.get("/v1/vms")
    assert (early.status_code, stranger.status_code, other.status_code) == (503, 401, 404)
    assert known.status_code == opened.status_code == 200
    assert known.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert "sesame" not in known.text + opened.text


@pytest.mark.anyio
async def test_the_page_and_its_documentation_have_the_same_metrics() -> None:
    async with running(parts()) as server:
        watched = Watched(server, "")
        watched.start()
        await watched.client.post("/v1/vms", json={"name": "web"})
        watched.gauges.has("operator", lambda: 1)
        await server.plane.snapshots.close(server.plane.region, server.plane.seq)  # keeps one
        told = {name[0] for name in await watched.look() if name[0].startswith("forewarn_")}
    assert {re.sub("_(bucket|count|sum)$", "", name) for name in told} == _DOCUMENTED


@pytest.mark.anyio
async def test_names_of_vms_and_odd_methods_make_no_series_of_their_own() -> None:
    async with running(parts()) as server:
        watched = Watched(server, "")
        watched.start()
        await watched.look()
        before = set(await watched.look())
        await watched.client.post("/v1/vms", json={"name": "web", "count": 50})
        few = set(await watched.look())
        for number in range(20):
            await watched.client.request(f"ODD{number}", f"/v1/vms/web-{number}")
        after = set(await watched.look())
    assert len(after) - len(before) < 10
    assert {name for name in after - few if name[0] == "forewarn_answers_total"} == {
        ("forewarn_answers_total", "operator", "other", "405")
    }
    assert "web-" not in str(after)
