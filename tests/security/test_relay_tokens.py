"""What whoever steals a relay's token can do: read and approve for that relay's VMs, and nothing else."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import BaseModel

from forewarn.core.commands import CreateVms, DeleteVms, Pulse, RestartVms
from forewarn.core.facts import EventScheduled
from forewarn.core.region import Region
from forewarn.core.specs import VmSpec
from forewarn.plane.clock import TurnableClock
from forewarn.plane.ports import Origin
from forewarn.server.assembly import Assembly, Parts, running
from forewarn.stores.memory import MemoryJournal
from forewarn.web.operator.app import operator_routes
from forewarn.web.operator.desk import Desk, ThePlane
from forewarn.web.operator.routes import relays
from forewarn.web.operator.schema.requests import Body
from tests.unit.web.operator.conftest import NOON
from tests.waiting import PATIENCE_SECONDS, until_in_loop

OWN = "sesame"
AT = "http://127.0.0.1:16926"
_VARIABLE = re.compile(r"\{[^}]*\}")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class StolenToken:
    """A region with two VMs, and a thief with the token of the relay that serves one of them."""

    def __init__(self, server: Assembly) -> None:
        self.server = server
        self._app = server.operator_app(metadata_url="")
        self.thief: httpx.AsyncClient

    def client(self, token: str) -> httpx.AsyncClient:
        fields = {"Authorization": f"Bearer {token}"}
        return httpx.AsyncClient(transport=httpx.ASGITransport(self._app), base_url=AT, headers=fields)

    async def relay(self, **which: object) -> httpx.AsyncClient:
        body = {"name": f"relay-{len(self.region.tokens)}", "role": "relay", **which}
        answer = await self.client(OWN).post("/v1/tokens", json=body)
        assert answer.status_code == 201, answer.text
        return self.client(answer.json()["token"])

    @property
    def desk(self) -> Desk:
        found: Desk = self._app.state.desk
        return found

    @property
    def region(self) -> Region:
        return self.server.plane.region

    async def event_of(self, vm: str) -> str:
        facts = await self.server.plane.submit(RestartVms((vm,), vm), Origin("operator"))
        return next(fact.event.id for fact in facts if isinstance(fact, EventScheduled))


@asynccontextmanager
async def stolen() -> AsyncIterator[StolenToken]:
    parts = Parts(journal=MemoryJournal(), clock_from=lambda _: TurnableClock(NOON), token=OWN, portal=True)
    async with running(parts) as server:
        await server.plane.submit(CreateVms(("mine", "other"), VmSpec(), "seed"), Origin("operator"))
        await server.plane.submit(Pulse((("mine", NOON), ("other", NOON))), Origin("vm"))
        found = StolenToken(server)
        found.thief = await found.relay(vms=["Mine"])
        yield found


@pytest.mark.anyio
async def test_no_other_route_takes_it() -> None:
    async with stolen() as region:
        before, asked = region.server.plane.seq, 0
        for route in operator_routes():
            if route.path.startswith("/v1/relays"):
                continue
            for method in route.methods or ():
                answer = await region.thief.request(method, _VARIABLE.sub("mine", route.path), json={})
                assert answer.status_code == 403, (method, route.path, answer.text)
                asked += 1
        for path in ("/portal/", "/portal/vms", "/openapi.json", "/metrics"):
            assert (await region.thief.get(path)).status_code == 403, path
        assert asked > 50
        assert region.server.plane.seq == before


@pytest.mark.anyio
async def test_no_route_of_relays_tells_of_another_vm_or_does_anything_for_it() -> None:
    async with stolen() as region:
        assert await _reached(region) == []


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/v1/relays/vms", "/v1/relays/delete", "/v1/relays/sizes"])
async def test_a_new_route_of_relays_that_asks_for_the_role_only_is_found_out(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = APIRouter(prefix="/v1/relays")
    planted.add_api_route("/vms", _list_all, methods=["GET"])
    planted.add_api_route("/delete", _delete_any, methods=["POST"])
    planted.add_api_route("/sizes", _resize_any, methods=["POST"])
    new = [route for route in planted.routes if isinstance(route, APIRoute) and route.path == path]
    monkeypatch.setattr(relays.router, "routes", [*relays.router.routes, *new])
    operator_routes.cache_clear()
    try:
        async with stolen() as region:
            assert [route for route, _ in await _reached(region)] == [path]
    finally:
        operator_routes.cache_clear()


async def _reached(region: StolenToken) -> list[tuple[str, str]]:
    """Routes below ``/v1/relays`` by which the thief gets at a VM that its token is not for, and how."""
    other = region.region.vms["other"]
    event = await region.event_of("other")
    words: dict[str, object] = {
        "vm": "other",
        "vms": ["other"],
        "host": region.region.hosts[other.host or 0].name,
        "events": [event],
        "reads": {"other": NOON.isoformat()},
        "request_id": "x",
        "ignore_unknown": False,
        "after": 0,
        "mark": "",
    }
    found = []
    for route in operator_routes():
        if not route.path.startswith("/v1/relays"):
            continue
        body = {}
        if route.body_field is not None:
            taken = route.body_field.field_info.annotation
            assert isinstance(taken, type)
            assert issubclass(taken, BaseModel)
            fields = taken.model_fields
            if unknown := fields.keys() - words.keys():
                found.append((route.path, f"this test does not know what it takes: {unknown}"))
                continue
            body = {name: words[name] for name in fields}
        before = _of_other(region)
        for method in route.methods or ():
            async with asyncio.timeout(20):
                answer = await region.thief.request(method, _VARIABLE.sub("other", route.path), json=body)
            assert answer.status_code < 500, answer.text
            if _of_other(region) != before:
                found.append((route.path, "it has changed something"))
            elif answer.status_code < 300 and "other" in answer.text:
                found.append((route.path, "it tells of it"))
    return found


def _of_other(region: StolenToken) -> object:
    plane = region.server.plane
    return plane.seq, plane.reads.last.get("other")


def _list_all(plane: ThePlane) -> list[str]:
    return [vm.name for vm in plane.region.vms.values()]


async def _delete_any(body: relays.FirstReadBody, plane: ThePlane) -> str:
    await plane.submit(DeleteVms((body.vm,), "thief"), Origin("operator"))
    return ""


class _Sizes(Body):
    size: str = ""


def _resize_any(body: _Sizes) -> str:
    return body.size


@pytest.mark.anyio
async def test_it_reads_and_approves_for_its_own_vms_alone() -> None:
    async with stolen() as region:
        mine, other = await region.event_of("mine"), await region.event_of("other")
        before = region.server.plane.seq
        refused = [
            await region.thief.post("/v1/relays/read", json={"vm": "other"}),
            await region.thief.post("/v1/relays/approve", json={"vm": "other", "events": [other]}),
            await region.thief.post("/v1/relays/stream", json={"vms": ["other"]}),
            await region.thief.post("/v1/relays/stream", json={"host": "host-0", "vms": ["mine", "other"]}),
        ]
        assert [answer.status_code for answer in refused] == [404, 404, 400, 400]
        foreign = await region.thief.post("/v1/relays/approve", json={"vm": "mine", "events": [other]})
        assert foreign.json()["refused"]  # an event of another scope is none that this VM can approve
        assert region.server.plane.seq == before
        answer = await region.thief.post("/v1/relays/approve", json={"vm": "mine", "events": [mine]})
        assert (answer.status_code, answer.json()["refused"]) == (200, "")
        assert region.region.events[mine].approved_at is not None
        assert region.region.events[other].approved_at is None


@pytest.mark.anyio
async def test_its_stream_tells_of_no_other_vm() -> None:
    async with stolen() as region:
        await region.event_of("other")
        line = await _first_line(region)
        told = json.loads(line)
        assert [each["vm"]["name"] for each in told["vms"]] == ["mine"]
        assert [each["key"] for each in told["scopes"]] == ["vm/mine"]
        assert b"other" not in line


@pytest.mark.anyio
async def test_reads_of_other_vms_and_of_the_future_are_not_believed() -> None:
    async with stolen() as region:
        late = (NOON + timedelta(days=400)).isoformat()
        answer = await region.thief.post("/v1/relays/reads", json={"reads": {"other": late, "mine": late, "x": late}})
        assert answer.status_code == 200
        assert region.server.plane.reads.last == {"mine": NOON}


@pytest.mark.anyio
async def test_a_token_to_relay_names_what_it_is_for_and_no_other_does() -> None:
    async with stolen() as region:
        before = region.server.plane.seq
        admin = region.client(OWN)
        for body in (
            {"name": "a", "role": "relay"},
            {"name": "a", "role": "read", "host": "host-0"},
            {"name": "a", "role": "relay", "vms": [f"vm-{number}" for number in range(1001)]},
        ):
            assert (await admin.post("/v1/tokens", json=body)).status_code == 400
        assert region.server.plane.seq == before


@pytest.mark.anyio
async def test_a_token_for_a_host_is_for_the_vms_that_are_there_now() -> None:
    async with stolen() as region:
        vm = region.region.vms["mine"]
        there = await region.relay(host=region.region.hosts[vm.host or 0].name)
        elsewhere = await region.relay(host="host-999")
        assert (await there.post("/v1/relays/read", json={"vm": "mine"})).status_code == 200
        assert (await elsewhere.post("/v1/relays/read", json={"vm": "mine"})).status_code == 404


@pytest.mark.anyio
async def test_a_stream_ends_with_the_token_that_it_began_with_whatever_its_role() -> None:
    async with stolen() as region:
        admin = region.client(OWN)
        tokens = {}
        for role in ("operate", "admin"):
            made = await admin.post("/v1/tokens", json={"name": f"an-{role}", "role": role})
            tokens[f"an-{role}"] = made.json()["token"]
        made = await admin.post("/v1/tokens", json={"name": "a-relay", "role": "relay", "vms": ["mine"]})
        tokens["a-relay"] = made.json()["token"]
        streams = {name: asyncio.create_task(_whole_stream(region, token)) for name, token in tokens.items()}
        stays = asyncio.create_task(_whole_stream(region, OWN))
        newsroom = region.desk.newsroom
        await until_in_loop(lambda: len(newsroom) == len(streams) + 1)
        for name, streaming in streams.items():
            assert not streaming.done()
            assert (await admin.delete(f"/v1/tokens/{name}")).status_code in (200, 204)
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert await streaming == 200
        assert (len(newsroom), stays.done()) == (1, False)  # that of the server's own token, which nobody can revoke
        stays.cancel()
        await asyncio.gather(stays, return_exceptions=True)


async def _whole_stream(region: StolenToken, token: str) -> int:
    """Its status, once it has ended: httpx's transport waits for that."""
    return (await region.client(token).post("/v1/relays/stream", json={"vms": ["mine"]}, timeout=None)).status_code


async def _first_line(region: StolenToken) -> bytes:
    """Of a stream that goes on: httpx's transport would wait for its end."""
    room = region.server.operator_app(metadata_url="")
    desk = room.state.desk
    from forewarn.web.operator.live.relays import RelayedVms

    stream = desk.newsroom.follow(RelayedVms(frozenset({"mine"})), desk.streams, lambda: True)
    async with asyncio.timeout(20):
        found: bytes = await anext(stream)
    await stream.aclose()
    return found
