"""Hosts and campaigns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


async def test_hosts_tell_who_lives_on_them(bench: Bench) -> None:
    await bench.create("Lone")
    assert await bench.get("/v1/hosts/HOST-0") == {
        "name": "host-0",
        "fault_domain": 0,
        "update_domain": 0,
        "health": "healthy",
        "engine": None,
        "capacity": 4,
        "vms": ["Lone"],
    }


async def test_hosts_come_in_pages_by_number(bench: Bench) -> None:
    await bench.create("web", count=60)
    first = await bench.get("/v1/hosts", limit=10)
    second = await bench.get("/v1/hosts", limit=10, after=first["next"])
    hosts = first["hosts"] + second["hosts"]
    assert [host["name"] for host in hosts] == [f"host-{number}" for number in range(15)]
    assert second["next"] is None


async def test_maintenance_makes_one_event_for_each_scope_and_each_awaits_the_others(bench: Bench) -> None:
    await bench.create("web", availability_set="front")
    await bench.create("app", availability_set="back")
    await bench.read("web", "app")

    outcome = await bench.post("/v1/hosts/maintain", {"hosts": ["host-0"], "kind": "freeze"}, 202)

    one, two = outcome["events"]
    assert {one["scope"], two["scope"]} == {"availability-set/front", "availability-set/back"}
    assert (one["type"], one["host"], one["duration_seconds"]) == ("Freeze", "host-0", 9)
    assert (one["awaited"], two["awaited"]) == ([two["id"]], [one["id"]])
    assert outcome["message"] == "2 events scheduled, not before 2026-01-01T12:15:00Z."


async def test_maintenance_tells_of_those_who_will_not_be_told(bench: Bench) -> None:
    await bench.create("web", availability_set="front")
    await bench.create("app", availability_set="back")
    await bench.read("web")

    outcome = await bench.post("/v1/hosts/maintain", {"kind": "reboot"}, 202)

    assert [event["vms"] for event in outcome["events"]] == [["web"]]
    assert outcome["at_once"] == []
    assert "1 other VM on the same hosts will not be told" in outcome["message"]
    assert len((await bench.get("/v1/events"))["events"]) == 1


async def test_maintenance_happens_at_once_where_nobody_reads(bench: Bench) -> None:
    names = await bench.create("web", count=3, availability_set="front")
    outcome = await bench.post("/v1/hosts/maintain", {"hosts": [], "kind": "live-migration"}, 202)
    assert (outcome["events"], sorted(outcome["at_once"])) == ([], names)
    await bench.settled()
    assert (await bench.get("/v1/vms/web-0"))["power"] == "frozen"


async def test_a_failing_host_starts_its_events_at_once(bench: Bench) -> None:
    await bench.create("lone")
    await bench.read("lone")

    outcome = await bench.post("/v1/hosts/fail", {"hosts": ["host-0"]}, 202)

    assert [(event["cause"], event["phase"]) for event in outcome["events"]] == [("failure", "started")]
    assert (await bench.get("/v1/hosts/host-0"))["health"] == "failed"
    await bench.post("/v1/clock/advance", {"seconds": 120})
    moved = await bench.get("/v1/vms/lone")
    assert (moved["host"], moved["ephemeral_disks"]) == ("host-1", 2)


async def test_hosts_that_are_not_there_are_refused(bench: Bench) -> None:
    await bench.create("lone")
    for name in ("host-7", "host-", "lone", "host-99999999999999999999", "host-²"):
        await bench.refused(404, "GET", f"/v1/hosts/{name}")
        await bench.refused(404, "POST", "/v1/hosts/fail", {"hosts": ["host-0", name]})
        await bench.refused(404, "POST", "/v1/hosts/maintain", {"hosts": [name], "kind": "freeze"})


async def test_a_campaign_walks_the_update_domains(bench: Bench) -> None:
    await bench.create("web", count=5, availability_set="front")
    await bench.read("web-0")

    started = await bench.post("/v1/campaigns", {"kind": "freeze"}, 201)

    assert (started["state"], started["wave"], started["waves_total"]) == ("running", 0, 5)
    assert (started["events_total"], started["hosts_waiting"]) == (1, 0)
    (event_id,) = started["open_events"]
    assert (await bench.get(f"/v1/events/{event_id}"))["campaign"] == started["id"]

    for _ in range(100):
        if not (await bench.post("/v1/clock/next", {}))["moved"]:
            break
        if (await bench.get(f"/v1/campaigns/{started['id']}"))["state"] == "completed":
            break
    ended = await bench.get(f"/v1/campaigns/{started['id'].lower()}")
    assert (ended["state"], ended["events_total"], ended["open_events"]) == ("completed", 5, [])
    assert ended["ended_at"] is not None


async def test_a_campaign_takes_as_many_hosts_at_once_as_it_may(bench: Bench) -> None:
    await bench.create("web", count=30)
    await bench.read(*(f"web-{number}" for number in range(30)))
    campaign = await bench.post("/v1/campaigns", {"kind": "freeze", "hosts_at_once": 1}, 201)
    assert campaign["hosts_waiting"] == 2
    assert campaign["events_total"] == 2


async def test_a_campaign_over_one_scope_has_only_its_hosts(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.create("lone", count=5)
    campaign = await bench.post("/v1/campaigns", {"kind": "freeze", "scopes": ["availability-set/front"]}, 201)
    assert campaign["waves_total"] == 2


async def test_a_campaign_can_be_paused_resumed_and_canceled(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.read("web-0")
    campaign = await bench.post("/v1/campaigns", {"kind": "reboot", "hosts": ["host-0", "host-1"]}, 201)
    path = f"/v1/campaigns/{campaign['id'].lower()}"

    assert (await bench.post(f"{path}/pause"))["state"] == "paused"
    assert (await bench.post(f"{path}/resume"))["state"] == "running"
    canceled = await bench.post(f"{path}/cancel")

    assert (canceled["state"], canceled["open_events"]) == ("canceled", [])
    assert (await bench.get("/v1/events"))["events"] == []
    assert [each["id"] for each in (await bench.get("/v1/campaigns"))["campaigns"]] == [campaign["id"]]
    await bench.refused(409, "POST", f"{path}/pause")


async def test_campaigns_that_cannot_be_are_refused(bench: Bench) -> None:
    await bench.refused(409, "POST", "/v1/campaigns", {"kind": "freeze"})
    await bench.create("lone")
    await bench.refused(404, "POST", "/v1/campaigns", {"kind": "freeze", "hosts": ["host-5"]})
    await bench.refused(404, "POST", "/v1/campaigns", {"kind": "freeze", "scopes": ["vm/nobody"]})
    await bench.refused(404, "GET", "/v1/campaigns/none")
    for verb in ("pause", "resume", "cancel"):
        await bench.refused(404, "POST", f"/v1/campaigns/none/{verb}")


async def test_work_that_opens_a_second_update_domain_of_a_scope_is_done_with_a_warning(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.read("web-0")
    first = await bench.post("/v1/hosts/maintain", {"hosts": ["host-0"], "kind": "freeze"}, 202)
    second = await bench.post("/v1/hosts/maintain", {"hosts": ["host-1"], "kind": "freeze"}, 202)
    assert "Careful" not in first["message"]
    assert second["message"].endswith("Careful: work is open in update domains 0, 1 of availability-set/front at once.")
    assert len(second["events"]) == 1


async def test_a_campaign_says_what_it_waits_for(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.read("web-0")
    (event,) = (await bench.post("/v1/hosts/maintain", {"hosts": ["host-1"], "kind": "freeze"}, 202))["events"]
    campaign = await bench.post("/v1/campaigns", {"kind": "freeze"}, 201)
    waits = f"host-0 waits for event {event['id']}: it has update domain 1 of availability-set/front open."
    assert (campaign["waits_for"], campaign["open_events"]) == (waits, [])
    await bench.post("/v1/events/cancel", {"ids": [event["id"]]}, 200)
    shown = await bench.get(f"/v1/campaigns/{campaign['id']}")
    assert (shown["waits_for"], shown["open_events_total"]) == ("", 1)


async def test_a_host_without_vms_is_told_to_have_none(bench: Bench) -> None:
    await bench.create("web")
    await bench.post("/v1/vms/delete", {"names": ["web"]}, 202)
    await bench.settled()

    maintained = await bench.post("/v1/hosts/maintain", {"hosts": ["host-0"], "kind": "freeze"}, 202)
    failed = await bench.post("/v1/hosts/fail", {"hosts": ["host-0"]}, 202)

    assert maintained["message"] == "No VM lives there, so there was nothing to do and nobody to tell."
    assert failed["message"] == "No VM lived there, so nobody was hit."
