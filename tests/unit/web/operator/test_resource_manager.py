"""What the operator face tells of the Resource Manager, and hands to its clients over plain http."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from forewarn.plane.clock import TurnableClock
from forewarn.server.assembly import Parts, assemble
from forewarn.stores.memory import MemoryJournal
from forewarn.web.documents.whereabouts import SUBSCRIPTION, TENANT
from forewarn.web.resource_manager.call import ArmDesk
from forewarn.web.resource_manager.login.access import Access
from forewarn.web.resource_manager.login.tokens import introduction
from tests.unit.web.operator.conftest import NOON, Bench

pytestmark = pytest.mark.anyio
URL = "https://127.0.0.1:16927"
IDENTITY = "/metadata/identity/oauth2/token?resource=x"


@asynccontextmanager
async def open_client(token: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    parts = Parts(journal=MemoryJournal(), clock_from=lambda _: TurnableClock(NOON), token=token or "")
    server = await assemble(parts)
    introduced = introduction(URL, "PEM", ArmDesk(server.plane, access=Access(parts.token)))
    app = server.operator_app(metadata_url="", hosts=("operator.test",), resource_manager=introduced)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:16926") as client:
        yield client


async def test_the_api_tells_where_the_resource_manager_is(anyio_backend: str) -> None:
    async with open_client() as client:
        found = (await client.get("/v1/resource-manager")).json()

    assert found == {
        "url": URL,
        "authority_pem": "PEM",
        "cloud": "Forewarn",
        "subscription": SUBSCRIPTION,
        "tenant": TENANT,
        "location": "local",
        "token_path": "/metadata/identity/oauth2/token",
    }


async def test_a_server_without_one_says_so(bench: Bench) -> None:
    assert "resource_manager is off" in await bench.refused(404, "GET", "/v1/resource-manager")
    await bench.refused(404, "GET", IDENTITY, headers={"Metadata": "true"})


async def test_an_identity_gets_its_token_over_http(anyio_backend: str) -> None:
    async with open_client() as client:
        found = await client.get(IDENTITY, headers={"Metadata": "true"})
        refused = await client.get(IDENTITY)
        elsewhere = await client.get(IDENTITY, headers={"Metadata": "true", "Host": "operator.test"})
        rebound = await client.get(IDENTITY, headers={"Metadata": "true", "Host": "evil.example"})

    assert found.json()["access_token"].count(".") == 2
    assert [each.status_code for each in (found, refused, elsewhere, rebound)] == [200, 400, 400, 400]


async def test_the_endpoints_are_a_list_where_one_is_asked_for(anyio_backend: str) -> None:
    async with open_client() as client:
        (found,) = (await client.get("/metadata/endpoints?list=1")).json()
        assert found == (await client.get("/metadata/endpoints")).json()

    assert found["resourceManager"] == URL


async def test_with_a_token_only_who_knows_it_gets_an_identity(anyio_backend: str) -> None:
    async with open_client("sesame") as client:
        assert (await client.get("/v1/resource-manager")).status_code == 401
        assert (await client.get(IDENTITY, headers={"Metadata": "true"})).status_code == 401
        assert (await client.get(IDENTITY, headers={"X-IDENTITY-HEADER": "sesame"})).status_code == 200


async def test_who_knows_the_token_gets_an_identity_through_a_balancer_too(anyio_backend: str) -> None:
    async with open_client("sesame") as client:
        afar = {"Host": "operator.test"}
        assert (await client.get(IDENTITY, headers={**afar, "X-IDENTITY-HEADER": "sesame"})).status_code == 200
        assert (await client.get(IDENTITY, headers={**afar, "Metadata": "true"})).status_code == 401
