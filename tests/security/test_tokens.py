"""The operator's token: no way round it by spelling, and nothing is told before it is shown."""

from __future__ import annotations

import pytest

from forewarn.plane.system import SYSTEM
from tests.unit.web.operator.conftest import open_bench


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


PATHS = [
    "/metadata/../v1/vms",
    "/metadata/%2e%2e/v1/vms",
    "/metadata/..%2fv1/vms",
    "/metadata//v1/vms",
    "//metadata/../v1/vms",
    "/metadata/%2E%2E%2Fv1%2Fvms",
    "/metadata/\\..\\v1\\vms",
    "/v1/vms/",
    "/V1/vms",
    "//v1/vms",
    "/v1/vms%00",
    "/v1/vms;x",
    "/v1/vms?token=sesame",
    "/openapi.json",
    "/docs",
]
SHOWN = [
    "",
    "Bearer",
    "Bearer ",
    "Bearer x",
    "Basic sesame",
    "sesame",
    "Bearer sesam",
    "Bearer sesamee",
    "Bearer SESAME",
]


@pytest.mark.anyio
@pytest.mark.parametrize("path", PATHS)
async def test_no_spelling_of_a_path_passes_without_the_token(path: str) -> None:
    async with open_bench(token="sesame") as bench:
        answer = await bench.client.get(path)
        assert answer.status_code in (401, 404)
        assert "vms" not in answer.json().get("error", {}).get("message", "") or answer.status_code == 404
        assert "items" not in answer.text


@pytest.mark.anyio
@pytest.mark.parametrize("shown", SHOWN)
async def test_nothing_but_the_token_is_the_token(shown: str) -> None:
    async with open_bench(token="sesame") as bench:
        answer = await bench.client.get("/v1/vms", headers={"Authorization": shown})
        assert answer.status_code == 401
        assert (await bench.client.get("/v1/vms", headers={"Authorization": "Bearer sesame"})).status_code == 200


@pytest.mark.anyio
async def test_a_body_is_not_read_before_the_token_was_shown() -> None:
    """Who has no token cannot make the server hold four megabytes, nor learn how a body would be judged."""
    async with open_bench(token="sesame") as bench:
        for body in (b"{", b"x" * 5_000_000):
            answer = await bench.client.post("/v1/vms", content=body)
            assert answer.status_code == 401


@pytest.mark.anyio
async def test_equal_requests_make_events_with_ids_that_differ() -> None:
    """An event's id is a hash over a seed of 122 random bits that nobody is told."""
    assert len({SYSTEM.new_guid() for _ in range(1000)}) == 1000
    async with open_bench() as bench:
        ids = set()
        for name in ("a", "b", "c"):
            await bench.create(name)
            await bench.read(name)
            ids |= {event["id"] for event in (await bench.post("/v1/vms/restart", {"names": [name]}, 202))["events"]}
        assert len(ids) == 3
        assert not {each.split("-")[0] for each in ids} & {""}
