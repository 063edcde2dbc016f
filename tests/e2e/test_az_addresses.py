"""A VM that the real ``az`` made speaks from the address that ``az`` gave its network interface, and is known by it."""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.az_region import PASSWORD, AzRegion
from tests.e2e.program import EVENTS, PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
_OWN, _STRANGE = "127.0.9.5", "127.0.9.6"
_SUBNET = ("--subnet-address-prefix", "127.0.9.0/24", "--vnet-address-prefix", "127.0.0.0/16")


def _get(region: AzRegion, source: str) -> int:
    connection = HTTPConnection("127.0.0.1", urlsplit(region.server.metadata).port, PATIENCE_SECONDS, (source, 0))
    try:
        connection.request("GET", EVENTS, headers={"Metadata": "true"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_vm_is_known_by_the_address_of_the_interface_that_az_gave_it(tmp_path: Path) -> None:
    with AzRegion.start(tmp_path, "--metadata", "0.0.0.0:0", "--bind-interfaces", "yes") as region:
        region.run("group create -n g -l westeurope")
        region.run("vm create -g g -n web --image Ubuntu2204", *PASSWORD, *_SUBNET, "--private-ip-address", _OWN)
        before = [_get(region, source) for source in (_OWN, _STRANGE)]
        nic = region.run("network nic list -g g")[0]
        moved = ("-n", nic["ipConfigurations"][0]["name"], "--private-ip-address", _STRANGE)
        region.run(f"network nic ip-config update -g g --nic-name {nic['name']}", *moved)
        after = [_get(region, source) for source in (_OWN, _STRANGE)]

    assert (before, after) == ([200, 404], [404, 200])
