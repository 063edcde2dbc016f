"""Events: lists, stories, approval, cancellation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from forewarn.core.refusal import Hint, Refused
from forewarn.web.operator.desk import look_at
from forewarn.web.operator.history.past_events import past_events

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


async def scheduled(bench: Bench, *names: str) -> list[str]:
    """Restart VMs that are read for; the ids of their events."""
    for name in names:
        await bench.create(name)
    await bench.read(*names)
    outcome = await bench.post("/v1/vms/restart", {"names": list(names)}, 202)
    return [event["id"] for event in outcome["events"]]


async def test_events_are_listed_oldest_first_in_pages_by_scope_and_by_vm(bench: Bench) -> None:
    ids = []
    for name in ("one", "two", "three"):
        ids += await scheduled(bench, name)
        await bench.post("/v1/clock/advance", {"seconds": 1})

    first = await bench.get("/v1/events", limit=2)
    second = await bench.get("/v1/events", limit=2, after=first["next"])

    assert [event["id"] for event in first["events"] + second["events"]] == ids
    assert second["next"] is None
    assert [event["id"] for event in (await bench.get("/v1/events", vm="TWO"))["events"]] == [ids[1]]
    assert [event["id"] for event in (await bench.get("/v1/events", scope="vm/three"))["events"]] == [ids[2]]
    assert (await bench.get("/v1/events", scope="vm/three", vm="two"))["events"] == []


async def test_a_story_says_whether_somebody_approved_before_not_before(bench: Bench) -> None:
    (approved,) = await scheduled(bench, "approved")
    (missed,) = await scheduled(bench, "missed")
    (canceled,) = await scheduled(bench, "canceled")
    await bench.create("unread")
    outcome = await bench.post("/v1/vms/restart", {"names": ["unread"]}, 202)
    assert (await bench.get(f"/v1/events/{approved}"))["in_time"] is None

    await bench.post("/v1/events/approve", {"ids": [approved]})
    await bench.post("/v1/events/cancel", {"ids": [canceled]})
    await bench.post("/v1/clock/advance", {"seconds": 900})

    stories = [(await bench.get(f"/v1/events/{each}"))["in_time"] for each in (approved, missed, canceled)]
    assert stories == [True, False, False]
    assert outcome["events"] == []


async def test_an_approval_starts_an_event_and_its_story_tells_who_did_it(bench: Bench) -> None:
    (event_id,) = await scheduled(bench, "lone")
    headers = {"X-Forewarn-Client": "forewarn event approve"}

    answer = await bench.client.post("/v1/events/approve", json={"ids": [event_id.lower()]}, headers=headers)

    await bench.settled()
    outcome = answer.json()
    assert [event["phase"] for event in outcome["events"]] == ["started"]
    assert outcome["message"] == "1 event approved, 1 started."
    story = await bench.get(f"/v1/events/{event_id.lower()}")
    assert story["approved_by"] == "operator (forewarn event approve)"
    assert story["impact_ends_at"] == "2026-01-01T12:00:30Z"
    assert [step["fact"] for step in story["timeline"]] == [
        "EventScheduled",
        "EventApproved",
        "EventStarted",
        "ImpactBegan",
    ]
    assert story["timeline"][0]["text"] == ("Reboot of lone (user-restart) scheduled, not before 2026-01-01T12:15:00Z.")
    assert story["timeline"][1]["by"] == "operator forewarn event approve"
    assert story["timeline"][1]["text"] == "Approved by operator (forewarn event approve)."
    assert story["timeline"][3]["by"] == "driver"


async def test_an_event_is_told_also_after_it_has_ended(bench: Bench) -> None:
    (event_id,) = await scheduled(bench, "lone")
    await bench.post("/v1/clock/advance", {"seconds": 3600})

    assert (await bench.get("/v1/events"))["events"] == []
    story = await bench.get(f"/v1/events/{event_id}")

    assert (story["phase"], story["started_at"]) == ("completed", "2026-01-01T12:15:00Z")
    assert (story["impact_began_at"], story["impact_ended_at"]) == ("2026-01-01T12:15:00Z", "2026-01-01T12:15:30Z")
    assert (story["approved_at"], story["approved_by"], story["awaited"]) == (None, None, [])
    assert story["timeline"][-1] == {
        "at": "2026-01-01T12:16:00Z",
        "fact": "EventCompleted",
        "by": "clock",
        "text": "Completed: gone from the document.",
    }


async def test_approving_one_tenant_of_a_host_names_the_one_awaited(bench: Bench) -> None:
    await bench.create("web", availability_set="front")
    await bench.create("app", availability_set="back")
    await bench.read("web", "app")
    made = (await bench.post("/v1/hosts/maintain", {"kind": "freeze"}, 202))["events"]
    one, two = (event["id"] for event in made)

    outcome = await bench.post("/v1/events/approve", {"ids": [one]})

    assert outcome["message"].startswith("1 event approved, 0 started. 1 event still waiting")
    assert [(event["phase"], event["awaited"]) for event in outcome["events"]] == [("approved", [two])]
    assert (await bench.get(f"/v1/events/{two}"))["awaited"] == []
    both = await bench.post("/v1/events/approve", {"ids": [two, one]})
    assert [(event["phase"], event["awaited"]) for event in both["events"]] == [("started", [])] * 2


async def test_a_canceled_event_is_gone_and_says_why(bench: Bench) -> None:
    (event_id,) = await scheduled(bench, "lone")

    outcome = await bench.post("/v1/events/cancel", {"ids": [event_id]})

    assert [(event["id"], event["phase"]) for event in outcome["events"]] == [(event_id, "canceled")]
    assert outcome["message"] == "1 event canceled."
    story = await bench.get(f"/v1/events/{event_id}")
    assert story["phase"] == "canceled"
    assert story["timeline"][-1]["text"].startswith("Canceled: taken back by operator")
    assert (await bench.get("/v1/events"))["events"] == []


async def test_work_that_nobody_was_told_of_has_a_story_too(bench: Bench) -> None:
    await bench.create("lone")
    await bench.post("/v1/vms/restart", {"names": ["lone"]}, 202)
    (event_id,) = bench.plane.region.vms["lone"].events

    story = await bench.get(f"/v1/events/{event_id}")

    assert (story["announced"], story["phase"]) == (False, "started")
    assert story["timeline"][0]["text"] == "Reboot of lone (user-restart) started without waiting for anybody."
    assert (await bench.get("/v1/vms/lone"))["events"] == []


async def test_events_that_are_not_there_refuse_the_whole_request(bench: Bench) -> None:
    (event_id,) = await scheduled(bench, "lone")
    for verb in ("approve", "cancel"):
        await bench.refused(404, "POST", f"/v1/events/{verb}", {"ids": [event_id, "none"]})
    await bench.refused(404, "GET", "/v1/events/none")
    await bench.refused(404, "GET", "/v1/events", params={"vm": "nobody"})


async def test_a_campaign_is_not_an_event(bench: Bench) -> None:
    await bench.create("lone")
    campaign = await bench.post("/v1/campaigns", {"kind": "freeze"}, 201)
    await bench.refused(404, "GET", f"/v1/events/{campaign['id']}")


async def test_what_has_started_cannot_be_taken_back(bench: Bench) -> None:
    (event_id,) = await scheduled(bench, "lone")
    await bench.post("/v1/events/approve", {"ids": [event_id]})
    assert "started" in await bench.refused(409, "POST", "/v1/events/cancel", {"ids": [event_id]})


async def test_ended_events_are_told_of_a_time_as_they_were_at_their_end(bench: Bench) -> None:
    await bench.create("db")
    await bench.create("web", spot=True, eviction_policy="Delete")
    await bench.read("db", "web")
    (restart,) = (await bench.post("/v1/vms/restart", {"names": ["db"]}, 202))["events"]
    await bench.post("/v1/clock/advance", {"seconds": 3600})
    (evicted,) = (await bench.post("/v1/vms/evict", {"names": ["web"]}, 202))["events"]
    await bench.post("/v1/clock/advance", {"seconds": 3600})
    (canceled,) = (await bench.post("/v1/vms/redeploy", {"names": ["db"]}, 202))["events"]
    await bench.post("/v1/events/cancel", {"ids": [canceled["id"]]})
    (waiting,) = (await bench.post("/v1/vms/restart", {"names": ["db"]}, 202))["events"]

    async def found(**query: Any) -> list[tuple[str, str]]:
        page = await bench.get("/v1/events", **query)
        return [(event["id"], event["phase"]) for event in page["events"]]

    all_of_them = [
        (restart["id"], "completed"),
        (evicted["id"], "completed"),
        (canceled["id"], "canceled"),
        (waiting["id"], "scheduled"),
    ]
    assert sorted(await found(since="2026-01-01T12:00:00Z")) == sorted(all_of_them)
    assert await found() == all_of_them[3:]
    assert await found(since="2026-01-01T12:30:00Z", until="2026-01-01T13:30:00Z") == all_of_them[1:2]
    assert await found(until="2026-01-01T12:00:00Z") == all_of_them[:1]
    assert await found(since="2026-01-01T12:00:00Z", vm="WEB") == all_of_them[1:2]
    assert await found(since="2026-01-01T12:00:00Z", scope="vm/web") == all_of_them[1:2]
    assert await found(since="2030-01-01T12:00:00Z") == []


async def test_ended_events_come_in_pages(bench: Bench) -> None:
    await bench.create("web", count=5)
    await bench.read(*(f"web-{n}" for n in range(5)))
    await bench.post("/v1/vms/restart", {"names": [f"web-{n}" for n in range(5)]}, 202)
    await bench.post("/v1/clock/advance", {"seconds": 3600})
    ids: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await bench.get("/v1/events", since="2026-01-01T00:00:00Z", limit=2, after=after)
        ids += [event["id"] for event in page["events"]]
        after = page["next"]

    assert len(ids) == len(set(ids)) == 5


@pytest.mark.parametrize("path", ["/v1/events", "/v1/activity"])
async def test_a_time_that_cannot_be_meant_is_refused(bench: Bench, path: str) -> None:
    told = await bench.refused(400, "GET", f"{path}?since=yesterday")
    assert told == "The query parameter 'since' is not right: write an instant in ISO 8601, like 2026-01-01T12:15:00Z."
    assert "until" in await bench.refused(400, "GET", f"{path}?until=2026-01-01")
    turned = await bench.refused(400, "GET", f"{path}?since=2026-01-01T12:00:00Z&until=2026-01-01T11:00:00Z")
    assert turned == "The query parameter 'until' is not right: it is earlier than 'since'."


async def test_a_time_with_too_many_records_is_refused(bench: Bench) -> None:
    await bench.create("web", count=20)
    look = look_at(bench.plane)

    with pytest.raises(Refused, match=f"and {look.seq - 1} are read at once; ask for a shorter time") as refused:
        past_events(bench.plane.journal, look, None, None, most=look.seq - 1)

    assert refused.value.hint is Hint.INVALID
    assert past_events(bench.plane.journal, look, None, None, most=look.seq) == []
