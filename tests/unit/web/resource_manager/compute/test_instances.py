"""The instances of a scale set, one by one and in lists."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.unit.web.resource_manager.compute.bench import BASE_URL, Bench, events_profile, path_of, scale_set_body

pytestmark = pytest.mark.anyio

SET = "virtualMachineScaleSets/web"
SPOT: dict[str, Any] = {"profile": {"priority": "Spot", "evictionPolicy": "Deallocate"}}


async def made(bench: Bench, capacity: int = 2, **more: Any) -> None:
    await bench.put(SET, scale_set_body(capacity, **more), 201)


async def test_an_instance_of_a_uniform_set_is_shown_with_its_id_name_and_model(bench: Bench) -> None:
    await made(bench, 12, **SPOT)

    shown = await bench.get(f"{SET}/virtualMachines/11")

    properties = shown.pop("properties")
    assert shown == {
        "name": "web_11",
        "id": path_of(f"{SET}/virtualMachines/11"),
        "type": "Microsoft.Compute/virtualMachineScaleSets/virtualMachines",
        "location": "westus",
        "instanceId": "11",
        "tags": {},
        "sku": {"name": "Standard_D2s_v5", "tier": "Standard"},
        "etag": '"1"',
    }
    assert properties["osProfile"] == {"computerName": "web1e00000B", "adminUsername": "me"}
    assert properties["vmId"] == bench.plane.region.vms["web_11"].vm_id
    assert properties["hardwareProfile"] == {"vmSize": "Standard_D2s_v5"}
    assert properties["storageProfile"]["imageReference"]["publisher"] == "Canonical"
    assert [each["id"].rpartition("/")[2] for each in properties["networkProfile"]["networkInterfaces"]] == ["webNic"]
    assert (properties["priority"], properties["evictionPolicy"]) == ("Spot", "Deallocate")
    assert (properties["latestModelApplied"], properties["provisioningState"]) == (True, "Succeeded")
    assert "instanceView" not in properties


async def test_an_instances_view_says_where_it_is_and_what_it_does(bench: Bench) -> None:
    await made(bench, 7)
    view = await bench.get(f"{SET}/virtualMachines/6/instanceView")

    assert (view["platformUpdateDomain"], view["platformFaultDomain"]) == (1, 0)
    assert [status["code"] for status in view["statuses"]] == ["ProvisioningState/succeeded", "PowerState/running"]
    assert view["statuses"][1]["displayStatus"] == "VM running"
    assert view["placementGroupId"] == (await bench.get(f"{SET}/virtualMachines/0/instanceView"))["placementGroupId"]
    expanded = await bench.get(f"{SET}/virtualMachines/6", expand="instanceView")
    assert expanded["properties"]["instanceView"] == view
    listed = (await bench.get(f"{SET}/virtualMachines", expand="instanceView"))["value"]
    assert [each["instanceId"] for each in listed] == [str(number) for number in range(7)]
    assert listed[6]["properties"]["instanceView"] == view


@pytest.mark.parametrize(
    ("verb", "code"), [("poweroff", "stopped"), ("deallocate", "deallocated"), ("start", "running")]
)
async def test_power_is_shown_as_it_is(bench: Bench, verb: str, code: str) -> None:
    await made(bench)

    operation = await bench.begin("POST", f"{SET}/virtualMachines/1/{verb}")

    assert await operation.status() == "Succeeded"
    view = await bench.get(f"{SET}/virtualMachines/1/instanceView")
    assert view["statuses"][1]["code"] == f"PowerState/{code}"
    assert (await bench.get(f"{SET}/virtualMachines/0/instanceView"))["statuses"][1]["code"] == "PowerState/running"


async def test_a_flexible_sets_instances_are_vms_of_their_own(bench: Bench) -> None:
    await made(bench, 2, orchestrationMode="Flexible")

    listed = (await bench.get(f"{SET}/virtualMachines"))["value"]

    names = [each["name"] for each in listed]
    assert listed[0] == {
        "name": names[0],
        "id": path_of(f"virtualMachines/{names[0]}"),
        "type": "Microsoft.Compute/virtualMachines",
        "location": "westus",
        "instanceId": names[0],
        "zones": [None],
    }
    assert all(name.startswith("web_") and len(name) == 12 for name in names)
    shown = await bench.get(f"virtualMachines/{names[0]}")
    assert shown["properties"]["virtualMachineScaleSet"] == {"id": path_of(SET)}
    assert shown["location"] == "westus"
    mine = (await bench.get("virtualMachines", filter=f"'virtualMachineScaleSet/id' eq '{path_of(SET)}'"))["value"]
    assert sorted(each["name"] for each in mine) == sorted(names)
    await bench.begin("POST", f"{SET}/delete", {"instanceIds": [names[0].upper()]})
    await bench.begin("DELETE", f"virtualMachines/{names[1]}")
    assert (await bench.get(SET))["sku"]["capacity"] == 0


async def test_a_flexible_instance_can_be_changed_as_a_vm(bench: Bench) -> None:
    await made(bench, 1, orchestrationMode="Flexible")
    (name,) = bench.plane.region.vms

    await bench.ok("PATCH", f"virtualMachines/{name}", {"tags": {"team": "web"}})

    assert bench.plane.region.vms[name].spec.tags == (("team", "web"),)
    for other in (path_of("virtualMachineScaleSets/other"), path_of("availabilitySets/front")):
        change = {"properties": {"virtualMachineScaleSet": {"id": other}}}
        await bench.refused(400 if "availability" in other else 409, "PATCH", f"virtualMachines/{name}", change)
    shown = await bench.put(f"{SET}/virtualMachines/{name}", {"tags": {"own": "yes"}})
    assert shown["tags"] == {"own": "yes"}
    await bench.begin("DELETE", f"virtualMachines/{name}")
    kept = [key for key in bench.plane.region.resources if name in key]
    assert kept == []


async def test_a_uniform_sets_instances_are_no_vms(bench: Bench) -> None:
    await made(bench)

    assert (await bench.get("virtualMachines"))["value"] == []
    await bench.refused(404, "GET", "virtualMachines/web_0")
    error = await bench.refused(409, "PUT", "virtualMachines/web_0", {"location": "westus"})
    assert "'web_0' exists already" in error["message"]


async def test_protection_and_tags_are_an_instances_own(bench: Bench) -> None:
    await made(bench)
    place = f"{SET}/virtualMachines/1"
    whole = await bench.get(place)
    whole["tags"] = {"job": "leader"}
    whole["properties"]["protectionPolicy"] = {"protectFromScaleIn": True}

    operation = await bench.begin("PUT", place, whole, 200)

    assert await operation.status() == "Succeeded"
    shown = await bench.get(place)
    assert shown["tags"] == {"job": "leader"}
    assert (shown["properties"]["protectionPolicy"], shown["etag"]) == ({"protectFromScaleIn": True}, '"2"')
    assert bench.plane.region.vms["web_1"].traits.protected
    await bench.put(place, {"properties": {"protectionPolicy": {"protectFromScaleIn": False}}})
    assert not bench.plane.region.vms["web_1"].traits.protected
    await bench.put(place, {"properties": {"protectionPolicy": {"protectFromScaleSetActions": True}}})
    assert bench.plane.region.vms["web_1"].traits.protected
    await bench.begin("DELETE", place)
    assert len(bench.plane.region.resources) == 1


async def test_evictions_come_by_themselves(bench: Bench) -> None:
    await made(bench, **SPOT)

    reply = await bench.ask("POST", f"{SET}/virtualMachines/1/simulateEviction")

    assert (reply.status, reply.body, dict(reply.headers)) == (204, None, {})
    await bench.advance(minutes=1)
    view = await bench.get(f"{SET}/virtualMachines/1/instanceView")
    assert view["statuses"][1]["code"] == "PowerState/deallocated"


async def test_an_evicted_instance_can_be_gone(bench: Bench) -> None:
    await made(bench, profile={"priority": "Spot", "evictionPolicy": "Delete"})
    await bench.ok("POST", f"{SET}/virtualMachines/1/simulateEviction", status=204)
    await bench.advance(minutes=1)

    error = await bench.refused(404, "GET", f"{SET}/virtualMachines/1/instanceView")

    assert error == {"code": "NotFound", "message": "The entity was not found in this Azure location."}


async def test_only_spot_instances_are_evicted(bench: Bench) -> None:
    await made(bench)

    error = await bench.refused(409, "POST", f"{SET}/virtualMachines/1/simulateEviction")

    assert error == {
        "code": "OperationNotAllowed",
        "message": "Operation 'simulateEviction' is allowed only for Spot Virtual Machines",
    }


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_an_unknown_instance_is_not_found(bench: Bench, method: str) -> None:
    await made(bench)
    for number in ("2", "00", "99999999999999999999"):
        error = await bench.refused(404, method, f"{SET}/virtualMachines/{number}", {})
        assert error["message"] == "The entity was not found in this Azure location."
    error = await bench.refused(400, method, f"{SET}/virtualMachines/one", {})
    assert error["message"] == "Virtual Machine Scale Set VM instanceId must be a number."
    assert (await bench.refused(404, method, "virtualMachineScaleSets/none/virtualMachines/0", {}))["code"] == (
        "ResourceNotFound"
    )


@pytest.mark.parametrize("verb", ["delete", "manualupgrade", "restart", "start", "deallocate", "reimageall"])
async def test_an_id_that_no_instance_has_is_refused_with_all_the_others(bench: Bench, verb: str) -> None:
    await made(bench)

    error = await bench.refused(400, "POST", f"{SET}/{verb}", {"instanceIds": ["0", "7"]})

    assert error == {
        "code": "InvalidParameter",
        "message": "The provided instanceId 7 is not an active Virtual Machine Scale Set VM instanceId.",
        "target": "instanceIds",
    }


@pytest.mark.parametrize("body", [None, {}, {"instanceIds": []}, {"instanceIds": None}])
@pytest.mark.parametrize("verb", ["delete", "manualupgrade"])
async def test_deleting_or_upgrading_without_instance_ids_is_refused(bench: Bench, verb: str, body: Any) -> None:
    await made(bench)

    assert (await bench.refused(400, "POST", f"{SET}/{verb}", body))["target"] == "instanceIds"


@pytest.mark.parametrize("body", [[], "0", {"instanceIds": "0"}, {"instanceIds": [0]}, {"instances": ["0"]}])
async def test_a_selection_that_is_none_is_refused(bench: Bench, body: Any) -> None:
    await made(bench)
    for verb in ("delete", "restart"):
        await bench.refused(400, "POST", f"{SET}/{verb}", body)


async def test_an_operation_on_a_whole_set_is_done_to_the_instances_that_allow_it(bench: Bench) -> None:
    await made(bench, 3)
    await bench.begin("POST", f"{SET}/deallocate", {"instanceIds": ["1"]})

    operation = await bench.begin("POST", f"{SET}/restart")
    await bench.advance(minutes=2)

    assert await operation.status() == "Succeeded"
    assert {vm.name: vm.boots for vm in bench.plane.region.vms.values()} == {"web_0": 2, "web_1": 1, "web_2": 2}
    error = await bench.refused(409, "POST", f"{SET}/restart", {"instanceIds": ["1"]})
    assert "start it first" in error["message"]
    await bench.begin("POST", f"{SET}/start", {"instanceIds": ["*"]})
    assert {vm.power for vm in bench.plane.region.vms.values()} == {"running"}


async def test_an_empty_set_has_nothing_to_be_done(bench: Bench) -> None:
    await made(bench, 0)
    for verb in ("restart", "start", "poweroff"):
        assert await (await bench.begin("POST", f"{SET}/{verb}")).status() == "Succeeded"


async def test_lists_can_be_filtered_in_the_documented_ways(bench: Bench) -> None:
    await made(bench, 3)
    await bench.ok("PATCH", SET, events_profile())
    await bench.begin("POST", f"{SET}/manualupgrade", {"instanceIds": ["2"]})

    async def ids(text: str) -> list[str]:
        return [each["instanceId"] for each in (await bench.get(f"{SET}/virtualMachines", filter=text))["value"]]

    assert await ids("properties/latestModelApplied eq true") == ["2"]
    assert await ids("properties/latestModelApplied eq false") == ["0", "1"]
    assert await ids("startswith(instanceView/statuses/code, 'PowerState') eq true") == ["0", "1", "2"]
    assert await ids("startswith(instanceView/statuses/code,'PowerState') eq false") == []
    assert (await bench.refused(400, "GET", f"{SET}/virtualMachines", filter="name eq 'x'"))["target"] == "$filter"
    assert (await bench.refused(400, "GET", "virtualMachines", filter="name eq 'x'"))["target"] == "$filter"


async def test_a_long_list_comes_in_pages(bench: Bench) -> None:
    await made(bench, 250)
    seen: list[str] = []
    query: dict[str, str] = {"expand": "instanceView"}
    while True:
        page = await bench.get(f"{SET}/virtualMachines", **query)
        assert all("instanceView" in each["properties"] for each in page["value"])
        seen += [each["instanceId"] for each in page["value"]]
        if "nextLink" not in page:
            break
        link = urlsplit(page["nextLink"])
        assert page["nextLink"].startswith(BASE_URL + path_of(f"{SET}/virtualMachines?"))
        query = {name.removeprefix("$"): value for name, value in parse_qsl(link.query)}
        assert query.pop("api-version") == "2026-04-01"
        await bench.begin("POST", f"{SET}/delete", {"instanceIds": [seen[0]]})  # a list that shrinks shows nobody twice
        seen = seen[1:]

    assert seen == [str(number) for number in range(2, 250)]
