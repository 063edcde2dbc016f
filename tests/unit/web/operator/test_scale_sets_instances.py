"""Scale sets: how many instances there are, what users do to them, and the end of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.web.operator.scale_sets import SETS, make, names_in

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


# Capacity


async def test_scaling_out_tells_who_came_and_scaling_in_who_went(bench: Bench) -> None:
    await make(bench)

    more = await bench.post(f"{SETS}/web/scale", {"capacity": 5}, 202)
    fewer = await bench.post(f"{SETS}/WEB/scale", {"capacity": 4}, 202)

    assert more["created"] == ["web_3", "web_4"]
    assert more["message"] == "The capacity is 5 now. 2 instances created: web_3, web_4."
    (gone,) = fewer["at_once"]
    assert fewer["message"] == (
        f"The capacity is 4 now. {gone} was deleted at once, without an event: only a VM with a terminate notice, "
        f"where scheduled events are read, is warned. To have {gone} warned, type "
        f"'forewarn vmss create web --terminate-notice 10m' and 'forewarn vm read {gone}' first."
    )
    assert gone not in await names_in(bench)


async def test_scaling_in_warns_instances_with_a_notice(bench: Bench) -> None:
    await make(bench, terminate_notice_seconds=600, scale_in="OldestVM")
    await bench.read("web_2")

    outcome = await bench.post(f"{SETS}/web/scale", {"capacity": 1}, 202)

    assert [event["vms"] for event in outcome["events"]] == [["web_0"], ["web_1"]]
    assert "2 events scheduled, not before 2026-01-01T12:10:00Z." in outcome["message"]
    shown = await bench.get(f"{SETS}/web")
    assert (shown["capacity"], shown["instances_total"]) == (1, 3)
    assert [event["type"] for event in shown["events"]] == ["Terminate", "Terminate"]
    await bench.post("/v1/clock/advance", {"seconds": 660})
    assert await names_in(bench) == ["web_2"]


async def test_an_instance_whose_turn_has_just_come_is_not_told_as_the_requests_doing(bench: Bench) -> None:
    await make(bench, terminate_notice_seconds=300)
    await bench.read("web_0")
    await bench.post(f"{SETS}/web/delete-instances", {"instances": ["0"]}, 202)
    await bench.post("/v1/clock/advance", {"seconds": 300})
    await bench.settled()
    bench.plane.clock.move_to(bench.plane.now().replace(hour=13))  # behind the plane's back: the impact is over

    outcome = await bench.post(f"{SETS}/web/scale", {"capacity": 3}, 202)

    assert "web_0" not in bench.plane.region.vms
    assert outcome["at_once"] == []
    assert outcome["created"] == ["web_3"]


async def test_a_protected_instance_is_left_alone_by_scale_in(bench: Bench) -> None:
    await make(bench, scale_in="OldestVM")

    told = await bench.post(f"{SETS}/web/protect", {"instance": "0", "protected": True}, 202)
    assert told["message"] == "web_0 was protected from scale-in at once, without an event."
    assert (await bench.get("/v1/vms/web_0"))["protected"] is True
    await bench.post(f"{SETS}/web/scale", {"capacity": 1}, 202)
    assert await names_in(bench) == ["web_0"]

    assert "protected" in await bench.refused(409, "POST", f"{SETS}/web/scale", {"capacity": 0})
    await bench.post(f"{SETS}/web/protect", {"instance": "web_0", "protected": False}, 202)
    await bench.post(f"{SETS}/web/scale", {"capacity": 0}, 202)
    assert await names_in(bench) == []


# Instances


@pytest.mark.parametrize(("verb", "kind"), [("restart", "Reboot"), ("redeploy", "Redeploy")])
async def test_what_users_do_to_instances_is_announced_where_somebody_reads(bench: Bench, verb: str, kind: str) -> None:
    await make(bench)
    await bench.read("web_2")

    outcome = await bench.post(f"{SETS}/web/{verb}", {"instances": ["1", "WEB_2"]}, 202)

    assert [(event["type"], event["vms"]) for event in outcome["events"]] == [(kind, ["web_1"]), (kind, ["web_2"])]


@pytest.mark.parametrize("verb", ["restart", "redeploy", "reimage"])
async def test_where_none_is_named_every_instance_that_runs_is_meant(bench: Bench, verb: str) -> None:
    await make(bench)
    await bench.post(f"{SETS}/web/stop", {"instances": ["0"]}, 202)

    outcome = await bench.post(f"{SETS}/web/{verb}", {}, 202)

    assert outcome["at_once"] == ["web_1", "web_2"]
    assert "stopped" in await bench.refused(409, "POST", f"{SETS}/web/{verb}", {"instances": ["0"]})


async def test_instances_are_stopped_deallocated_and_started_at_once(bench: Bench) -> None:
    await make(bench)
    for verb, power in (("stop", "stopped"), ("deallocate", "deallocated"), ("start", "running")):
        outcome = await bench.post(f"{SETS}/web/{verb}", {"instances": []}, 202)
        assert outcome["at_once"] == ["web_0", "web_1", "web_2"]
        assert {vm["power"] for vm in (await bench.get(f"{SETS}/web"))["instances"]} == {power}


async def test_an_operation_on_an_empty_set_does_nothing_and_says_so(bench: Bench) -> None:
    await make(bench, capacity=0)
    for verb in ("restart", "stop", "start", "upgrade"):
        assert (await bench.post(f"{SETS}/web/{verb}", {}, 202))["message"] == "Nothing had to be done."


# The end


async def test_a_set_that_nobody_reads_for_goes_at_once(bench: Bench) -> None:
    await make(bench, "Web", terminate_notice_seconds=600)

    answer = await bench.client.delete(f"{SETS}/web")

    assert answer.status_code == 202
    outcome = answer.json()
    assert (outcome["at_once"], outcome["scale_set"]) == (["Web_0", "Web_1", "Web_2"], None)
    assert outcome["message"].endswith("Scale set 'Web' is gone.")
    await bench.refused(404, "GET", f"{SETS}/web")


async def test_a_set_that_somebody_reads_for_goes_with_its_last_instance(bench: Bench) -> None:
    await make(bench, terminate_notice_seconds=600)
    await bench.read("web_0")

    outcome = (await bench.client.delete(f"{SETS}/web")).json()

    assert len(outcome["events"]) == 3
    assert outcome["message"] == (
        "3 events scheduled, not before 2026-01-01T12:10:00Z. Scale set 'web' goes with its last instance."
    )
    assert (await bench.get(f"{SETS}/web"))["deleting"] is True
    await bench.refused(409, "POST", f"{SETS}/web/scale", {"capacity": 5})
    await bench.refused(409, "PUT", f"{SETS}/web", {"size": "Standard_A1"})
    await bench.post("/v1/clock/advance", {"seconds": 660})
    await bench.refused(404, "GET", f"{SETS}/web")
    assert not bench.plane.region.vms


async def test_instances_are_spread_over_as_many_fault_domains_as_asked_for(bench: Bench) -> None:
    await make(bench, capacity=5, fault_domains=2)

    shown = (await bench.get(f"{SETS}/web"))["instances"]

    assert [vm["fault_domain"] for vm in shown] == [0, 1, 0, 1, 0]
    answer = await bench.client.post(SETS, json={"name": "db", "fault_domains": 4, "orchestration": "Flexible"})
    assert (answer.status_code, "1 to 3 fault domains" in answer.text) == (400, True)


async def test_instances_come_in_pages_in_the_order_of_their_making(bench: Bench) -> None:
    await bench.post("/v1/scale-sets", {"name": "web", "capacity": 12}, 201)
    first = await bench.get("/v1/scale-sets/WEB/instances", limit=10)
    second = await bench.get("/v1/scale-sets/web/instances", limit=10, after=first["next"])
    assert [vm["instance_id"] for vm in first["instances"] + second["instances"]] == [str(n) for n in range(12)]
    assert (first["total"], second["next"]) == (12, None)
    assert "no scale set" in await bench.refused(404, "GET", "/v1/scale-sets/none/instances")


async def test_deletions_that_wait_already_are_not_told_as_what_another_request_did(bench: Bench) -> None:
    await bench.post("/v1/scale-sets", {"name": "pool", "capacity": 4, "terminate_notice_seconds": 300}, 201)
    await bench.post("/v1/vms/pool_0/read")
    await bench.post("/v1/scale-sets/pool/delete-instances", {"instances": ["0"]}, 202)

    other = await bench.post("/v1/scale-sets/pool/delete-instances", {"instances": ["1"]}, 202)
    again = await bench.post("/v1/scale-sets/pool/delete-instances", {"instances": ["0"]}, 202)
    changed = await bench.client.put("/v1/scale-sets/pool", json={"terminate_notice_seconds": 600})

    assert [event["vms"] for event in other["events"]] == [["pool_1"]]
    assert "Joined" not in other["message"]
    assert [event["vms"] for event in again["events"]] == [["pool_0"]]
    assert "Joined an event" in again["message"]
    assert (changed.status_code, changed.json()["events"]) == (202, [])
