"""Tokens with roles: what each may do at every control face, and that revoking one ends it everywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from forewarn.plane.clock import TurnableClock
from forewarn.server.assembly import Assembly, Parts, running
from forewarn.stores.memory import MemoryJournal
from tests.unit.web.operator.conftest import NOON

OWN = "sesame"
AT = "http://127.0.0.1:16926"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Guarded:
    """A server with a token of its own, and clients with others."""

    def __init__(self, server: Assembly) -> None:
        self.server = server
        self._app = server.operator_app(metadata_url="")

    def client(self, token: str = OWN) -> httpx.AsyncClient:
        fields = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(transport=httpx.ASGITransport(self._app), base_url=AT, headers=fields)

    async def make(self, name: str, role: str) -> str:
        answer = await self.client().post("/v1/tokens", json={"name": name, "role": role})
        assert answer.status_code == 201, answer.text
        token: str = answer.json()["token"]
        return token

    async def signed_in(self, token: str) -> httpx.AsyncClient:
        browser = self.client("")
        browser.headers["Origin"] = AT
        answer = await browser.post("/portal/sign-in", data={"token": token, "name": "somebody", "back": ""})
        assert answer.status_code == 303, answer.text
        return browser


@asynccontextmanager
async def guarded(token: str = OWN) -> AsyncIterator[Guarded]:
    parts = Parts(journal=MemoryJournal(), clock_from=lambda _: TurnableClock(NOON), token=token, portal=True)
    async with running(parts) as server:
        yield Guarded(server)


ASKED: list[tuple[str, str, dict[str, Any] | None]] = [
    ("GET", "/v1/vms", None),
    ("GET", "/metrics/none", None),
    ("POST", "/v1/vms", {"name": "web"}),
    ("POST", "/v1/vms?dry_run=true", {"name": "web"}),
    ("DELETE", "/v1/faults", None),
    ("GET", "/v1/tokens", None),
    ("POST", "/v1/tokens", {"name": "eve", "role": "admin"}),
    ("DELETE", "/v1/tokens/nobody", None),
]
ALLOWED = {"read": 2, "operate": 5, "admin": 8}  # how many of these, from the first


@pytest.mark.anyio
@pytest.mark.parametrize("role", list(ALLOWED))
async def test_a_token_does_what_its_role_may_and_nothing_more(role: str) -> None:
    async with guarded() as region:
        client = region.client(await region.make("anna", role))
        before = region.server.plane.seq
        for number, (method, path, body) in enumerate(ASKED):
            answer = await client.request(method, path, json=body)
            refused = number >= ALLOWED[role]
            assert (answer.status_code == 403) is refused, (method, path, answer.text)
            if refused:
                assert answer.json()["error"]["kind"] == "forbidden"
                assert region.server.plane.seq == before
            before = region.server.plane.seq


@pytest.mark.anyio
async def test_a_revoked_token_and_its_session_hold_no_more() -> None:
    async with guarded() as region:
        token = await region.make("anna", "operate")
        client, browser = region.client(token), await region.signed_in(token)
        assert (await browser.get("/portal/vms")).status_code == 200
        assert (await client.get("/v1/vms")).status_code == 200
        assert (await region.client().delete("/v1/tokens/ANNA")).json()["revoked"] == "anna"
        assert (await client.get("/v1/vms")).status_code == 401
        left = await browser.get("/portal/vms")
        assert (left.status_code, left.headers["location"][:15]) == (303, "/portal/sign-in")
        assert (await region.client().get("/v1/vms")).status_code == 200


@pytest.mark.anyio
async def test_activity_has_the_name_of_the_token_whatever_its_bearer_says() -> None:
    async with guarded() as region:
        client = region.client(await region.make("anna", "operate"))
        await client.post("/v1/vms", json={"name": "web"}, headers={"X-Forewarn-Client": "bert"})
        browser = await region.signed_in(await region.make("carl", "operate"))
        page = (await browser.get("/portal/do/stop?vm=web")).text
        seen = page.partition('name="seen" value="')[2].partition('"')[0]
        assert (await browser.post("/portal/do/stop", data={"vm": "web", "seen": seen})).status_code == 303
        records = region.server.plane.journal.read(0, 100)
        said = {record.command: record.origin.who for record in records}
    assert said["CreateVms"] == "anna (bert)"
    assert said["StopVms"] == "carl"


@pytest.mark.anyio
async def test_the_journal_and_the_answers_hold_no_token() -> None:
    async with guarded() as region:
        token = await region.make("anna", "read")
        secret = token.rpartition("-")[2]
        listed = (await region.client().get("/v1/tokens")).text
        everything = str(region.server.plane.journal.read(0, 100)) + str(region.server.plane.region.tokens) + listed
    assert len(secret) == 64
    assert secret not in everything
    assert "anna" in listed


@pytest.mark.anyio
@pytest.mark.parametrize(
    "change", [lambda token: token[:-1], lambda token: f"{token}0", lambda token: token[:17] + "0" * 64]
)
async def test_a_token_that_is_nearly_right_opens_nothing(change: Any) -> None:
    async with guarded() as region:
        token = await region.make("anna", "admin")
        assert (await region.client(change(token)).get("/v1/vms")).status_code == 401


@pytest.mark.anyio
async def test_a_server_that_asks_for_no_token_makes_none() -> None:
    async with guarded("") as region:
        answer = await region.client().post("/v1/tokens", json={"name": "anna"})
        assert answer.status_code == 409
        assert "FOREWARN_TOKEN" in answer.json()["error"]["message"]
        assert not region.server.plane.region.tokens


@pytest.mark.anyio
async def test_a_reader_sees_no_buttons_in_the_portal_and_can_do_nothing_by_address() -> None:
    async with guarded() as region:
        admin = region.client()
        await admin.post("/v1/vms", json={"name": "web", "count": 3, "availability_set": "front"})
        await region.server.plane.enable(region.server.plane.region.vms["web-0"])
        await admin.post("/v1/vms/restart", json={"names": ["web-0"]})
        (event,) = (await admin.get("/v1/events")).json()["events"]
        reader = await region.signed_in(await region.make("anna", "read"))
        worker = await region.signed_in(await region.make("bert", "operate"))
        pages = ("", "events", f"events/{event['id']}", "vms", "vms/web-0", "hosts", "hosts/host-0", "campaigns")
        for page in (*pages, "scale-sets", "availability-sets", "faults", "activity", "settings", "nodes"):
            seen = await reader.get(f"/portal/{page}")
            assert seen.status_code == 200, page
            for sign in ('href="/portal/do', 'formaction="/portal/do', 'href="/portal/new', "/portal/tokens"):
                assert sign not in seen.text, (page, sign)
        assert 'formaction="/portal/do' in (await worker.get("/portal/vms")).text
        before = region.server.plane.seq
        assert (await reader.get("/portal/do/stop?vm=web-0")).status_code == 403
        assert (await reader.post("/portal/do/stop", data={"vm": "web-0"})).status_code == 403
        assert (await reader.get("/portal/tokens")).status_code == 403
        assert (await worker.get("/portal/tokens")).status_code == 403
        assert region.server.plane.seq == before
        sovereign = await region.signed_in(OWN)
        assert "bert" in (await sovereign.get("/portal/tokens")).text


@pytest.mark.anyio
async def test_a_session_makes_no_token_that_would_outlive_it() -> None:
    """Whoever copies a cookie, or finds a browser open, has it for hours; a token would be for ever."""
    async with guarded() as region:
        session = await region.signed_in(OWN)
        before = region.server.plane.seq
        wish = {"name": "eve", "role": "admin"}
        answers = [await session.post("/v1/tokens", json=wish), await session.post("/portal/tokens", data=wish)]
        assert [answer.status_code for answer in answers] == [403, 403]
        assert region.server.plane.seq == before


@pytest.mark.anyio
async def test_the_resource_manager_takes_a_token_as_client_secret_and_goes_by_its_role() -> None:
    async with guarded() as region:
        tokens = {role: await region.make(role, role) for role in ("read", "operate")}
        async with region.server.resource_manager(hosts=("arm.test",)) as (_, app):
            asking = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="https://arm.test")

            async def log_in(secret: str) -> httpx.Response:
                form = {"grant_type": "client_credentials", "client_id": "x", "client_secret": secret}
                return await asking.post("/tenant/oauth2/v2.0/token", data=form)

            assert (await log_in("guess")).status_code == 401
            bearers = {role: (await log_in(token)).json()["access_token"] for role, token in tokens.items()}
            version = "?api-version=2021-04-01"
            group = f"/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/rg{version}"
            answers = {}
            for role, bearer in bearers.items():
                fields = {"Authorization": f"Bearer {bearer}"}
                looked = await asking.get(f"/subscriptions{version}", headers=fields)
                put = await asking.put(group, json={"location": "local"}, headers=fields)
                answers[role] = (looked.status_code, put.status_code)
            await region.client().delete("/v1/tokens/operate")
            fields = {"Authorization": f"Bearer {bearers['operate']}"}
            ended = await asking.get(f"/subscriptions{version}", headers=fields)
    assert answers["read"] == (200, 403)
    assert answers["operate"][0] == 200
    assert answers["operate"][1] != 403
    assert ended.status_code == 401
