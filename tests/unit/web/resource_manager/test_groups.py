"""Resource groups: making, finding, and deleting them with what is in them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from forewarn.core.commands import CancelEvents, CreateVms, PutAvailabilitySet, PutScaleSet
from forewarn.core.specs import Policy, ScopeKind, VmSpec
from forewarn.stores.memory import MemoryJournal
from tests.unit.web.resource_manager.bench import DEPLOYMENTS, NETWORK, OPERATOR, RG, Bench, S, open_bench

pytestmark = pytest.mark.anyio
NET = {"location": "westus", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}}
NOTICE = timedelta(minutes=10)


async def test_a_group_is_made_once(bench: Bench) -> None:
    body = {"location": "West US", "tags": {"a": "b"}}

    made = await bench.put(RG, body)
    again = await bench.put(f"{S}/resourcegroups/RG1", body, 200)

    assert made == again
    assert made == {
        "id": RG,
        "name": "rg1",
        "type": "Microsoft.Resources/resourceGroups",
        "location": "westus",
        "tags": {"a": "b"},
        "properties": {"provisioningState": "Succeeded"},
    }


async def test_a_head_request_tells_whether_a_group_exists(bench: Bench) -> None:
    await bench.ask("HEAD", RG, status=404)
    await bench.group()
    await bench.ask("HEAD", RG, status=204)


async def test_the_group_of_what_has_no_other_is_always_there(bench: Bench) -> None:
    await bench.group()
    await bench.create_vm("web")

    assert [each["name"] for each in (await bench.get(f"{S}/resourceGroups"))["value"]] == ["forewarn", "rg1"]
    (vm,) = (await bench.get(f"{S}/resourceGroups/forewarn/resources"))["value"]
    assert (vm["name"], vm["type"]) == ("web", "Microsoft.Compute/virtualMachines")


async def test_tags_are_changed_by_a_patch(bench: Bench) -> None:
    await bench.group()

    await bench.ask("PATCH", RG, {"tags": {"a": "b"}})

    assert (await bench.get(RG))["tags"] == {"a": "b"}
    assert (await bench.ask("PATCH", RG, {})).json()["tags"] == {"a": "b"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "LocationRequired"),
        ({"location": 5}, "LocationRequired"),
        ({"location": "westus", "tags": []}, None),
        ({"location": "westus", "tags": {"a": 1}}, "InvalidRequestContent"),
        ([], "InvalidRequestContent"),
    ],
)
async def test_a_bad_group_is_refused(bench: Bench, body: Any, code: str | None) -> None:
    if code is None:
        await bench.put(RG, body)
    else:
        assert (await bench.refused(400, "PUT", RG, body))["code"] == code


async def test_a_group_name_has_rules(bench: Bench) -> None:
    for name in ("dot.", "sp ace", "x" * 91):
        error = await bench.refused(400, "PUT", f"{S}/resourceGroups/{name}", {"location": "westus"})
        assert error["code"] == "InvalidResourceGroup"


async def test_a_group_does_not_move(bench: Bench) -> None:
    await bench.group()

    error = await bench.refused(409, "PUT", RG, {"location": "eastus"})

    assert error["code"] == "InvalidResourceGroupLocation"


async def test_deleting_what_is_not_there_is_a_404(bench: Bench) -> None:
    assert (await bench.refused(404, "DELETE", RG))["code"] == "ResourceGroupNotFound"


async def delete_group(bench: Bench) -> str:
    """Ask; where to look."""
    answer = await bench.ask("DELETE", RG, status=202)
    assert answer.headers["retry-after"] == "1"
    return answer.headers["location"].partition("?")[0]


async def test_deleting_a_group_deletes_what_is_in_it(bench: Bench) -> None:
    await bench.group()
    await bench.group("rg10")
    await bench.put(f"{NETWORK}/virtualNetworks/net", NET)
    await bench.put(NETWORK.replace("rg1", "rg10") + "/virtualNetworks/net", NET)
    await bench.plane.submit(PutAvailabilitySet("set", "rg1", Policy()), OPERATOR)
    await bench.create_vm("web", resource_group="rg1", kind=ScopeKind.AVAILABILITY_SET, set_name="set")
    await bench.create_vm("other")
    await bench.plane.submit(PutScaleSet("scale", "rg1", VmSpec(), "S", capacity=3), OPERATOR)

    url = await delete_group(bench)

    assert (await bench.ask("GET", url)).content == b""
    region = bench.plane.region
    assert list(region.vms) == ["other"]
    assert not region.scale_sets
    assert list(region.scopes) == []
    assert {key.split("/")[4] for key in region.resources} == {"rg10"}
    await bench.ask("HEAD", RG, status=404)


async def test_a_group_waits_for_machines_that_have_been_given_notice(bench: Bench) -> None:
    await bench.group()
    await bench.put(f"{NETWORK}/virtualNetworks/net", NET)
    await bench.plane.submit(PutAvailabilitySet("set", "rg1", Policy()), OPERATOR)
    spec = VmSpec(ScopeKind.AVAILABILITY_SET, "set", resource_group="rg1", terminate_notice=NOTICE)
    await bench.plane.submit(CreateVms(("web",), spec, "S"), OPERATOR)
    await bench.read("web")

    url = await delete_group(bench)

    waiting = await bench.ask("GET", url, status=202)
    assert waiting.headers["retry-after"] == "1"
    assert (await bench.get(RG))["properties"] == {"provisioningState": "Deleting"}
    await bench.get(f"{NETWORK}/virtualNetworks/net")
    error = await bench.refused(409, "PUT", f"{NETWORK}/virtualNetworks/more", NET)
    assert error["code"] == "ResourceGroupBeingDeleted"
    assert (await bench.refused(409, "PUT", RG, {"location": "westus"}))["code"] == "ResourceGroupBeingDeleted"

    await bench.plane.advance(bench.plane.now() + NOTICE + timedelta(minutes=5))

    await bench.ask("GET", url)
    assert not bench.plane.region.vms
    assert not bench.plane.region.scopes
    assert not bench.plane.region.resources


async def test_a_deletion_outlives_its_server(bench: Bench) -> None:
    journal = MemoryJournal()
    async with open_bench(journal=journal) as before:
        await before.group()
        await before.put(f"{NETWORK}/virtualNetworks/net", NET)
        await before.create_vm("web", resource_group="rg1", terminate_notice=NOTICE)
        await before.read("web")
        url = await delete_group(before)
        await before.ask("GET", url, status=202)
    async with open_bench(journal=journal) as after:
        await after.ask("GET", url, status=202)
        await after.plane.advance(after.plane.now() + NOTICE + timedelta(minutes=5))
        await after.ask("GET", url)

        assert not after.plane.region.resources


async def test_a_group_whose_deletion_was_canceled_stays(bench: Bench) -> None:
    await bench.group()
    await bench.create_vm("web", resource_group="rg1", terminate_notice=NOTICE)
    await bench.read("web")
    url = await delete_group(bench)
    (event,) = bench.plane.region.events

    await bench.plane.submit(CancelEvents((event,), "not today"), OPERATOR)

    error = (await bench.ask("GET", url, status=409)).json()["error"]
    assert error["code"] == "OperationCanceled"
    assert (await bench.get(RG))["properties"] == {"provisioningState": "Succeeded"}
    await bench.put(f"{NETWORK}/virtualNetworks/net", NET)


async def test_the_result_of_an_unknown_operation_is_not_found(bench: Bench) -> None:
    assert (await bench.refused(404, "GET", f"{S}/operationresults/nothing"))["code"] == "NotFound"


async def test_resources_are_listed_in_brief(bench: Bench) -> None:
    await bench.group()
    await bench.put(f"{NETWORK}/virtualNetworks/net", {**NET, "tags": {"a": "b"}})
    template = {"resources": [], "contentVersion": "1.0.0.0"}
    await bench.put(f"{DEPLOYMENTS}/d", {"properties": {"template": template, "mode": "Incremental"}})
    await bench.plane.submit(PutScaleSet("scale", "rg1", VmSpec(), "S", capacity=1), OPERATOR)

    scale_set, net = (await bench.get(f"{RG}/resources"))["value"]

    assert scale_set["type"] == "Microsoft.Compute/virtualMachineScaleSets"
    assert net == {
        "id": f"{NETWORK}/virtualNetworks/net",
        "name": "net",
        "type": "Microsoft.Network/virtualNetworks",
        "location": "westus",
        "tags": {"a": "b"},
    }
    assert (await bench.get(f"{S}/resources"))["value"] == [scale_set, net]
