"""The journal by cursor, and its verification."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


async def test_the_journal_is_read_by_cursor_to_its_head(bench: Bench) -> None:
    await bench.create("web", count=4, availability_set="front")
    seen: list[int] = []
    while True:
        page = await bench.get("/v1/journal", after=seen[-1] if seen else 0, limit=3)
        assert page["head"] == bench.plane.seq
        seen += [record["seq"] for record in page["records"]]
        if seen[-1] == page["head"]:
            break

    assert seen == list(range(1, bench.plane.seq + 1))
    beyond = await bench.get("/v1/journal", after=10**6)
    assert beyond == {"records": [], "head": bench.plane.seq}


async def test_a_record_tells_what_happened_who_asked_and_by_which_request(bench: Bench) -> None:
    answer = await bench.client.post("/v1/vms", json={"name": "Lone"}, headers={"User-Agent": "curl/8\t \x7f"})

    record = (await bench.get("/v1/journal"))["records"][-1]

    body = record.pop("body")
    assert record == {
        "seq": bench.plane.seq,
        "at": "2026-01-01T12:00:00Z",
        "fact": "VmCreated",
        "subject": "vm/lone",
        "command": "CreateVms",
        "door": "operator",
        "who": "curl/8",
        "request_id": answer.headers["X-Request-Id"],
    }
    assert body["name"] == "Lone"
    assert not {"at", "fact"} & set(body)


async def test_what_a_caller_says_of_itself_is_kept_short(bench: Bench) -> None:
    await bench.client.post("/v1/vms", json={"name": "lone"}, headers={"X-Forewarn-Client": "x" * 5000})
    assert (await bench.get("/v1/journal"))["records"][-1]["who"] == "x" * 100


async def test_the_journal_tells_the_story_of_one_thing(bench: Bench) -> None:
    await bench.create("web", count=2)
    await bench.read("web-0")
    event_id = (await bench.post("/v1/vms/restart", {"names": ["web-0"]}, 202))["events"][0]["id"]
    await bench.post("/v1/events/approve", {"ids": [event_id]})
    await bench.settled()

    event = await bench.get("/v1/journal", about=event_id.lower())
    vm = await bench.get("/v1/journal", about="vm/WEB-1")

    facts = [record["fact"] for record in event["records"]]
    assert facts == ["EventScheduled", "EventApproved", "EventStarted", "ImpactBegan"]
    assert [record["fact"] for record in vm["records"]] == ["VmCreated"]
    rest = await bench.get("/v1/journal", about=event_id, after=event["records"][1]["seq"], limit=1)
    assert [record["fact"] for record in rest["records"]] == ["EventStarted"]
    assert (await bench.get("/v1/journal", about="vm/nobody"))["records"] == []


async def test_a_sound_journal_is_verified(bench: Bench) -> None:
    await bench.create("web", count=2)
    assert await bench.post("/v1/journal/verify") == {"faults": [], "records": bench.plane.seq}


async def test_cursors_that_are_none_are_refused(bench: Bench) -> None:
    for query in ({"after": -1}, {"after": "x"}, {"limit": 0}, {"limit": 10_001}, {"abuot": "vm/web"}):
        (name,) = query
        assert f"'{name}'" in await bench.refused(400, "GET", "/v1/journal", params=query)
