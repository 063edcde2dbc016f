"""What may stand in a body, by api-version, and how the rest is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forewarn.web.resource_manager.compute.members import SINCE
from forewarn.web.resource_manager.compute.schema import OBJECTS, position
from tests.unit.web.resource_manager.compute.bench import Bench, events_profile, scale_set_body

pytestmark = pytest.mark.anyio

SET, VM, AVAILABILITY_SET = "virtualMachineScaleSets/web", "virtualMachines/one", "availabilitySets/front"
APPROVE = {"automaticallyApprove": True}
TARGETS = {"eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}}
POLICY = "properties.scheduledEventsPolicy"
PROFILE = "properties.virtualMachineProfile.scheduledEventsProfile"

# where, the member, the object that lacks it, the first api-version that has it, the last of the others that was tried
TOO_NEW = [
    (SET, PROFILE, "VirtualMachineProfile", "2019-03-01", "2018-10-01"),
    (SET, f"{PROFILE}.osImageNotificationProfile", "ScheduledEventsProfile", "2022-11-01", "2022-08-01"),
    (VM, "properties.scheduledEventsProfile", "Properties", "2021-03-01", "2020-12-01"),
    (
        VM,
        "properties.scheduledEventsProfile.osImageNotificationProfile",
        "ScheduledEventsProfile",
        "2022-11-01",
        "2022-08-01",
    ),
    (VM, POLICY, "Properties", "2024-03-01", "2023-09-01"),
    (SET, POLICY, "Properties", "2024-03-01", "2023-09-01"),
    (AVAILABILITY_SET, POLICY, "Properties", "2024-07-01", "2024-03-01"),
    (SET, f"{POLICY}.allInstancesDown", "ScheduledEventsPolicy", "2025-04-01", "2024-11-01"),
    (VM, f"{POLICY}.allInstancesDown", "ScheduledEventsPolicy", "2025-04-01", "2024-11-01"),
    (
        AVAILABILITY_SET,
        f"{POLICY}.scheduledEventsAdditionalPublishingTargets.eventGridAndResourceGraph.scheduledEventsApiVersion",
        "EventGridAndResourceGraph",
        "2025-04-01",
        "2024-11-01",
    ),
]
LABELS = {SET: "vmss", VM: "vm", AVAILABILITY_SET: "availabilitySet"}
VALUES: dict[str, Any] = {
    "scheduledEventsProfile": {"terminateNotificationProfile": {"enable": True}},
    "osImageNotificationProfile": {"enable": True},
    "scheduledEventsPolicy": {"userInitiatedReboot": APPROVE},
    "allInstancesDown": APPROVE,
    "scheduledEventsApiVersion": "2020-07-01",
}


def body_with(place: str, path: str) -> dict[str, Any]:
    """A body that would do, but for one member."""
    body: dict[str, Any] = scale_set_body() if place == SET else {"location": "westus", "properties": {}}
    *way, name = path.split(".")
    inner: dict[str, Any] = body
    for step in way:
        inner = inner.setdefault(step, {})
    inner[name] = VALUES[name]
    return body


@pytest.mark.parametrize(("place", "path", "kind", "since", "before"), TOO_NEW)
async def test_a_member_too_new_for_the_api_version_is_not_found(
    bench: Bench, place: str, path: str, kind: str, since: str, before: str
) -> None:
    body = body_with(place, path)
    name = path.rpartition(".")[2]

    error = await bench.refused(400, "PUT", place, body, version=before)

    where = f"Path '{path}', line 1, position {position(body, tuple(path.split('.')))}."
    assert error == {
        "code": "BadRequest",
        "message": f"Could not find member '{name}' on object of type '{kind}'. {where}",
        "target": f"{LABELS[place]}.{path}",
    }
    assert (await bench.ask("PUT", place, body, version=since)).status in (200, 201)


async def test_a_scale_sets_patch_has_no_policy(bench: Bench) -> None:
    await bench.put(SET, scale_set_body(), 201)

    error = await bench.refused(400, "PATCH", SET, {"properties": {"scheduledEventsPolicy": {}}})

    assert error["message"].startswith("Could not find member 'scheduledEventsPolicy' on object of type 'Properties'.")


async def test_what_is_too_new_for_a_reader_is_not_shown_so_that_it_can_be_put_back(bench: Bench) -> None:
    model = scale_set_body(scheduledEventsPolicy={"userInitiatedReboot": APPROVE, "allInstancesDown": APPROVE})
    await bench.put(SET, model, 201)
    await bench.ok("PATCH", SET, events_profile())

    old = await bench.get(SET, version="2018-10-01")
    newer = await bench.get(SET, version="2024-03-01")

    assert "scheduledEventsProfile" not in old["properties"]["virtualMachineProfile"]
    assert "scheduledEventsPolicy" not in old["properties"]
    assert newer["properties"]["scheduledEventsPolicy"] == {"userInitiatedReboot": APPROVE}
    await bench.put(SET, old, version="2018-10-01")
    assert (await bench.get(SET))["properties"]["scheduledEventsPolicy"]["allInstancesDown"] == APPROVE


UNKNOWN = [
    ({"properties": {"colour": "red"}}, "colour", "Properties", "vmss.properties.colour"),
    (
        {"properties": {"virtualMachineProfile": {"scheduledEventProfile": {}}}},
        "scheduledEventProfile",
        "VirtualMachineProfile",
        "vmss.properties.virtualMachineProfile.scheduledEventProfile",
    ),
    (
        {"properties": {"virtualMachineProfile": {"storageProfile": {"dataDisks": [{"lun": 0}, {"depth": 3}]}}}},
        "depth",
        "DataDisk",
        "vmss.properties.virtualMachineProfile.storageProfile.dataDisks[1].depth",
    ),
    ({"sku": {"size": 3}}, "size", "Sku", "vmss.sku.size"),
]


@pytest.mark.parametrize(("change", "name", "kind", "target"), UNKNOWN)
async def test_an_unknown_member_of_a_body_is_refused(
    bench: Bench, change: dict[str, Any], name: str, kind: str, target: str
) -> None:
    await bench.put(SET, scale_set_body(), 201)

    error = await bench.refused(400, "PUT", SET, change)

    assert error["code"] == "BadRequest"
    assert error["message"].startswith(f"Could not find member '{name}' on object of type '{kind}'. Path '")
    assert error["target"] == target


async def test_an_unknown_member_at_the_top_is_refused_in_the_front_ends_words(bench: Bench) -> None:
    error = await bench.refused(400, "PUT", SET, {**scale_set_body(), "colour": "red"})

    assert error["code"] == "InvalidRequestContent"
    assert (
        "Could not find member 'colour' on object of type 'ResourceDefinition'. Path 'colour', line 1"
        in (error["message"])
    )


@pytest.mark.parametrize("body", [None, [], "text", 7, True])
async def test_a_body_that_is_no_object_is_refused(bench: Bench, body: Any) -> None:
    for place in (SET, VM, AVAILABILITY_SET):
        assert (await bench.refused(400, "PUT", place, body))["code"] == "InvalidRequestContent"


async def test_an_api_version_newer_than_what_is_known_may_bring_more(bench: Bench) -> None:
    body = scale_set_body(colour="red")

    shown = await bench.put(SET, body, 201, version="2027-01-01")

    assert shown["properties"]["colour"] == "red"


async def test_members_are_known_in_any_case_and_told_back_in_the_services(bench: Bench) -> None:
    await bench.put(AVAILABILITY_SET, {"Location": "westus", "PROPERTIES": {"platformfaultdomaincount": 2}})

    assert (await bench.get(AVAILABILITY_SET))["properties"]["platformFaultDomainCount"] == 2


async def test_booleans_may_be_text_and_come_back_as_booleans(bench: Bench) -> None:
    body = scale_set_body(profile={"scheduledEventsProfile": {"terminateNotificationProfile": {"enable": "True"}}})

    await bench.put(SET, body, 201)

    profile = (await bench.get(SET))["properties"]["virtualMachineProfile"]
    assert profile["scheduledEventsProfile"] == {
        "terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT5M"}
    }
    assert profile["networkProfile"]["networkInterfaceConfigurations"][0]["properties"]["primary"] is True


@pytest.mark.parametrize(
    ("change", "target"),
    [
        ({"sku": {"capacity": "three"}}, "sku.capacity"),
        ({"sku": {"capacity": 2.5}}, "sku.capacity"),
        ({"sku": {"capacity": True}}, "sku.capacity"),
        ({"sku": []}, "sku"),
        ({"sku": {"name": 7}}, "sku.name"),
        ({"tags": {"team": 7}}, "tags.team"),
        ({"tags": ["web"]}, "tags"),
        ({"zones": "1"}, "zones"),
        ({"zones": [1]}, "zones[0]"),
        ({"properties": "many"}, "properties"),
        ({"properties": {"overprovision": "perhaps"}}, "properties.overprovision"),
        ({"properties": {"overprovision": 1}}, "properties.overprovision"),
        (
            {"properties": {"virtualMachineProfile": {"billingProfile": {"maxPrice": "-1"}}}},
            "properties.virtualMachineProfile.billingProfile.maxPrice",
        ),
    ],
)
async def test_a_value_of_the_wrong_type_is_refused_by_its_name(
    bench: Bench, change: dict[str, Any], target: str
) -> None:
    await bench.put(SET, scale_set_body(), 201)

    error = await bench.refused(400, "PATCH", SET, change)

    assert (error["code"], error["target"]) == ("InvalidParameter", target)
    assert f"'{target}' must be" in error["message"]


async def test_numbers_may_be_text_as_templates_write_them(bench: Bench) -> None:
    await bench.put(SET, {**scale_set_body(), "sku": {"name": "Standard_A1", "capacity": "3"}}, 201)

    assert (await bench.get(SET))["sku"]["capacity"] == 3


def test_the_position_is_that_after_the_name_in_what_clients_send() -> None:
    body = {"location": "x", "properties": {"list": [{"a": 1}, {"ä": 2}]}}

    assert json.dumps(body)[: position(body, ("properties", "list", 1, "ä"))].endswith('"\\u00e4":')
    assert json.dumps(body)[: position(body, ("location",))] == '{"location":'


def test_the_table_names_only_what_it_has() -> None:
    for members in OBJECTS.values():
        for _, holds in members.values():
            assert holds.strip("[]{}") in {"s", "b", "i", "n", "*", "!"} | set(OBJECTS)
    for kind, member in SINCE:
        assert OBJECTS[kind][member.lower()][0] == member
