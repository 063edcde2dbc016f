"""A VM that the real ``az`` made reads about itself what ``az`` shows of it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.az_region import IMAGE, PASSWORD, UNIFORM, AzRegion
from tests.e2e.program import ask

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def region(tmp_path: Path) -> Iterator[AzRegion]:
    with AzRegion.start(tmp_path) as started:
        started.run("group create -n g -l westeurope")
        yield started


def own(region: AzRegion, vm: str) -> dict[str, Any]:
    answer = ask(region.server.metadata, f"/vm/{vm}/metadata/instance?api-version=2023-11-15")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = json.loads(answer.body)
    return found


def test_what_az_says_of_a_vm_is_what_the_vm_reads(region: AzRegion) -> None:
    options = ("--user-data", "colour=blue", "--tags", "team=web", "--zone", "2", "--computer-name", "inside")
    region.run("vm create -g g -n web --image Ubuntu2204 --admin-username me --generate-ssh-keys", *options)

    shown = region.run("vm show -g g -n web --include-user-data")
    nic = region.run("network nic show --ids", shown["networkProfile"]["networkInterfaces"][0]["id"])
    public = region.run("network public-ip list -g g")[0]
    tree = own(region, "web")
    compute, (interface,) = tree["compute"], tree["network"]["interface"]

    image, system = shown["storageProfile"]["imageReference"], shown["osProfile"]
    assert {name: compute[name] for name in ("publisher", "offer", "sku", "location", "vmId")} == {
        "publisher": image["publisher"],
        "offer": image["offer"],
        "sku": image["sku"],
        "location": shown["location"],
        "vmId": shown["vmId"],
    }
    assert (image["publisher"], shown["location"]) == ("Canonical", "westeurope")
    assert compute["version"] == image["exactVersion"]
    assert compute["osType"] == shown["storageProfile"]["osDisk"]["osType"] == "Linux"
    assert compute["resourceId"] == shown["id"]
    assert compute["resourceGroupName"].lower() == shown["resourceGroup"].lower() == "g"
    assert compute["subscriptionId"] == shown["id"].split("/")[2]
    assert compute["zone"] == shown["zones"][0] == "2"
    assert compute["osProfile"]["adminUsername"] == system["adminUsername"] == "me"
    assert compute["osProfile"]["computerName"] == system["computerName"] == "inside"
    closed = system["linuxConfiguration"]["disablePasswordAuthentication"]
    assert compute["osProfile"]["disablePasswordAuthentication"] == str(closed).lower() == "true"
    assert compute["publicKeys"] == system["linuxConfiguration"]["ssh"]["publicKeys"]
    assert compute["userData"] == shown["userData"] == base64.b64encode(b"colour=blue").decode()
    assert compute["tags"] == "team:web"
    address = nic["ipConfigurations"][0]["privateIPAddress"]
    assert interface["ipv4"]["ipAddress"] == [{"privateIpAddress": address, "publicIpAddress": public["ipAddress"]}]
    assert interface["macAddress"] == nic["macAddress"].replace("-", "")

    region.run("vm update -g g -n web --set tags.team=db")
    assert own(region, "web")["compute"]["tags"] == "team:db"


def test_an_instance_reads_the_address_that_az_shows_of_it(region: AzRegion) -> None:
    region.run("vmss create -g g -n set --instance-count 2", *IMAGE, *PASSWORD, *UNIFORM)

    nics = region.run("vmss nic list -g g --vmss-name set")

    assert len(nics) == 2
    for nic in nics:
        (interface,) = own(region, f"set_{nic['virtualMachine']['id'].split('/')[-1]}")["network"]["interface"]
        address = nic["ipConfigurations"][0]["privateIPAddress"]
        assert interface["ipv4"]["ipAddress"][0]["privateIpAddress"] == address
        assert interface["macAddress"] == nic["macAddress"].replace("-", "")


def test_a_windows_image_makes_a_windows_vm(region: AzRegion) -> None:
    region.run("vm create -g g -n win --image Win2022Datacenter", *PASSWORD[:2], *PASSWORD[4:])

    shown = region.run("vm show -g g -n win")
    compute = own(region, "win")["compute"]

    assert shown["storageProfile"]["osDisk"]["osType"] == compute["osType"] == "Windows"
    assert (compute["offer"], compute["sku"]) == ("WindowsServer", "2022-datacenter-g2")
