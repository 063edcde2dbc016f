"""What the Resource Manager says of a machine and what the machine reads about itself are one and the same."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from forewarn.web.documents.instance import instance_info
from forewarn.web.resource_manager.images import ALIASES
from forewarn.wire.instance import instance_tree
from tests.unit.web.resource_manager.bench import NETWORK, RG, Bench

pytestmark = pytest.mark.anyio
COMPUTE = f"{RG}/providers/Microsoft.Compute"
VM = f"{COMPUTE}/virtualMachines/web"
SET = f"{COMPUTE}/virtualMachineScaleSets/set"
NIC = f"{NETWORK}/networkInterfaces/nic"
DATA = base64.b64encode(b"colour=blue").decode()
KEY = {"path": "/home/me/.ssh/authorized_keys", "keyData": "ssh-ed25519 AAAA me"}
IMAGE = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"}


@pytest.fixture(autouse=True)
async def group(bench: Bench) -> None:
    await bench.group()


def own(bench: Bench, name: str) -> Any:
    return instance_tree(instance_info(bench.plane.region, bench.plane.region.vms[name]), "2025-04-07")


def profile(**more: Any) -> dict[str, Any]:
    linux = {"disablePasswordAuthentication": True, "ssh": {"publicKeys": [KEY]}}
    return {
        "storageProfile": {"imageReference": IMAGE},
        "osProfile": {"adminUsername": "me", "linuxConfiguration": linux},
        "userData": DATA,
        **more,
    }


async def put_network(bench: Bench) -> None:
    subnets = [{"name": "front", "properties": {"addressPrefix": "10.3.0.0/24"}}]
    await bench.put(f"{NETWORK}/virtualNetworks/net", {"location": "westus", "properties": {"subnets": subnets}})
    await bench.put(f"{NETWORK}/publicIPAddresses/out", {"location": "westus"})
    front = {
        "subnet": {"id": f"{NETWORK}/virtualNetworks/net/subnets/front"},
        "publicIPAddress": {"id": f"{NETWORK}/publicIPAddresses/out"},
    }
    body = {"location": "westus", "properties": {"ipConfigurations": [{"name": "one", "properties": front}]}}
    await bench.put(NIC, body)
    await bench.put(f"{NETWORK}/networkInterfaces/second", body)


def vm_body(**more: Any) -> dict[str, Any]:
    second = {"id": f"{NETWORK}/networkInterfaces/second", "properties": {"primary": False}}
    nics = [second, {"id": NIC, "properties": {"primary": True}}]
    body = profile(networkProfile={"networkInterfaces": nics})
    body["osProfile"]["computerName"] = "inside"
    return {"location": "West Europe", "zones": ["2"], "tags": {"team": "web"}, "properties": body, **more}


def assert_same(document: dict[str, Any], compute: dict[str, Any]) -> None:
    """Field by field, as the one and the other have it."""
    properties = document["properties"]
    image, system = properties["storageProfile"]["imageReference"], properties["osProfile"]
    for name in ("publisher", "offer", "sku"):
        assert image[name] == compute[name] == compute["storageProfile"]["imageReference"][name]
    assert image["version"] == compute["storageProfile"]["imageReference"]["version"]
    assert image["exactVersion"] == compute["version"] == compute["storageProfile"]["imageReference"]["exactVersion"]
    assert document["location"] == compute["location"]
    assert document.get("zones", [""])[0] == compute["zone"]
    assert document["tags"] == {each["name"]: each["value"] for each in compute["tagsList"]}
    assert system["computerName"] == compute["osProfile"]["computerName"]
    assert system["adminUsername"] == compute["osProfile"]["adminUsername"]
    closed = system["linuxConfiguration"]["disablePasswordAuthentication"]
    assert str(closed).lower() == compute["osProfile"]["disablePasswordAuthentication"]
    assert system["linuxConfiguration"]["ssh"]["publicKeys"] == compute["publicKeys"]
    assert properties["vmId"] == compute["vmId"]
    assert properties["hardwareProfile"]["vmSize"] == compute["vmSize"]


async def test_a_vm_reads_what_was_said_of_it(bench: Bench) -> None:
    await put_network(bench)
    await bench.put(VM, vm_body())

    shown, nic, tree = await bench.get(f"{VM}?$expand=userData"), await bench.get(NIC), own(bench, "web")

    assert_same(shown, tree["compute"])
    assert (tree["compute"]["location"], tree["compute"]["zone"]) == ("westeurope", "2")
    assert tree["compute"]["userData"] == shown["properties"]["userData"] == DATA
    first, second = tree["network"]["interface"]
    configured = nic["properties"]["ipConfigurations"][0]["properties"]
    public = await bench.get(f"{NETWORK}/publicIPAddresses/out")
    assert first["ipv4"] == {
        "ipAddress": [
            {
                "privateIpAddress": configured["privateIPAddress"],
                "publicIpAddress": public["properties"]["ipAddress"],
            }
        ],
        "subnet": [{"address": "10.3.0.0", "prefix": "24"}],
    }
    assert first["macAddress"] == nic["properties"]["macAddress"].replace("-", "")
    assert second["macAddress"] != first["macAddress"]


async def test_a_change_is_read_at_once(bench: Bench) -> None:
    await put_network(bench)
    await bench.put(VM, vm_body())
    await bench.ask("PATCH", VM, {"tags": {"team": "db"}, "properties": {"userData": "AAAA"}})
    moved = {"name": "one", "properties": {"privateIPAddress": "10.3.0.99"}}
    await bench.put(NIC, {"location": "westus", "properties": {"ipConfigurations": [moved]}}, 200)

    tree = own(bench, "web")

    assert (tree["compute"]["tags"], tree["compute"]["userData"]) == ("team:db", "AAAA")
    address = tree["network"]["interface"][0]["ipv4"]["ipAddress"][0]
    assert address == {"privateIpAddress": "10.3.0.99", "publicIpAddress": ""}
    assert_same(await bench.get(VM), tree["compute"])


async def test_a_vm_of_another_door_is_shown_where_it_says_that_it_is(bench: Bench) -> None:
    await bench.create_vm("web", resource_group="rg1")

    shown, tree = await bench.get(VM), own(bench, "web")

    assert (shown["location"], tree["compute"]["location"]) == ("local", "local")
    assert shown["properties"]["osProfile"]["computerName"] == tree["compute"]["osProfile"]["computerName"] == "web"


def set_body(mode: str, **more: Any) -> dict[str, Any]:
    model = profile(**more)
    model["osProfile"]["computerNamePrefix"] = "inside"
    return {
        "location": "westeurope",
        "zones": ["1", "3"],
        "tags": {"team": "web"},
        "sku": {"name": "Standard_D2s_v5", "capacity": 3},
        "properties": {
            "orchestrationMode": mode,
            "upgradePolicy": {"mode": "Manual"},
            "virtualMachineProfile": model,
        },
    }


async def documents(bench: Bench, mode: str) -> dict[str, dict[str, Any]]:
    """Of each instance by its name, wherever the Resource Manager shows it."""
    listed = (await bench.get(f"{SET}/virtualMachines"))["value"]
    if mode == "Uniform":
        return {each["name"]: each for each in listed}
    return {each["name"]: await bench.get(f"{COMPUTE}/virtualMachines/{each['name']}") for each in listed}


@pytest.mark.parametrize("mode", ["Uniform", "Flexible"])
async def test_instances_read_what_was_said_of_their_set(bench: Bench, mode: str) -> None:
    await bench.put(SET, set_body(mode))

    found = await documents(bench, mode)

    assert len(found) == 3
    for name, document in found.items():
        assert_same(document, own(bench, name)["compute"])
        assert own(bench, name)["compute"]["userData"] == DATA
    assert sorted(own(bench, name)["compute"]["zone"] for name in found) == ["1", "1", "3"]
    inside = {own(bench, name)["compute"]["osProfile"]["computerName"] for name in found}
    assert inside == {f"inside00000{number}" for number in range(3)}


async def test_an_instance_reads_a_new_model_when_it_has_it(bench: Bench) -> None:
    await bench.put(SET, set_body("Uniform"))
    newer = {"storageProfile": {"imageReference": {**IMAGE, "sku": "minimal", "version": "2.0.1"}}}
    await bench.ask("PATCH", SET, {"properties": {"virtualMachineProfile": {**newer, "userData": "BBBB"}}})
    await bench.ask("POST", f"{SET}/manualupgrade", {"instanceIds": ["1"]}, 202)

    found = await documents(bench, "Uniform")

    for name, sku, version, data in (("set_0", "server", "1.0.0", DATA), ("set_1", "minimal", "2.0.1", "BBBB")):
        compute = own(bench, name)["compute"]
        assert (compute["sku"], compute["version"], compute["userData"]) == (sku, version, data)
        assert_same(found[name], compute)


async def test_tags_of_an_instance_are_read_by_it(bench: Bench) -> None:
    await bench.put(SET, set_body("Uniform"))
    await bench.ask("PUT", f"{SET}/virtualMachines/1", {"location": "westeurope", "tags": {"mine": "yes"}})

    shown = await bench.get(f"{SET}/virtualMachines/1")

    assert shown["tags"] == {"mine": "yes"}
    assert own(bench, "set_1")["compute"]["tags"] == "mine:yes"
    assert own(bench, "set_0")["compute"]["tags"] == "team:web"


async def test_an_instance_reads_the_address_that_its_interface_has(bench: Bench) -> None:
    subnet = {"id": f"{NETWORK}/virtualNetworks/net/subnets/front"}
    inner = {"primary": True, "ipConfigurations": [{"name": "one", "properties": {"subnet": subnet}}]}
    configured: list[Any] = [{"name": "nic0"}, {"name": "nic1", "properties": inner}]
    await bench.put(SET, set_body("Uniform", networkProfile={"networkInterfaceConfigurations": configured}))

    listed = (await bench.get(f"{SET}/networkInterfaces"))["value"]

    assert len(listed) == len({each["id"] for each in listed}) == 3
    for number, nic in enumerate(listed):
        (read,) = own(bench, f"set_{number}")["network"]["interface"]
        (part,) = nic["properties"]["ipConfigurations"]
        assert part["properties"]["privateIPAddress"] == read["ipv4"]["ipAddress"][0]["privateIpAddress"]
        assert part["properties"]["subnet"] == subnet
        assert nic["properties"]["macAddress"].replace("-", "") == read["macAddress"]
        instance = await bench.get(f"{SET}/virtualMachines/{number}")
        assert nic["properties"]["virtualMachine"]["id"] == instance["id"]
        assert {"id": nic["id"]} in instance["properties"]["networkProfile"]["networkInterfaces"]
        assert await bench.get(nic["id"]) == nic
        assert (await bench.get(f"{SET}/virtualMachines/{number}/networkInterfaces"))["value"] == [nic]
    await bench.refused(404, "GET", f"{SET}/virtualMachines/0/networkInterfaces/other")


# The system follows from the image

SYSTEMS = {
    alias: (system, image)
    for system, images in ALIASES["outputs"]["aliases"]["value"].items()  # type: ignore[index]  # JSON as it came
    for alias, image in images.items()
}


@pytest.mark.parametrize("alias", SYSTEMS)
async def test_every_image_says_what_it_runs(bench: Bench, alias: str) -> None:
    system, image = SYSTEMS[alias]
    assert system == ("Windows" if alias.startswith("Win") else "Linux")
    reference = {name: image[name] for name in ("publisher", "offer", "sku", "version")}
    storage = {"storageProfile": {"imageReference": reference, "osDisk": {"createOption": "FromImage"}}}
    sku = {"name": "Standard_D2s_v5", "capacity": 1}

    await bench.put(VM, {"location": "westus", "properties": storage})
    await bench.put(SET, {"location": "westus", "sku": sku, "properties": {"virtualMachineProfile": storage}})

    shown = await bench.get(VM)
    instance = await bench.get(f"{SET}/virtualMachines/0")
    assert shown["properties"]["storageProfile"]["osDisk"]["osType"] == system
    for name in ("web", "set_0"):
        compute = own(bench, name)["compute"]
        assert compute["osType"] == compute["storageProfile"]["osDisk"]["osType"] == system
    assert instance["properties"]["storageProfile"]["osDisk"]["osType"] == system


@pytest.mark.parametrize(
    ("profile", "system"),
    [
        ({"storageProfile": {"imageReference": {"id": f"{COMPUTE}/images/golden"}}}, "Windows"),
        ({"storageProfile": {"imageReference": {"id": f"{COMPUTE}/galleries/g/images/d/versions/1.0.0"}}}, "Windows"),
        ({"storageProfile": {"imageReference": {"id": f"{COMPUTE}/images/none"}}}, "Linux"),
        ({"storageProfile": {"imageReference": {"id": f"{COMPUTE}/images/our-windows-base"}}}, "Windows"),
        (
            {"storageProfile": {"imageReference": {"publisher": "MicrosoftSQLServer", "offer": "sql2022-ws2022"}}},
            "Windows",
        ),
        (
            {"storageProfile": {"imageReference": {"publisher": "MicrosoftSQLServer", "offer": "sql2022-ubuntu"}}},
            "Linux",
        ),
        ({"osProfile": {"windowsConfiguration": {}}}, "Windows"),
        ({"storageProfile": {"osDisk": {"osType": "windows", "createOption": "Attach"}}}, "Windows"),
        ({}, "Linux"),
    ],
)
async def test_the_operating_system_of_a_custom_image_is_that_of_its_definition(
    bench: Bench, profile: dict[str, Any], system: str
) -> None:
    disk = {"storageProfile": {"osDisk": {"osType": "Windows", "osState": "Generalized"}}}
    await bench.put(f"{COMPUTE}/images/golden", {"location": "westus", "properties": disk}, 200)
    await bench.put(f"{COMPUTE}/galleries/g", {"location": "westus"}, 200)
    await bench.put(f"{COMPUTE}/galleries/g/images/d", {"location": "westus", "properties": {"osType": "Windows"}}, 200)

    await bench.put(VM, {"location": "westus", "properties": profile})

    assert own(bench, "web")["compute"]["osType"] == system
