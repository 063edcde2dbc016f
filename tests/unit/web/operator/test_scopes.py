"""Scopes: who reads, and their policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


async def test_a_scope_tells_whether_anybody_reads(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="Front")
    before = await bench.get("/v1/scopes/availability-set/front")
    await bench.read("web-0")
    event_id = (await bench.post("/v1/vms/restart", {"names": ["web-1"]}, 202))["events"][0]["id"]
    after = await bench.get("/v1/scopes/Availability-Set/FRONT")

    assert before == {
        "key": "availability-set/front",
        "kind": "availability-set",
        "name": "Front",
        "resource_group": "forewarn",
        "enabled_at": None,
        "last_read_at": None,
        "incarnation": 0,
        "vms": 2,
        "events": [],
        "policy": {"auto_approve_reboot": False, "auto_approve_redeploy": False, "all_instances_down": True},
    }
    assert after == before | {
        "enabled_at": "2026-01-01T12:00:00Z",
        "last_read_at": "2026-01-01T12:00:00Z",
        "incarnation": 2,
        "events": [event_id],
    }


async def test_a_lone_vm_can_be_shown_as_a_scope_and_is_listed_once_it_reads(bench: Bench) -> None:
    await bench.create("Lone")
    assert (await bench.get("/v1/scopes/vm/lone"))["vms"] == 1
    assert (await bench.get("/v1/scopes"))["scopes"] == []
    await bench.read("lone")
    assert [scope["key"] for scope in (await bench.get("/v1/scopes"))["scopes"]] == ["vm/lone"]


async def test_scopes_come_in_pages(bench: Bench) -> None:
    for name in ("c", "a", "b"):
        await bench.create(f"in-{name}", availability_set=name)
    first = await bench.get("/v1/scopes", limit=2)
    second = await bench.get("/v1/scopes", limit=2, after=first["next"])
    assert [scope["name"] for scope in first["scopes"] + second["scopes"]] == ["a", "b", "c"]
    assert second["next"] is None


async def test_a_policy_is_replaced_as_a_whole(bench: Bench) -> None:
    await bench.create("lone")
    path = "/v1/scopes/vm/lone/policy"
    one = (await bench.client.put(path, json={"auto_approve_reboot": True, "all_instances_down": False})).json()
    two = (await bench.client.put(path, json={"auto_approve_redeploy": True})).json()

    wanted = {"auto_approve_reboot": True, "auto_approve_redeploy": False, "all_instances_down": False}
    assert one["policy"] == wanted
    wanted = {"auto_approve_reboot": False, "auto_approve_redeploy": True, "all_instances_down": True}
    assert two["policy"] == wanted
    assert (await bench.get("/v1/scopes/vm/lone"))["policy"] == wanted


async def test_a_scope_that_is_not_there_is_refused(bench: Bench) -> None:
    await bench.create("web", availability_set="front")
    for path in ("/v1/scopes/vm/nobody", "/v1/scopes/vm/web", "/v1/scopes/planet/front"):
        await bench.refused(404, "GET", path)
        await bench.refused(404, "PUT", f"{path}/policy", {})
    await bench.refused(404, "GET", "/v1/vms", params={"scope": "vm/nobody"})
    await bench.refused(404, "GET", "/v1/events", params={"scope": "front"})
