"""Availability sets: answered at once, always with 200."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.core.specs import Policy
from tests.unit.web.resource_manager.compute.bench import Bench, path_of

pytestmark = pytest.mark.anyio

SET = "availabilitySets/front"
ON, OFF = {"automaticallyApprove": True}, {"automaticallyApprove": False}


async def test_a_set_is_made_and_changed_with_200(bench: Bench) -> None:
    body = {"location": "West US", "sku": {"name": "Aligned"}, "properties": {"platformFaultDomainCount": 2}}

    reply = await bench.ask("PUT", SET, body)

    assert (reply.status, "Azure-AsyncOperation" in reply.headers) == (200, False)
    assert reply.body == await bench.get(SET)
    assert reply.body["location"] == "westus"
    assert reply.body["properties"] == {
        "platformUpdateDomainCount": 5,
        "platformFaultDomainCount": 2,
        "virtualMachines": [],
    }
    await bench.ok("PATCH", SET, {"tags": {"team": "web"}})
    shown = await bench.put(SET, {"location": "westus", "properties": {"platformUpdateDomainCount": 5}})
    assert (shown["tags"], shown["properties"]["platformFaultDomainCount"]) == ({"team": "web"}, 2)


@pytest.mark.parametrize("member", ["platformUpdateDomainCount", "platformFaultDomainCount"])
async def test_how_many_domains_there_are_is_said_once(bench: Bench, member: str) -> None:
    await bench.put(SET, {"location": "westus", "properties": {member: 3}})

    error = await bench.refused(409, "PUT", SET, {"location": "westus", "properties": {member: 2}})

    assert (error["code"], error["target"]) == ("PropertyChangeNotAllowed", member)
    assert (await bench.get(SET))["properties"][member] == 3


async def test_its_policy_counts_for_all_its_vms(bench: Bench) -> None:
    policy = {"userInitiatedReboot": ON, "userInitiatedRedeploy": {}, "allInstancesDown": OFF}
    await bench.put(SET, {"location": "westus", "properties": {"scheduledEventsPolicy": policy}})

    shown = (await bench.get(SET))["properties"]["scheduledEventsPolicy"]

    assert shown == {"userInitiatedReboot": ON, "userInitiatedRedeploy": OFF, "allInstancesDown": OFF}
    found = bench.plane.region.scopes["availability-set/front"].policy
    assert found == Policy(auto_approve_reboot=True, all_instances_down=False)
    await bench.ok("PATCH", SET, {"tags": {}})
    assert bench.plane.region.scopes["availability-set/front"].policy == found


async def test_a_set_with_vms_stays(bench: Bench) -> None:
    await bench.put(SET, {"location": "westus"})
    vm = {"location": "westus", "properties": {"availabilitySet": {"id": path_of(SET)}}}
    await bench.put("virtualMachines/one", vm, 201)

    error = await bench.refused(409, "DELETE", SET)

    assert "has VMs in it" in error["message"]
    await bench.begin("DELETE", "virtualMachines/one")
    await bench.ok("DELETE", SET)
    await bench.ok("DELETE", SET, status=204)
    assert not bench.plane.region.resources


async def test_sets_are_listed(bench: Bench) -> None:
    await bench.put(SET, {"location": "westus"})
    await bench.put("availabilitySets/back", {"location": "westus"}, group="rg2")

    everywhere = path_of("").partition("/resourceGroups")[0] + "/providers/Microsoft.Compute/availabilitySets"
    assert [each["name"] for each in (await bench.get("availabilitySets"))["value"]] == ["front"]
    assert [each["name"] for each in (await bench.get(everywhere))["value"]] == ["back", "front"]


@pytest.mark.parametrize(
    ("properties", "target"),
    [
        ({"platformFaultDomainCount": 4}, "platformFaultDomainCount"),
        ({"platformUpdateDomainCount": 0}, "platformUpdateDomainCount"),
        ({"platformUpdateDomainCount": "many"}, "properties.platformUpdateDomainCount"),
        ({"virtualMachines": {}}, "properties.virtualMachines"),
    ],
)
async def test_values_out_of_range_are_refused(bench: Bench, properties: dict[str, Any], target: str) -> None:
    error = await bench.refused(400, "PUT", SET, {"location": "westus", "properties": properties})

    assert (error["code"], error["target"]) == ("InvalidParameter", target)


async def test_an_availability_set_with_a_bad_name_or_without_a_location_or_of_another_group_is_refused(
    bench: Bench,
) -> None:
    await bench.put(SET, {"location": "westus"})

    assert (await bench.refused(404, "GET", SET, group="rg2"))["code"] == "ResourceNotFound"
    error = await bench.refused(409, "PUT", SET, {"location": "westus"}, group="rg2")
    assert error["message"] == "Availability set 'front' exists already, in resource group 'rg1'."
    assert (await bench.refused(400, "PUT", "availabilitySets/a b", {"location": "x"}))["target"] == (
        "availabilitySetName"
    )
    assert (await bench.refused(400, "PUT", "availabilitySets/new", {}))["code"] == "LocationRequired"
    await bench.refused(404, "PATCH", "availabilitySets/new", {})
