"""Resources that are kept and told back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.web.resource_manager.bench import NETWORK, RG, Bench, S

pytestmark = pytest.mark.anyio
NET = f"{NETWORK}/virtualNetworks/net"
SUBNET = f"{NET}/subnets/front"
IDENTITY = f"{RG}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/me"


@pytest.fixture(autouse=True)
async def group(bench: Bench) -> None:
    await bench.group()


def network(*subnets: str) -> dict[str, Any]:
    parts = [
        {"name": name, "properties": {"addressPrefix": f"10.0.{place}.0/24"}} for place, name in enumerate(subnets)
    ]
    return {
        "location": "westus",
        "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": parts},
    }


def interface(subnet: str, **more: Any) -> dict[str, Any]:
    configuration = {"name": "first", "properties": {"subnet": {"id": subnet}, **more}}
    return {"location": "westus", "properties": {"ipConfigurations": [configuration]}}


async def test_what_was_put_is_told_back(bench: Bench) -> None:
    made = await bench.put(IDENTITY, {"location": "westus", "tags": {"a": "b"}, "properties": {"x": [1]}})

    assert made == await bench.get(IDENTITY)
    assert made == {
        "id": IDENTITY,
        "name": "me",
        "type": "Microsoft.ManagedIdentity/userAssignedIdentities",
        "location": "westus",
        "tags": {"a": "b"},
        "properties": {"x": [1], "provisioningState": "Succeeded"},
    }


async def test_a_put_replaces_and_a_patch_merges(bench: Bench) -> None:
    await bench.put(IDENTITY, {"location": "westus", "properties": {"a": 1, "b": {"c": 1, "d": 1}}})
    patched = (
        await bench.ask("PATCH", IDENTITY, {"tags": {"x": "y"}, "properties": {"b": {"c": 2, "d": None}}})
    ).json()
    replaced = await bench.put(IDENTITY, {"location": "westus"}, 200)

    assert patched["properties"] == {"a": 1, "b": {"c": 2}, "provisioningState": "Succeeded"}
    assert patched["tags"] == {"x": "y"}
    assert replaced["properties"] == {"provisioningState": "Succeeded"}


async def test_a_put_cannot_change_what_a_thing_is(bench: Bench) -> None:
    made = await bench.put(IDENTITY, {"id": "/x", "name": "x", "type": "x", "location": "westus"})

    assert (made["id"], made["name"]) == (IDENTITY, "me")


async def test_a_deleted_resource_is_gone_with_its_parts(bench: Bench) -> None:
    await bench.put(IDENTITY, {"location": "westus"})
    await bench.put(f"{IDENTITY}/federatedIdentityCredentials/one", {"properties": {}})

    await bench.ask("DELETE", IDENTITY)
    await bench.ask("DELETE", IDENTITY, status=204)

    error = await bench.refused(404, "GET", IDENTITY)
    assert error["message"].startswith(
        "The Resource 'Microsoft.ManagedIdentity/userAssignedIdentities/me' under resource group 'rg1' was not found."
    )
    await bench.ask("HEAD", IDENTITY, status=404)
    await bench.refused(404, "GET", f"{IDENTITY}/federatedIdentityCredentials/one")


async def test_collections_are_of_a_group_or_of_the_subscription(bench: Bench) -> None:
    await bench.group("rg2")
    for group in ("rg1", "rg2"):
        await bench.put(NET.replace("rg1", group), network("front"))
        await bench.put(
            f"{RG}/providers/Microsoft.Network/routeTables/net".replace("rg1", group), {"location": "westus"}
        )

    here = (await bench.get(f"{NETWORK}/virtualNetworks"))["value"]
    everywhere = (await bench.get(f"{S}/providers/Microsoft.Network/virtualNetworks"))["value"]

    assert [each["id"] for each in here] == [NET]
    assert [each["id"] for each in everywhere] == [NET, NET.replace("rg1", "rg2")]
    assert (await bench.get(f"{NETWORK}/natGateways"))["value"] == []


async def test_subnets_live_in_their_network(bench: Bench) -> None:
    await bench.put(NET, network("front"))
    front = await bench.get(SUBNET)

    back = await bench.put(f"{NET}/subnets/back", {"properties": {"addressPrefix": "10.0.9.0/24"}})

    assert front["id"] == SUBNET
    assert front["properties"] == {"addressPrefix": "10.0.0.0/24", "provisioningState": "Succeeded"}
    assert back["type"] == "Microsoft.Network/virtualNetworks/subnets"
    assert (await bench.get(NET))["properties"]["subnets"] == [front, back]
    assert (await bench.get(f"{NET}/subnets"))["value"] == [front, back]
    await bench.put(f"{NET}/subnets/BACK", {"properties": {"addressPrefix": "10.0.8.0/24"}}, 200)
    await bench.ask("DELETE", SUBNET)
    await bench.ask("DELETE", SUBNET, status=204)
    assert [each["name"] for each in (await bench.get(NET))["properties"]["subnets"]] == ["BACK"]


async def test_a_part_needs_its_whole(bench: Bench) -> None:
    error = await bench.refused(404, "PUT", SUBNET, {"properties": {}})

    assert error["code"] == "ParentResourceNotFound"


async def test_what_belongs_to_a_machine_needs_the_machine(bench: Bench) -> None:
    path = f"{RG}/providers/Microsoft.Compute/virtualMachines/web/extensions/one"
    assert (await bench.refused(404, "PUT", path, {"location": "westus"}))["code"] == "ParentResourceNotFound"

    await bench.create_vm("web", resource_group="rg1")

    await bench.put(path, {"location": "westus"}, 200)


async def test_an_interface_gets_addresses_of_its_subnet(bench: Bench) -> None:
    await bench.put(NET, network("front", "back"))
    subnets = (SUBNET, f"{NET}/subnets/back", SUBNET)
    nics = [await bench.put(f"{NETWORK}/networkInterfaces/n{i}", interface(each)) for i, each in enumerate(subnets)]

    found = [nic["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"] for nic in nics]
    assert found == ["10.0.0.4", "10.0.1.4", "10.0.0.5"]
    assert len({nic["properties"]["macAddress"] for nic in nics}) == 3
    again = await bench.put(f"{NETWORK}/networkInterfaces/n2", interface(SUBNET), 200)
    assert again == nics[2]


async def test_an_address_that_was_asked_for_is_given(bench: Bench) -> None:
    body = interface(SUBNET, privateIPAddress="10.0.0.77", privateIPAllocationMethod="Static")

    made = await bench.put(f"{NETWORK}/networkInterfaces/n", body)

    assert made["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"] == "10.0.0.77"


async def test_public_addresses_differ_and_stay(bench: Bench) -> None:
    one, two = [await bench.put(f"{NETWORK}/publicIPAddresses/{name}", {"location": "westus"}) for name in "ab"]

    assert one["properties"]["ipAddress"] != two["properties"]["ipAddress"]
    again = await bench.put(f"{NETWORK}/publicIPAddresses/a", {"location": "westus"}, 200)
    assert again["properties"]["ipAddress"] == one["properties"]["ipAddress"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (None, "InvalidRequestContent"),
        ([], "InvalidRequestContent"),
        ({}, "LocationRequired"),
        ({"location": 1}, "InvalidRequestContent"),
        ({"location": "westus", "properties": []}, None),
        ({"location": "westus", "properties": [1]}, "InvalidRequestContent"),
        ({"location": "westus", "tags": "x"}, "InvalidRequestContent"),
        ({"location": "westus", "tags": {"a": None}}, "InvalidTagValue"),
    ],
)
async def test_bad_bodies_are_refused(bench: Bench, body: Any, code: str | None) -> None:
    if code is None:
        await bench.put(NET, body)
    else:
        assert (await bench.refused(400, "PUT", NET, body))["code"] == code


async def test_a_resource_does_not_move(bench: Bench) -> None:
    await bench.put(NET, network())

    error = await bench.refused(409, "PUT", NET, {"location": "eastus"})

    assert error["code"] == "InvalidResourceLocation"


async def test_what_others_look_after_is_not_kept_here(bench: Bench) -> None:
    path = f"{RG}/providers/Microsoft.Resources/deployments/x"

    await bench.refused(405, "POST", f"{NET}/start")
    assert (await bench.refused(405, "PATCH", path, {"location": "westus"}))["code"] == "MethodNotAllowed"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
MEMBER = st.sampled_from(
    ["name", "properties", "subnet", "id", "ipConfigurations", "subnets", "privateIPAddress", "addressPrefix", "etag"]
)
SHAPED = st.recursive(
    JSON, lambda inner: st.dictionaries(MEMBER, inner, max_size=4) | st.lists(inner, max_size=3), max_leaves=12
)


@given(kind=st.sampled_from(["virtualNetworks", "networkInterfaces", "publicIPAddresses"]), properties=SHAPED)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_is_put_is_kept_or_refused(bench: Bench, kind: str, properties: Any) -> None:
    path = f"{NETWORK}/{kind}/x"

    answer = await bench.client.put(
        f"{path}?api-version=2024-05-01", json={"location": "westus", "properties": properties}
    )

    assert answer.status_code in (200, 201, 400), answer.text
    if answer.status_code < 400:
        assert await bench.get(path) == answer.json()
        await bench.get(f"{path}/subnets")
        await bench.get(f"{path}/subnets/a", status=404) if kind != "virtualNetworks" else None
