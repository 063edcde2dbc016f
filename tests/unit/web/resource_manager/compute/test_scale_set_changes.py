"""PUT and PATCH of a scale set: a merge, with the service's own corners."""

from __future__ import annotations

from asyncio import gather
from typing import Any

import pytest

from forewarn.core.specs import Orchestration, ScaleInRule, UpgradeMode
from tests.unit.web.resource_manager.compute.bench import Bench, events_profile, scale_set_body, terminate

pytestmark = pytest.mark.anyio

SET = "virtualMachineScaleSets/web"
ON, OFF = {"automaticallyApprove": True}, {"automaticallyApprove": False}


async def made(bench: Bench, **more: Any) -> None:
    await bench.put(SET, scale_set_body(**more), 201)


def profile_in(shown: dict[str, Any]) -> dict[str, Any]:
    profile: dict[str, Any] = shown["properties"]["virtualMachineProfile"]
    return profile


async def test_a_new_set_is_told_back_tidy_and_without_its_secrets(bench: Bench) -> None:
    shown = await bench.put(SET, scale_set_body(profile={"scheduledEventsProfile": terminate()}), 201)

    assert shown["properties"]["provisioningState"] == "Creating"
    shown = await bench.get(SET)
    assert (shown["name"], shown["type"]) == ("web", "Microsoft.Compute/virtualMachineScaleSets")
    assert shown["location"] == "westus"
    assert shown["sku"] == {"name": "Standard_D2s_v5", "tier": "Standard", "capacity": 2}
    assert shown["properties"]["provisioningState"] == "Succeeded"
    assert shown["properties"]["upgradePolicy"] == {"mode": "Manual"}
    assert shown["properties"]["timeCreated"] == "2026-01-01T12:00:00+00:00"
    assert profile_in(shown)["timeCreated"] == "2026-01-01T12:00:00+00:00"
    assert profile_in(shown)["scheduledEventsProfile"] == terminate(enable=True)
    assert profile_in(shown)["osProfile"] == {"computerNamePrefix": "web1e", "adminUsername": "me"}
    assert "not to be kept" not in bench.plane.region.resources[shown["id"].lower()].body


async def test_what_is_absent_or_null_keeps_its_value(bench: Bench) -> None:
    await made(bench)
    before = await bench.get(SET)
    change = scale_set_body(upgradePolicy=None)
    del change["properties"]["virtualMachineProfile"]["storageProfile"]["imageReference"]

    await bench.put(SET, change)

    after = await bench.get(SET)
    assert after == {**before, "etag": '"2"'}


async def test_scaling_says_nothing_but_place_and_size(bench: Bench) -> None:
    await made(bench)

    await bench.put(SET, {"location": "westus", "sku": {"name": "Standard_D2s_v5", "capacity": 3}})

    shown = await bench.get(SET)
    assert shown["sku"]["capacity"] == 3
    assert profile_in(shown)["storageProfile"]["imageReference"]["publisher"] == "Canonical"
    assert sorted(bench.plane.region.vms) == ["web_0", "web_1", "web_2"]


async def test_a_timeout_alone_changes_the_timeout(bench: Bench) -> None:
    await made(bench, profile={"scheduledEventsProfile": terminate()})

    await bench.put(SET, {"location": "westus", **events_profile("PT9M", None)})

    assert profile_in(await bench.get(SET))["scheduledEventsProfile"] == terminate("PT9M", enable=True)


async def test_a_timeout_without_enabling_waits_to_be_enabled(bench: Bench) -> None:
    await made(bench)
    await bench.ok("PATCH", SET, events_profile("PT9M", None))
    assert bench.plane.region.scale_sets["web"].vm_spec.terminate_notice is None

    await bench.ok("PATCH", SET, events_profile(None, True))

    assert profile_in(await bench.get(SET))["scheduledEventsProfile"] == terminate("PT9M", enable=True)


async def test_disabling_removes_the_profile(bench: Bench) -> None:
    await made(bench, profile={"scheduledEventsProfile": terminate()})

    await bench.put(SET, {"location": "westus", **events_profile(None, "false")})

    assert profile_in(await bench.get(SET))["scheduledEventsProfile"] == {}
    assert bench.plane.region.scale_sets["web"].vm_spec.terminate_notice is None


async def test_disabling_one_notification_leaves_the_other(bench: Bench) -> None:
    both = {**terminate(), "osImageNotificationProfile": {"enable": True}}
    await made(bench, profile={"scheduledEventsProfile": both})

    await bench.ok("PATCH", SET, events_profile(None, False))

    left = {"osImageNotificationProfile": {"enable": True, "notBeforeTimeout": "PT15M"}}
    assert profile_in(await bench.get(SET))["scheduledEventsProfile"] == left


async def test_a_policy_that_turns_nothing_on_is_not_kept(bench: Bench) -> None:
    targets = {"eventGridAndResourceGraph": {"enable": True}}
    said = {"userInitiatedRedeploy": {}, "userInitiatedReboot": ON}
    await made(bench, scheduledEventsPolicy={**said, "scheduledEventsAdditionalPublishingTargets": targets})
    shown = (await bench.get(SET))["properties"]["scheduledEventsPolicy"]
    assert (shown["userInitiatedRedeploy"], shown["userInitiatedReboot"]) == (OFF, ON)
    assert bench.plane.region.scale_sets["web"].spec.policy.auto_approve_reboot

    nothing = {
        "userInitiatedReboot": OFF,
        "scheduledEventsAdditionalPublishingTargets": {"eventGridAndResourceGraph": {"enable": False}},
    }
    await bench.put(SET, {"location": "westus", "properties": {"scheduledEventsPolicy": nothing}})

    assert "scheduledEventsPolicy" not in (await bench.get(SET))["properties"]
    assert not bench.plane.region.scale_sets["web"].spec.policy.auto_approve_reboot


async def test_all_instances_down_is_kept_whatever_it_says(bench: Bench) -> None:
    await made(bench, scheduledEventsPolicy={"allInstancesDown": OFF, "userInitiatedReboot": OFF})

    shown = (await bench.get(SET))["properties"]["scheduledEventsPolicy"]
    assert shown == {"allInstancesDown": OFF, "userInitiatedReboot": OFF}
    assert not bench.plane.region.scale_sets["web"].spec.policy.all_instances_down


async def test_the_policy_of_a_set_is_that_of_its_placement_groups(bench: Bench) -> None:
    await made(bench, scheduledEventsPolicy={"userInitiatedReboot": ON})
    await bench.read("web_0")

    await bench.begin("POST", f"{SET}/virtualMachines/0/restart")

    assert [event.status for event in bench.events("web_0")] == ["Started"]


async def test_each_change_counts_the_etag_up_and_only_a_new_model_has_a_new_time(bench: Bench) -> None:
    await made(bench)
    await bench.advance(minutes=1)
    await bench.ok("PATCH", SET, {"sku": {"capacity": 1}})
    scaled = await bench.get(SET)
    await bench.ok("PATCH", SET, events_profile())
    reply = await bench.ask("GET", SET)

    assert (scaled["etag"], reply.body["etag"], reply.headers["ETag"]) == ('"2"', '"3"', '"3"')
    assert profile_in(scaled)["timeCreated"] == "2026-01-01T12:00:00+00:00"
    assert profile_in(reply.body)["timeCreated"] == "2026-01-01T12:01:00+00:00"
    assert reply.body["properties"]["timeCreated"] == "2026-01-01T12:00:00+00:00"


async def test_a_change_can_be_made_to_depend_on_the_etag(bench: Bench) -> None:
    await made(bench)
    for header in ({"if-match": '"7"'}, {"if-none-match": "*"}, {"if-none-match": '"1"'}):
        error = await bench.refused(412, "PATCH", SET, {"sku": {"capacity": 1}}, headers=header)
        assert error["code"] == "PreconditionFailed"

    await bench.ok("PATCH", SET, {"sku": {"capacity": 1}}, headers={"if-match": '"1"'})

    await bench.refused(412, "PUT", "virtualMachineScaleSets/new", scale_set_body(), headers={"if-match": "*"})


async def latest(bench: Bench) -> list[bool]:
    found = (await bench.get(f"{SET}/virtualMachines"))["value"]
    return [each["properties"]["latestModelApplied"] for each in found]


async def test_instances_have_a_new_model_when_they_are_told_to(bench: Bench) -> None:
    await made(bench)
    assert await latest(bench) == [True, True]
    await bench.ok("PATCH", SET, events_profile())
    assert await latest(bench) == [False, False]
    assert bench.plane.region.vms["web_1"].spec.terminate_notice is None

    await bench.begin("POST", f"{SET}/manualupgrade", {"instanceIds": ["1"]})
    assert await latest(bench) == [False, True]

    await bench.begin("POST", f"{SET}/manualupgrade", {"instanceIds": ["*"]})
    assert await latest(bench) == [True, True]


async def test_a_new_image_is_a_new_model_too(bench: Bench) -> None:
    await made(bench)
    image = {"storageProfile": {"imageReference": {"version": "22.04.1"}}}

    await bench.ok("PATCH", SET, {"properties": {"virtualMachineProfile": image}})

    assert await latest(bench) == [False, False]
    shown = profile_in(await bench.get(SET))["storageProfile"]["imageReference"]
    assert (shown["publisher"], shown["version"]) == ("Canonical", "22.04.1")


@pytest.mark.parametrize("mode", ["automatic", "Rolling"])
async def test_with_an_automatic_upgrade_mode_instances_take_a_new_model_by_themselves(bench: Bench, mode: str) -> None:
    await made(bench, upgradePolicy={"mode": mode})

    await bench.ok("PATCH", SET, events_profile())

    assert await latest(bench) == [True, True]


async def test_a_prefix_that_leaves_windows_no_room_for_a_number_is_refused(bench: Bench) -> None:
    for prefix in ("ten-letter", "2026", "web_"):
        system: dict[str, Any] = {"computerNamePrefix": prefix, "windowsConfiguration": {}}
        reply = await bench.ask("PUT", SET, scale_set_body(profile={"osProfile": system}))
        assert reply.status == 400
        assert reply.body["error"]["target"].endswith("osProfile.computerNamePrefix")
        assert "Windows computer name prefix cannot be more than 9 characters long" in reply.body["error"]["message"]
    assert not bench.plane.region.scale_sets
    await made(bench, profile={"osProfile": {"computerNamePrefix": "ten-letter", "linuxConfiguration": {}}})


async def test_what_the_region_has_of_it_follows_the_body(bench: Bench) -> None:
    await made(
        bench,
        upgradePolicy={"mode": "AUTOMATIC"},
        scaleInPolicy={"rules": ["newestvm"]},
        profile={"priority": "spot", "evictionPolicy": "delete", "osProfile": {"windowsConfiguration": {}}},
        orchestrationMode="flexible",
    )

    scale_set = bench.plane.region.scale_sets["web"]
    assert (scale_set.spec.upgrade, scale_set.spec.scale_in) == (UpgradeMode.AUTOMATIC, ScaleInRule.NEWEST_VM)
    assert (scale_set.orchestration, scale_set.vm_spec.os_type) == (Orchestration.FLEXIBLE, "Windows")
    assert (scale_set.vm_spec.spot, scale_set.vm_spec.eviction_policy) == (True, "Delete")
    shown = await bench.get(SET)
    assert shown["properties"]["scaleInPolicy"] == {"rules": ["NewestVM"]}
    assert (profile_in(shown)["priority"], profile_in(shown)["evictionPolicy"]) == ("Spot", "Delete")


async def test_a_flexible_set_may_begin_empty(bench: Bench) -> None:
    body = {"location": "westus", "properties": {"orchestrationMode": "Flexible", "platformFaultDomainCount": 1}}

    shown = await bench.put(SET, body, 201)

    assert "sku" not in shown
    assert "virtualMachineProfile" not in shown["properties"]
    error = await bench.refused(400, "PATCH", SET, {"sku": {"name": "Standard_A1", "capacity": 1}})
    assert error["target"] == "virtualMachineProfile"
    model = scale_set_body(1, orchestrationMode="Flexible")
    await bench.put(SET, model)
    assert len(bench.plane.region.vms) == 1


REFUSED = [
    ({"sku": None}, 400, "InvalidParameter", "sku"),
    ({"sku": {"capacity": 1}}, 400, "InvalidParameter", "sku.name"),
    ({"sku": {"name": "Standard_A1"}}, 400, "InvalidParameter", "sku.capacity"),
    ({"sku": {"name": "Standard_A1", "capacity": -1}}, 400, "InvalidParameter", "sku.capacity"),
    ({"sku": {"name": "Standard_A1", "capacity": 1001}}, 400, "InvalidParameter", "sku.capacity"),
    ({"location": None}, 400, "LocationRequired", "location"),
    ({"location": ""}, 400, "LocationRequired", "location"),
    ({"properties": {}}, 400, "InvalidParameter", "virtualMachineProfile"),
]


@pytest.mark.parametrize(("change", "status", "code", "target"), REFUSED)
async def test_a_set_that_lacks_something_is_not_made(
    bench: Bench, change: dict[str, Any], status: int, code: str, target: str
) -> None:
    error = await bench.refused(status, "PUT", SET, {**scale_set_body(), **change})

    assert (error["code"], error["target"]) == (code, target)


@pytest.mark.parametrize(
    ("properties", "target"),
    [
        ({"upgradePolicy": {"mode": "sometimes"}}, "properties.upgradePolicy.mode"),
        ({"orchestrationMode": "VM"}, "properties.orchestrationMode"),
        ({"scaleInPolicy": {"rules": ["Default", "Tallest"]}}, "properties.scaleInPolicy.rules"),
        ({"profile": {"priority": "high"}}, "properties.virtualMachineProfile.priority"),
        (
            {"profile": {"priority": "Spot", "evictionPolicy": "Sell"}},
            "properties.virtualMachineProfile.evictionPolicy",
        ),
        ({"profile": {"evictionPolicy": "Delete"}}, "properties.virtualMachineProfile.evictionPolicy"),
        (
            {"profile": {"storageProfile": {"osDisk": {"osType": "Plan9"}}}},
            "properties.virtualMachineProfile.storageProfile.osDisk.osType",
        ),
    ],
)
async def test_unknown_values_of_a_scale_set_are_refused(bench: Bench, properties: dict[str, Any], target: str) -> None:
    error = await bench.refused(400, "PUT", SET, scale_set_body(**properties))

    assert (error["code"], error["target"]) == ("InvalidParameter", target)


@pytest.mark.parametrize("name", ["-web", "web-", "we~b", "wéb", "a" * 65, "web set"])
async def test_a_name_that_no_set_can_have_is_refused(bench: Bench, name: str) -> None:
    error = await bench.refused(400, "PUT", f"virtualMachineScaleSets/{name}", scale_set_body())

    assert (error["code"], error["target"]) == ("InvalidParameter", "vmScaleSetName")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"location": "eastus"}, "InvalidResourceLocation"),
        ({"properties": {"orchestrationMode": "Flexible"}}, "PropertyChangeNotAllowed"),
        ({"properties": {"singlePlacementGroup": True}}, "PropertyChangeNotAllowed"),
        ({"properties": {"virtualMachineProfile": {"priority": "Spot"}}}, "PropertyChangeNotAllowed"),
    ],
)
async def test_properties_that_are_fixed_at_creation_cannot_be_changed(
    bench: Bench, change: dict[str, Any], code: str
) -> None:
    await made(bench)

    assert (await bench.refused(409, "PUT", SET, change))["code"] == code


async def test_a_single_placement_group_can_be_given_up(bench: Bench) -> None:
    await made(bench, singlePlacementGroup=True)

    await bench.ok("PATCH", SET, {"properties": {"singlePlacementGroup": False}})

    assert (await bench.get(SET))["properties"]["singlePlacementGroup"] is False


async def test_a_set_of_that_name_in_another_group_is_in_the_way(bench: Bench) -> None:
    await made(bench)

    error = await bench.refused(409, "PUT", SET, scale_set_body(), group="rg2")

    assert error["message"] == "Scale set 'web' exists already, in resource group 'rg1'."


async def test_one_placement_group_holds_a_hundred(bench: Bench) -> None:
    error = await bench.refused(400, "PUT", SET, scale_set_body(101, singlePlacementGroup=True))

    assert "at most 100" in error["message"]
    await bench.put(SET, scale_set_body(101), 201)


async def test_two_changes_at_once_lose_neither(bench: Bench) -> None:
    await made(bench)

    await gather(
        bench.ok("PATCH", SET, {"tags": {"team": "web"}}),
        bench.ok("PATCH", SET, events_profile()),
        bench.ok("PATCH", SET, {"sku": {"capacity": 1}}),
    )

    shown = await bench.get(SET)
    assert (shown["tags"], shown["etag"], shown["sku"]["capacity"]) == ({"team": "web"}, '"4"', 1)
    assert profile_in(shown)["scheduledEventsProfile"] == terminate(enable=True)
