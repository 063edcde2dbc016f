"""VMs: creation, lists, and what users do to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


async def test_one_vm_keeps_its_name_and_several_are_numbered(bench: Bench) -> None:
    assert await bench.create("Lone") == ["Lone"]
    assert await bench.create("web", count=3, availability_set="front") == ["web-0", "web-1", "web-2"]
    assert await bench.create("one", numbered=True) == ["one-0"]
    assert len(bench.plane.region.vms) == 5


async def test_many_vms_can_be_created_in_chunks(bench: Bench) -> None:
    for first in (0, 4, 8):
        await bench.create("batch", count=4, first=first)

    names = [vm["name"] for vm in (await bench.get("/v1/vms"))["vms"]]

    assert sorted(names) == sorted(f"batch-{number}" for number in range(12))


async def test_a_vm_is_shown_with_all_that_it_was_given(bench: Bench) -> None:
    await bench.create(
        "FE",
        cloud_service="shop",
        role="FrontEnd",
        vnet=False,
        size="Standard_A1",
        os_type="Windows",
        tags={"team": "web"},
        address="10.0.0.4",
        local_address="127.1.0.4",
        netns="fe",
        terminate_notice_seconds=300,
        os_image_notice_seconds=900,
        resource_group="rg1",
    )

    vm = await bench.get("/v1/vms/fe")

    assert vm | {"vm_id": ""} == {
        "name": "FE",
        "resource_name": "FrontEnd_IN_0",
        "vm_id": "",
        "scope": "cloud-service/shop",
        "power": "running",
        "host": "host-0",
        "update_domain": 0,
        "fault_domain": 0,
        "spot": False,
        "eviction_policy": "Deallocate",
        "vnet": False,
        "boots": 1,
        "ephemeral_disks": 1,
        "terminate_notice_seconds": 300,
        "os_image_notice_seconds": 900,
        "scale_set": None,
        "instance_id": None,
        "model": None,
        "latest_model": None,
        "protected": False,
        "resource_group": "rg1",
        "size": "Standard_A1",
        "os_type": "Windows",
        "tags": {"team": "web"},
        "created_at": "2026-01-01T12:00:00Z",
        "binding": {"address": "10.0.0.4", "local_address": "127.1.0.4", "netns": "fe", "interface": "", "unix": ""},
        "machine": None,
        "events": [],
        "shared_address": "",
    }


async def test_a_list_comes_in_pages_that_cover_it_once(bench: Bench) -> None:
    await bench.create("web", count=7)
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await bench.get("/v1/vms", after=after, limit=3)
        assert len(page["vms"]) <= 3
        seen += [vm["name"] for vm in page["vms"]]
        after = page["next"]

    assert seen == [f"web-{number}" for number in range(7)]


async def test_a_page_that_holds_the_rest_is_the_last(bench: Bench) -> None:
    await bench.create("web", count=3)
    assert (await bench.get("/v1/vms", limit=3))["next"] is None


async def test_a_list_can_be_of_one_scope(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.create("lone")

    front = await bench.get("/v1/vms", scope="availability-set/FRONT")
    lone = await bench.get("/v1/vms", scope="vm/lone")

    assert [vm["name"] for vm in front["vms"]] == ["web-0", "web-1"]
    assert [vm["name"] for vm in lone["vms"]] == ["lone"]


async def test_a_restart_schedules_an_event_where_somebody_reads(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.read("web-1")

    outcome = await bench.post("/v1/vms/restart", {"names": ["WEB-0"]}, 202)

    (event,) = outcome["events"]
    assert (event["type"], event["source"], event["phase"]) == ("Reboot", "User", "scheduled")
    assert (event["vms"], event["resources"], event["scope"]) == (["web-0"], ["web-0"], "availability-set/front")
    assert event["not_before"] == "2026-01-01T12:15:00Z"
    assert outcome["at_once"] == []
    assert outcome["message"] == "1 event scheduled, not before 2026-01-01T12:15:00Z."
    assert [shown["id"] for shown in (await bench.get("/v1/vms/web-0"))["events"]] == [event["id"]]


async def test_a_restart_happens_at_once_where_nobody_reads_and_the_answer_says_so(bench: Bench) -> None:
    await bench.create("lone")

    outcome = await bench.post("/v1/vms/restart", {"names": ["Lone"]}, 202)

    assert outcome["events"] == []
    assert outcome["at_once"] == ["lone"]
    assert outcome["message"] == (
        "lone was restarted at once, without an event: nobody in the scope reads scheduled events. "
        "To have lone warned, type 'forewarn vm read lone' first."
    )
    await bench.post("/v1/clock/advance", {"seconds": 60})
    assert (await bench.get("/v1/vms/lone"))["boots"] == 2


async def test_one_restart_tells_of_those_with_and_those_without_an_event(bench: Bench) -> None:
    await bench.create("read")
    await bench.create("unread", count=2)
    await bench.read("read")

    outcome = await bench.post("/v1/vms/restart", {"names": ["read", "unread-0", "unread-1"]}, 202)

    assert len(outcome["events"]) == 1
    assert outcome["at_once"] == ["unread-0", "unread-1"]
    assert outcome["message"] == (
        "1 event scheduled, not before 2026-01-01T12:15:00Z. 2 VMs were restarted at once, without an event: "
        "nobody in the scope reads scheduled events. To have unread-0 warned, type 'forewarn vm read unread-0' first, "
        "and the like for the other scopes."
    )


async def test_the_command_that_an_at_once_names_makes_the_next_one_wait(bench: Bench) -> None:
    await bench.create("lone")
    outcome = await bench.post("/v1/vms/restart", {"names": ["lone"]}, 202)
    assert outcome["message"].endswith("type 'forewarn vm read lone' first.")
    await bench.post("/v1/clock/advance", {"seconds": 120})

    await bench.post("/v1/vms/lone/read", {})

    again = await bench.post("/v1/vms/restart", {"names": ["lone"]}, 202)
    assert [event["phase"] for event in again["events"]] == ["scheduled"]


@pytest.mark.parametrize(
    ("options", "reads", "remedy"),
    [
        ({}, False, "'forewarn vm create plain --terminate-notice 10m --read'"),
        ({}, True, "'forewarn vm create plain --terminate-notice 10m --read'"),
        ({"terminate_notice_seconds": 600}, False, "'forewarn vm read plain'"),
    ],
)
async def test_a_deletion_at_once_names_what_the_vm_lacked(
    bench: Bench, options: dict[str, Any], reads: bool, remedy: str
) -> None:
    await bench.create("plain", **options)
    if reads:
        await bench.read("plain")

    outcome = await bench.post("/v1/vms/delete", {"names": ["plain"]}, 202)

    assert outcome["message"].endswith(f"is warned. To have plain warned, type {remedy} first.")


async def test_a_restart_that_the_policy_approves_is_started_at_once(bench: Bench) -> None:
    await bench.create("lone")
    await bench.read("lone")
    await bench.client.put("/v1/scopes/vm/lone/policy", json={"auto_approve_reboot": True})

    outcome = await bench.post("/v1/vms/restart", {"names": ["lone"]}, 202)

    assert [event["phase"] for event in outcome["events"]] == ["started"]
    assert outcome["message"] == "1 event started at once."


async def test_a_redeploy_schedules_an_event(bench: Bench) -> None:
    await bench.create("lone")
    await bench.read("lone")
    outcome = await bench.post("/v1/vms/redeploy", {"names": ["lone"]}, 202)
    assert [event["type"] for event in outcome["events"]] == ["Redeploy"]


async def test_deallocating_and_starting_make_no_event(bench: Bench) -> None:
    await bench.create("Lone")
    await bench.read("lone")

    stopped = await bench.post("/v1/vms/deallocate", {"names": ["lone"]}, 202)
    assert (stopped["events"], stopped["at_once"]) == ([], ["Lone"])
    shown = await bench.get("/v1/vms/lone")
    assert (shown["power"], shown["host"]) == ("deallocated", None)

    started = await bench.post("/v1/vms/start", {"names": ["lone"]}, 202)
    assert started["message"] == "Lone was started at once, without an event."
    again = await bench.post("/v1/vms/start", {"names": ["lone"]}, 202)
    assert (again["at_once"], again["message"]) == ([], "Nothing had to be done.")


async def test_a_stopped_vm_keeps_its_host_and_starts_there(bench: Bench) -> None:
    await bench.create("Lone")
    await bench.read("lone")

    stopped = await bench.post("/v1/vms/stop", {"names": ["lone"]}, 202)

    assert stopped["message"] == "Lone was stopped at once, without an event: stopping never makes one."
    shown = await bench.get("/v1/vms/lone")
    assert (shown["power"], shown["host"]) == ("stopped", "host-0")
    assert (await bench.post("/v1/vms/stop", {"names": ["lone"]}, 202))["at_once"] == []
    assert (await bench.post("/v1/vms/start", {"names": ["lone"]}, 202))["at_once"] == ["Lone"]
    shown = await bench.get("/v1/vms/lone")
    assert (shown["power"], shown["host"], shown["boots"]) == ("running", "host-0", 2)


async def test_a_reimage_warns_only_a_vm_with_an_os_image_notice_that_is_read_for(bench: Bench) -> None:
    await bench.create("kept", os_image_notice_seconds=900)
    await bench.create("plain")
    await bench.read("kept", "plain")

    outcome = await bench.post("/v1/vms/reimage", {"names": ["kept", "plain"]}, 202)

    assert [(event["type"], event["vms"]) for event in outcome["events"]] == [("Reboot", ["kept"])]
    assert outcome["at_once"] == ["plain"]
    assert "plain was reimaged at once, without an event: only a VM with an OS image notice" in outcome["message"]


async def test_a_delete_waits_only_for_a_vm_with_a_terminate_notice_that_is_read_for(bench: Bench) -> None:
    await bench.create("kept", terminate_notice_seconds=300)
    await bench.create("Plain")
    await bench.read("kept", "plain")

    outcome = await bench.post("/v1/vms/delete", {"names": ["kept", "plain"]}, 202)

    assert [(event["type"], event["vms"]) for event in outcome["events"]] == [("Terminate", ["kept"])]
    assert outcome["at_once"] == ["Plain"]
    await bench.refused(404, "GET", "/v1/vms/plain")
    await bench.post("/v1/clock/advance", {"seconds": 600})
    await bench.refused(404, "GET", "/v1/vms/kept")


async def test_only_spot_vms_can_be_evicted(bench: Bench) -> None:
    await bench.create("cheap", spot=True, eviction_policy="Delete")
    await bench.create("dear")
    await bench.read("cheap")

    message = await bench.refused(409, "POST", "/v1/vms/evict", {"names": ["cheap", "dear"]})
    outcome = await bench.post("/v1/vms/evict", {"names": ["cheap"]}, 202)

    assert "dear" in message
    assert [event["type"] for event in outcome["events"]] == ["Preempt"]


async def test_an_outcome_leaves_out_what_merely_fell_due(bench: Bench) -> None:
    await bench.create("done", terminate_notice_seconds=300)
    await bench.create("lone")
    await bench.read("done", "lone")
    await bench.post("/v1/vms/delete", {"names": ["done"]}, 202)
    bench.plane.clock.move_to(bench.plane.now().replace(hour=13))  # behind the plane's back: nothing has ticked

    outcome = await bench.post("/v1/vms/restart", {"names": ["lone"]}, 202)

    assert [event["vms"] for event in outcome["events"]] == [["lone"]]
    assert outcome["at_once"] == []


async def test_one_unknown_name_refuses_the_whole_request(bench: Bench) -> None:
    await bench.create("web", count=2)
    for verb in ("restart", "redeploy", "reimage", "stop", "deallocate", "start", "delete", "evict"):
        message = await bench.refused(404, "POST", f"/v1/vms/{verb}", {"names": ["web-0", "nobody"]})
        assert "nobody" in message


async def test_a_name_that_is_taken_refuses_the_whole_request(bench: Bench) -> None:
    await bench.create("web-1")
    message = await bench.refused(409, "POST", "/v1/vms", {"name": "WEB", "count": 3})
    assert "web-1" in message.lower()


async def test_the_eleventh_user_operation_is_refused_with_the_name_of_the_setting(bench: Bench) -> None:
    names = await bench.create("web", count=11, availability_set="front")
    await bench.read("web-0")
    assert "user_operation_limit" in await bench.refused(409, "POST", "/v1/vms/restart", {"names": names})
    await bench.post("/v1/vms/restart", {"names": names[:10]}, 202)


async def test_the_same_operation_again_joins_the_event_that_is_there_and_says_so(bench: Bench) -> None:
    await bench.create("web")
    await bench.read("web")
    first = await bench.post("/v1/vms/restart", {"names": ["web"]}, 202)
    again = await bench.post("/v1/vms/restart", {"names": ["web"]}, 202)
    (event,) = first["events"]
    assert [each["id"] for each in again["events"]] == [event["id"]]
    assert again["message"] == f"Joined an event that will do the same: {event['id']}."
    assert len((await bench.get("/v1/events"))["events"]) == 1


async def test_what_waits_for_its_turn_is_told_so(bench: Bench) -> None:
    await bench.create("web")
    await bench.read("web")
    (restart,) = (await bench.post("/v1/vms/restart", {"names": ["web"]}, 202))["events"]
    (redeploy,) = (await bench.post("/v1/vms/redeploy", {"names": ["web"]}, 202))["events"]
    await bench.post("/v1/events/approve", {"ids": [restart["id"]]}, 200)
    outcome = await bench.post("/v1/events/approve", {"ids": [redeploy["id"]]}, 200)
    assert outcome["message"] == "1 event approved, 0 started. 1 event waiting until another event is done with the VM."
