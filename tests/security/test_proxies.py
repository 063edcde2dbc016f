"""A proxy before the control faces: believed where it was named, and then no more than a Host header would be."""

from __future__ import annotations

from ipaddress import ip_network

import httpx
import pytest

from forewarn.web.forwarded import Forwarded
from forewarn.web.health import LIVE, READY, HealthPaths, NodeHealth
from tests.unit.web.operator.conftest import open_bench

PROXY, STRANGER = ("192.0.2.1", 1), ("192.0.2.99", 1)
TRUSTED = [ip_network("192.0.2.0/28")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("client", "fields", "status"),
    [
        (STRANGER, {"Host": "evil.example", "X-Forwarded-Host": "localhost"}, 400),
        (STRANGER, {"Host": "localhost", "X-Forwarded-Host": "evil.example"}, 200),
        (PROXY, {"Host": "10.0.0.7:1", "X-Forwarded-Host": "localhost"}, 200),
        (PROXY, {"Host": "localhost", "X-Forwarded-Host": "evil.example"}, 400),
        (PROXY, {"Host": "localhost", "X-Forwarded-Host": "localhost, evil.example"}, 400),
        (PROXY, {"Host": "localhost", "X-Forwarded-Host": "localhost/x"}, 400),
        (PROXY, {"Host": "localhost", "X-Forwarded-Host": "localhost", "Authorization": "Bearer x"}, 401),
    ],
)
async def test_what_a_proxy_says_counts_only_from_one_that_was_named_and_is_checked_all_the_same(
    client: tuple[str, int], fields: dict[str, str], status: int
) -> None:
    async with open_bench(token="sesame") as bench:
        transport = httpx.ASGITransport(Forwarded(bench.app, TRUSTED), client=client)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking:
            answer = await asking.get("/v1/vms", headers={"Authorization": "Bearer sesame", **fields})
        assert answer.status_code == status


@pytest.mark.anyio
async def test_health_pages_need_no_token_and_tell_no_secret() -> None:
    async with open_bench(token="sesame") as bench:
        await bench.client.post("/v1/vms", json={"name": "web"}, headers={"Authorization": "Bearer sesame"})
        health = NodeHealth()
        health.started(bench.plane)
        transport = httpx.ASGITransport(HealthPaths(bench.app, health))
        async with httpx.AsyncClient(transport=transport, base_url="http://evil.example") as asking:
            told = [(await asking.get(path)).json() for path in (LIVE, READY)]
            others = [
                (await asking.get(path)).status_code for path in ("/health", "/health/live/", "/health/../v1/vms")
            ]
    assert [set(each) for each in told] == [{"status"}, {"status", "seq", "leads", "reasons"}]
    assert "web" not in str(told)
    assert set(others) <= {400, 401, 404}
