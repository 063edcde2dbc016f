"""Scale sets: how they are made, shown and changed, models and their versions, and what is refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.web.operator.scale_sets import SETS, change, make, names_in

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


# Making and looking


async def test_a_set_is_shown_with_all_that_it_was_given(bench: Bench) -> None:
    made = await make(
        bench,
        "Web",
        upgrade="Automatic",
        scale_in="OldestVM",
        policy={"auto_approve_reboot": True},
        terminate_notice_seconds=600,
        os_image_notice_seconds=900,
        vnet=False,
        size="Standard_A1",
        os_type="Windows",
        tags={"team": "web"},
        single_placement_group=True,
        resource_group="rg1",
    )

    shown = await bench.get(f"{SETS}/web")

    instances, events = shown.pop("instances"), shown.pop("events")
    assert shown == made["scale_set"]
    assert shown == {
        "name": "Web",
        "resource_group": "rg1",
        "orchestration": "Uniform",
        "single_placement_group": True,
        "capacity": 3,
        "instances_total": 3,
        "latest_model_total": 3,
        "model": 1,
        "upgrade": "Automatic",
        "scale_in": "OldestVM",
        "binding": {"address": "", "local_address": "", "netns": "", "interface": "", "unix": ""},
        "policy": {"auto_approve_reboot": True, "auto_approve_redeploy": False, "all_instances_down": True},
        "terminate_notice_seconds": 600,
        "os_image_notice_seconds": 900,
        "spot": False,
        "eviction_policy": "Deallocate",
        "vnet": False,
        "size": "Standard_A1",
        "os_type": "Windows",
        "tags": {"team": "web"},
        "scopes": ["placement-group/web~0"],
        "deleting": False,
        "created_at": "2026-01-01T12:00:00Z",
        "changed_at": "2026-01-01T12:00:00Z",
    }
    assert [vm["name"] for vm in instances] == ["Web_0", "Web_1", "Web_2"]
    assert events == []
    assert made["created"] == ["Web_0", "Web_1", "Web_2"]
    assert made["message"] == "Scale set 'Web' created. 3 instances created: Web_0, Web_1, Web_2."


async def test_an_instance_tells_its_set_its_id_and_its_model(bench: Bench) -> None:
    await make(bench, "Web", spot=True, eviction_policy="Delete", resource_group="rg1")

    vm = await bench.get("/v1/vms/web_1")

    assert (vm["scale_set"], vm["instance_id"], vm["model"], vm["latest_model"]) == ("Web", "1", 1, True)
    assert (vm["protected"], vm["resource_group"], vm["scope"]) == (False, "rg1", "placement-group/web~0")
    assert (vm["spot"], vm["eviction_policy"]) == (True, "Delete")


async def test_a_new_set_has_two_instances_unless_told_otherwise(bench: Bench) -> None:
    await bench.post(SETS, {"name": "web"}, 201)
    assert (await bench.get(f"{SETS}/web"))["instances_total"] == 2


async def test_instances_of_a_flexible_set_go_by_their_names(bench: Bench) -> None:
    await make(bench, orchestration="Flexible")
    first, *_ = (await bench.get(f"{SETS}/web"))["instances"]

    assert first["instance_id"] == first["name"]
    await bench.post(f"{SETS}/web/delete-instances", {"instances": [first["name"].upper()]}, 202)
    assert first["name"] not in await names_in(bench)
    assert "no instance '0'" in await bench.refused(404, "POST", f"{SETS}/web/restart", {"instances": ["0"]})


async def test_sets_are_listed_in_pages_by_name(bench: Bench) -> None:
    for name in ("c", "a", "b"):
        await make(bench, name, capacity=0)

    first = await bench.get(SETS, limit=2)
    second = await bench.get(SETS, limit=2, after=first["next"])

    assert [each["name"] for each in first["scale_sets"]] == ["a", "b"]
    assert [each["name"] for each in second["scale_sets"]] == ["c"]
    assert second["next"] is None


async def test_a_hundred_instances_make_a_placement_group(bench: Bench) -> None:
    await make(bench, capacity=150)

    shown = await bench.get(f"{SETS}/web")
    groups = [await bench.get(f"/v1/scopes/{key}") for key in shown["scopes"]]

    assert [group["vms"] for group in groups] == [100, 50]
    assert len(await names_in(bench)) == 150


# Changing


async def test_a_change_keeps_what_it_leaves_out(bench: Bench) -> None:
    await make(
        bench,
        scale_in="NewestVM",
        policy={"auto_approve_reboot": True},
        terminate_notice_seconds=600,
        tags={"team": "web"},
        size="Standard_A1",
    )
    before = await bench.get(f"{SETS}/web")

    await change(bench, terminate_notice_seconds=300, policy={"all_instances_down": False})

    after = await bench.get(f"{SETS}/web")
    policy = {"auto_approve_reboot": True, "auto_approve_redeploy": False, "all_instances_down": False}
    assert after == before | {
        "terminate_notice_seconds": 300,
        "policy": policy,
        "model": 2,
        "latest_model_total": 0,
        "instances": [vm | {"latest_model": False} for vm in before["instances"]],
    }


async def test_a_changed_model_counts_for_an_instance_once_it_is_upgraded(bench: Bench) -> None:
    await make(bench)
    await bench.read("web_0")

    changed = await change(bench, terminate_notice_seconds=600)
    assert changed["message"] == (
        "The model has version 2 now; instances that have it: 0 of 3. Upgrade the others to give it to them."
    )
    assert (await bench.get("/v1/vms/web_1"))["terminate_notice_seconds"] is None

    upgraded = await bench.post(f"{SETS}/web/upgrade", {"instances": ["1"]}, 202)

    assert (upgraded["at_once"], upgraded["message"]) == (
        ["web_1"],
        "web_1 was given the latest model at once, without an event.",
    )
    assert (await bench.get(f"{SETS}/web"))["latest_model_total"] == 1
    outcome = await bench.post(f"{SETS}/web/delete-instances", {"instances": ["0", "1"]}, 202)
    assert [(event["type"], event["vms"]) for event in outcome["events"]] == [("Terminate", ["web_1"])]
    assert outcome["at_once"] == ["web_0"]
    assert outcome["scale_set"]["capacity"] == 1


async def test_all_instances_are_upgraded_where_none_is_named(bench: Bench) -> None:
    await make(bench)
    await change(bench, size="Standard_A1")

    outcome = await bench.post(f"{SETS}/web/upgrade", {}, 202)
    again = await bench.post(f"{SETS}/web/upgrade", {"instances": []}, 202)

    assert outcome["at_once"] == ["web_0", "web_1", "web_2"]
    assert (again["at_once"], again["message"]) == ([], "Nothing had to be done.")


async def test_an_automatic_set_upgrades_its_instances_itself(bench: Bench) -> None:
    await make(bench, upgrade="Automatic")

    changed = await change(bench, size="Standard_A1")

    assert changed["message"] == "The model has version 2 now; instances that have it: 3 of 3."
    assert changed["at_once"] == []
    assert (await bench.get("/v1/vms/web_0"))["size"] == "Standard_A1"


async def test_a_notice_is_taken_back_with_null(bench: Bench) -> None:
    await make(bench, terminate_notice_seconds=600)
    await change(bench, terminate_notice_seconds=None)
    assert (await bench.get(f"{SETS}/web"))["terminate_notice_seconds"] is None


async def test_a_change_that_says_what_is_so_already_does_nothing(bench: Bench) -> None:
    await make(bench, tags={"team": "web"})
    seq = bench.plane.seq

    outcome = await change(bench, capacity=3, tags={"team": "web"}, orchestration="Uniform", resource_group="FOREWARN")

    assert (outcome["message"], bench.plane.seq) == ("Nothing had to be done.", seq)


async def test_two_changes_at_once_both_take_effect(bench: Bench) -> None:
    await make(bench, capacity=0)

    await asyncio.gather(
        change(bench, size="Standard_A1"), change(bench, os_type="Windows"), change(bench, tags={"a": "b"})
    )

    shown = await bench.get(f"{SETS}/web")
    assert (shown["size"], shown["os_type"], shown["tags"]) == ("Standard_A1", "Windows", {"a": "b"})


async def test_of_two_creations_at_once_one_is_refused(bench: Bench) -> None:
    answers = await asyncio.gather(
        bench.client.post(SETS, json={"name": "web", "capacity": 1}),
        bench.client.post(SETS, json={"name": "WEB", "capacity": 5}),
    )

    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert len(await names_in(bench)) in (1, 5)


# What is refused


@pytest.mark.parametrize(
    ("status", "method", "path", "body", "named"),
    [
        (409, "POST", "", {"name": "WEB"}, "exists already"),
        (400, "POST", "", {"capacity": 3}, "'name' is missing"),
        (400, "POST", "", {"name": "no way"}, "no way"),
        (400, "POST", "", {"name": "a", "capacity": 1001}, "'capacity'"),
        (400, "POST", "", {"name": "a", "capacity": -1}, "'capacity'"),
        (400, "POST", "", {"name": "a", "capacity": "3"}, "'capacity'"),
        (400, "POST", "", {"name": "a", "capacity": None}, "'capacity'"),
        (400, "POST", "", {"name": "a", "orchestration": "uniform"}, "'orchestration'"),
        (400, "POST", "", {"name": "a", "terminate_notice_seconds": 60}, "between 5 and 15 minutes"),
        (400, "POST", "", {"name": "a", "os_image_notice_seconds": 60}, "15 minutes"),
        (400, "POST", "", {"name": "a", "spot": True, "terminate_notice_seconds": 600}, "Spot"),
        (400, "POST", "", {"name": "a", "capacity": 101, "single_placement_group": True}, "at most 100"),
        (400, "POST", "", {"name": "a", "resource_group": "r/g"}, "'resource_group'"),
        (400, "POST", "", {"name": "a", "policy": {"auto_approve": True}}, "'policy.auto_approve'"),
        (400, "PUT", "/web", {"spot": None}, "'spot'"),
        (400, "PUT", "/web", {"name": "web"}, "no field 'name'"),
        (400, "PUT", "/web", {"capcaity": 3}, "no field 'capcaity'"),
        (400, "PUT", "/web", {"terminate_notice_seconds": 1000}, "between 5 and 15 minutes"),
        (409, "PUT", "/web", {"orchestration": "Flexible"}, "cannot be changed"),
        (409, "PUT", "/web", {"single_placement_group": True}, "single placement group"),
        (409, "PUT", "/web", {"resource_group": "other"}, "resource group"),
        (404, "PUT", "/nobody", {"capacity": 3}, "nobody"),
        (404, "GET", "/nobody", None, "nobody"),
        (404, "DELETE", "/nobody", None, "nobody"),
        (404, "POST", "/nobody/scale", {"capacity": 3}, "nobody"),
        (400, "POST", "/web/scale", {}, "'capacity' is missing"),
        (404, "POST", "/nobody/restart", {}, "nobody"),
        (404, "POST", "/nobody/upgrade", {}, "nobody"),
        (404, "POST", "/web/restart", {"instances": ["0", "9"]}, "no instance '9'"),
        (404, "POST", "/web/restart", {"instances": ["00"]}, "no instance '00'"),
        (404, "POST", "/web/restart", {"instances": ["lone"]}, "no instance 'lone'"),
        (400, "POST", "/web/restart", {"instances": [0]}, "'instances.0'"),
        (400, "POST", "/web/delete-instances", {"instances": []}, "'instances'"),
        (404, "POST", "/web/delete-instances", {"instances": ["0", "9"]}, "no instance '9'"),
        (404, "POST", "/web/upgrade", {"instances": ["9"]}, "no instance '9'"),
        (404, "POST", "/web/protect", {"instance": "9"}, "no instance '9'"),
        (400, "POST", "/web/protect", {}, "'instance' is missing"),
        (404, "POST", "/web/explode", {}, "nothing at"),
    ],
)
async def test_a_scale_set_that_cannot_be_is_refused(
    bench: Bench, status: int, method: str, path: str, body: Any, named: str
) -> None:
    await make(bench)
    await bench.create("lone")
    assert named in await bench.refused(status, method, SETS + path, body)


async def test_a_vm_of_a_set_is_deleted_through_the_set(bench: Bench) -> None:
    await make(bench)
    assert "scale set 'web'" in await bench.refused(409, "POST", "/v1/vms/delete", {"names": ["web_0"]})


async def test_an_instance_name_that_is_taken_refuses_the_whole_set(bench: Bench) -> None:
    await bench.create("web_1")
    assert "web_1" in await bench.refused(409, "POST", SETS, {"name": "web", "capacity": 3})
