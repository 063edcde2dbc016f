"""What a VM sees, shown by looking: the metadata face's own bytes, and the region does not notice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest

from forewarn.core.rules import Rules
from forewarn.plane.clock import TurnableClock
from forewarn.server.assembly import Parts, running
from forewarn.stores.memory import MemoryJournal
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.wire.versions import API_VERSIONS, IMDS_VERSIONS
from tests.unit.web.apps import reused
from tests.unit.web.operator.conftest import NOON, Bench, OpenBench

pytestmark = pytest.mark.anyio
DATES = [version.date for version in API_VERSIONS]


class Both:
    """An operator at the control face, and a guest at the metadata face's socket."""

    def __init__(self, bench: Bench, guest: httpx.AsyncClient) -> None:
        self.bench = bench
        self.guest = guest

    async def told(self, name: str, version: str, what: str = "scheduledevents") -> httpx.Response:
        """What the guest gets."""
        path = f"/vm/{name}/metadata/{what}?api-version={version}"
        answer = await self.guest.get(path, headers={"Metadata": "true"})
        assert answer.status_code == 200, answer.text
        return answer

    async def shown(self, name: str, version: str, what: str = "document") -> httpx.Response:
        """What the operator is shown of it; nothing may have changed by that."""
        plane = self.bench.plane
        before = plane.seq, plane.region, plane.now(), dict(plane.reads.last)
        answer = await self.bench.client.get(f"/v1/vms/{name}/{what}", params={"api-version": version})
        assert answer.status_code == 200, answer.text
        assert before == (plane.seq, plane.region, plane.now(), dict(plane.reads.last))
        return answer


@asynccontextmanager
async def both(metadata: MetadataSettings | None = None) -> AsyncIterator[Both]:
    parts = Parts(
        journal=MemoryJournal(),
        clock_from=lambda _: TurnableClock(NOON),
        rules=Rules(vms_per_host=4),
        metadata=metadata or MetadataSettings(),
    )
    async with running(parts) as server:
        face = server.metadata_face()
        await face.start("127.0.0.1", 0)
        url = f"http://127.0.0.1:{face.port}"
        app = reused(server.operator_app(metadata_url=url, visible=face.visible), (), None)
        try:
            async with (
                httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:16926") as client,
                httpx.AsyncClient(base_url=url) as guest,
            ):
                yield Both(Bench(server.plane, app, client), guest)
        finally:
            await face.close()


@pytest.fixture
async def faces(anyio_backend: str) -> AsyncIterator[Both]:
    async with both() as opened:
        yield opened


async def _lively(bench: Bench) -> None:
    """A region in which every kind of event is pending for somebody."""
    await bench.create("web", count=3, availability_set="front", terminate_notice_seconds=600)
    await bench.create("shop", count=2, cloud_service="shop", role="FrontEnd")
    await bench.create("cheap", spot=True)
    await bench.read("web-0", "shop-0", "cheap")
    await bench.post("/v1/vms/restart", {"names": ["web-0", "shop-1"]}, 202)
    await bench.post("/v1/vms/redeploy", {"names": ["web-1"]}, 202)
    await bench.post("/v1/vms/delete", {"names": ["web-2"]}, 202)
    await bench.post("/v1/vms/evict", {"names": ["cheap"]}, 202)
    (event,) = (await bench.get("/v1/events", vm="web-0"))["events"]
    await bench.post("/v1/events/approve", {"ids": [event["id"]]})
    await bench.settled()


@pytest.mark.parametrize("version", DATES)
async def test_the_document_is_byte_for_byte_what_the_metadata_face_sends(faces: Both, version: str) -> None:
    await _lively(faces.bench)
    for name in ("web-0", "web-2", "shop-0", "cheap"):
        shown = await faces.shown(name, version)
        told = await faces.told(name, version)
        assert shown.content == told.content
        for field in ("ETag", "Content-Type", "Content-Length"):
            assert shown.headers[field] == told.headers[field], field
        assert shown.headers["X-Forewarn-Enabled"] == "true"


@pytest.mark.parametrize("version", ["2017-04-02", "2021-02-01", IMDS_VERSIONS[-1]])
async def test_the_instance_metadata_is_byte_for_byte_what_the_metadata_face_sends(faces: Both, version: str) -> None:
    await _lively(faces.bench)
    for name in ("web-0", "shop-0", "cheap"):
        shown, told = await faces.shown(name, version, "instance"), await faces.told(name, version, "instance")
        assert shown.content == told.content
        assert shown.headers["Content-Type"] == told.headers["Content-Type"]


@pytest.mark.parametrize("version", DATES)
async def test_for_a_scope_that_is_not_enabled_it_is_the_document_of_the_first_read_and_the_scope_stays_disabled(
    faces: Both, version: str
) -> None:
    await faces.bench.create("web", count=2, availability_set="front")
    await faces.bench.create("db")
    await faces.bench.read("db")  # for whom the host's work waits, and so web-0 has something ahead
    await faces.bench.post("/v1/hosts/maintain", {"hosts": ["host-0"], "kind": "freeze"}, 202)

    for _ in range(3):
        shown = await faces.shown("web-0", version)
        assert shown.headers["X-Forewarn-Enabled"] == "false"
        assert shown.headers["X-Forewarn-Scope"] == "availability-set/front"
        assert b'"EventType":"Freeze"' in shown.content
    scopes = {scope["key"]: scope for scope in (await faces.bench.get("/v1/scopes"))["scopes"]}
    restarted = await faces.bench.post("/v1/vms/restart", {"names": ["web-1"]}, 202)

    front = scopes["availability-set/front"]
    assert (front["enabled_at"], front["last_read_at"]) == (None, None)
    assert restarted["events"] == []
    shown = await faces.shown("web-0", version)
    assert shown.content == (await faces.told("web-0", version)).content


async def test_a_read_that_is_only_looked_at_does_not_put_off_the_end_of_an_enabling(faces: Both) -> None:
    await faces.bench.create("db")
    await faces.told("db", DATES[-1])
    await faces.bench.post("/v1/clock/advance", {"seconds": 23 * 3600})
    await faces.shown("db", DATES[-1])
    await faces.bench.post("/v1/clock/advance", {"seconds": 2 * 3600})

    (scope,) = (await faces.bench.get("/v1/scopes"))["scopes"]
    assert scope["enabled_at"] is None


async def test_with_a_visibility_lag_it_is_what_the_guests_may_see_already() -> None:
    async with both(MetadataSettings(visibility_lag=timedelta(minutes=1))) as faces:
        await faces.bench.create("db")
        await faces.told("db", DATES[-1])
        await faces.bench.post("/v1/vms/restart", {"names": ["db"]}, 202)
        early = await faces.shown("db", DATES[-1])
        assert early.content == (await faces.told("db", DATES[-1])).content == b'{"DocumentIncarnation":1,"Events":[]}'

        await faces.bench.post("/v1/clock/advance", {"seconds": 61})

        late = await faces.shown("db", DATES[-1])
        assert late.content == (await faces.told("db", DATES[-1])).content
        assert late.headers["ETag"] == '"2"'


async def test_the_times_are_written_as_the_metadata_face_is_told_to() -> None:
    async with both(MetadataSettings(not_before_format="iso8601")) as faces:
        await _lively(faces.bench)
        shown = await faces.shown("web-1", DATES[-1])
        assert shown.content == (await faces.told("web-1", DATES[-1])).content
        assert b"2026-01-01T12:" in shown.content


async def test_who_reads_is_told_of_a_vm_that_is_asked_about_and_of_no_other(faces: Both) -> None:
    await faces.bench.create("web", count=2)
    path = "/vm/{}/metadata/scheduledevents?api-version={}"

    async def read(name: str, version: str, **fields: str) -> int:
        return (await faces.guest.get(path.format(name, version), headers={"Metadata": "true", **fields})).status_code

    async def noted(name: str) -> list[tuple[Any, ...]]:
        reads = (await faces.bench.get(f"/v1/vms/{name}/reads"))["reads"]
        assert all(each["at"] == "2026-01-01T12:00:00Z" and each["seconds_ago"] >= 0 for each in reads)
        return [(each["incarnation"], each["api_version"], each["status"], each["client"]) for each in reads]

    words = {"User-Agent": "curl/8"}
    for _ in range(3):  # the last two are the same words again, which are answered from memory
        assert await read("web-0", "2020-07-01", **words) == 200
    assert await noted("WEB-0") == []

    assert await read("web-0", "2020-07-01", **words) == 200
    assert await read("web-0", "2019-01-01", **{"User-Agent": "", "If-None-Match": '"1"'}) == 304
    await faces.bench.post("/v1/faults", {"kind": "gone", "vms": ["web-0"], "times": 1}, 201)
    assert await read("web-0", "2020-07-01", **words) == 410
    assert await read("web-1", "2020-07-01", **words) == 200

    seen = [
        (None, "2020-07-01", 410, "curl/8"),
        (1, "2019-01-01", 304, ""),
        (1, "2020-07-01", 200, "curl/8"),
    ]
    assert await noted("web-0") == seen
    assert await noted("web-1") == []
    assert await read("web-1", "2017-11-01", **words) == 200
    assert await noted("web-1") == [(1, "2017-11-01", 200, "curl/8")]
    assert await noted("web-0") == seen


async def test_a_read_that_waits_for_news_is_noted_with_what_it_got(faces: Both) -> None:
    await faces.bench.create("db")
    await faces.bench.get("/v1/vms/db/reads")
    await faces.told("db", DATES[-1])  # the first, which enables the scope
    waiting = {"Metadata": "true", "If-None-Match": '"1"', "Prefer": "wait=60"}
    path = f"/vm/db/metadata/scheduledevents?api-version={DATES[-1]}"
    async with asyncio.TaskGroup() as tasks:
        held = tasks.create_task(faces.guest.get(path, headers=waiting))
        await faces.bench.post("/v1/vms/restart", {"names": ["db"]}, 202)

    reads = (await faces.bench.get("/v1/vms/db/reads"))["reads"]
    assert held.result().headers["ETag"] == '"2"'
    assert [(each["incarnation"], each["status"]) for each in reads] == [(2, 200), (1, 200)]


@pytest.mark.parametrize(
    ("what", "query", "status", "word"),
    [
        ("nobody/document", {}, 404, "nobody"),
        ("nobody/instance", {}, 404, "nobody"),
        ("nobody/reads", {}, 404, "nobody"),
        ("db/document", {"api-version": "2021-02-01"}, 400, "2020-07-01"),
        ("db/instance", {"api-version": "1999-01-01"}, 400, IMDS_VERSIONS[-1]),
        ("db/document", {"format": "text"}, 400, "format"),
    ],
)
async def test_what_cannot_be_shown_is_refused(
    bench: Bench, what: str, query: dict[str, Any], status: int, word: str
) -> None:
    await bench.create("db")
    assert word in await bench.refused(status, "GET", f"/v1/vms/{what}", params=query)


async def test_a_node_without_a_metadata_face_knows_no_reads(open_bench: OpenBench) -> None:
    async with open_bench(metadata_url="") as bench:
        await bench.create("db")
        assert "no metadata face" in await bench.refused(409, "GET", "/v1/vms/db/reads")
        assert not bench.app.state.desk.watched.names
