"""Where the owner wants it, a VM that az or an SDK makes is known by the address of its network interface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from forewarn.core import commands as c
from forewarn.core.region import Binding
from forewarn.web.metadata.identify import Caller, Door, identify
from tests.unit.web.resource_manager.bench import NETWORK, OPERATOR, RG, Bench, open_bench

pytestmark = pytest.mark.anyio
VMS = f"{RG}/providers/Microsoft.Compute/virtualMachines"
BY_HAND = Binding(netns="blue")


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with open_bench(binds_interfaces=True) as made:
        await made.group()
        yield made


def at(address: str) -> dict[str, Any]:
    given = {"privateIPAddress": address, "privateIPAllocationMethod": "Static"} if address else {}
    return {"location": "westus", "properties": {"ipConfigurations": [{"name": "one", "properties": given}]}}


async def put_interface(bench: Bench, name: str, address: str = "", status: int = 201) -> None:
    await bench.ask("PUT", f"{NETWORK}/networkInterfaces/{name}", at(address), status)


def having(*names: str) -> dict[str, Any]:
    listed = [{"id": f"{NETWORK}/networkInterfaces/{name}"} for name in names]
    return {"location": "westus", "properties": {"networkProfile": {"networkInterfaces": listed}}}


async def put_vm(bench: Bench, name: str, *interfaces: str, status: int = 201) -> None:
    await bench.ask("PUT", f"{VMS}/{name}", having(*interfaces), status)


def caller_from(bench: Bench, address: str) -> str:
    """The VM that the metadata face takes a caller from this address for, at a listener beyond loopback."""
    found = identify(bench.plane.region, Caller.at(Door(), address, "169.254.169.254"), None)
    return "" if found is None else found.name


async def test_a_vm_is_known_by_the_address_of_its_interface(bench: Bench) -> None:
    await put_interface(bench, "nic")
    await put_interface(bench, "other", "10.0.0.77")
    await put_vm(bench, "web", "nic", "other")
    told = await bench.get(f"{NETWORK}/networkInterfaces/nic")
    address = told["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"]

    assert (caller_from(bench, address), caller_from(bench, "10.0.0.77")) == ("web", "")


async def test_it_follows_its_interface_and_the_address_of_that(bench: Bench) -> None:
    await put_interface(bench, "nic", "10.0.0.9")
    await put_interface(bench, "second", "10.0.0.10")
    await put_vm(bench, "web", "nic")
    await put_interface(bench, "nic", "10.0.0.11", status=200)
    assert [caller_from(bench, f"10.0.0.{last}") for last in (9, 10, 11)] == ["", "", "web"]
    await put_vm(bench, "web", "second", status=200)
    assert [caller_from(bench, f"10.0.0.{last}") for last in (9, 10, 11)] == ["", "web", ""]


@pytest.mark.parametrize("address", ["FD00::0:9", "not an address"])
async def test_an_address_is_one_however_it_is_written_and_what_is_none_binds_nobody(
    bench: Bench, address: str
) -> None:
    await put_interface(bench, "nic", address)
    await put_vm(bench, "web", "nic")
    assert caller_from(bench, "fd00::9") == ("web" if address.startswith("FD") else "")
    await put_interface(bench, "nic", "10.0.0.9", status=200)
    assert caller_from(bench, "10.0.0.9") == "web"


async def test_what_was_bound_or_unbound_by_hand_stays_so(bench: Bench) -> None:
    await put_interface(bench, "nic", "10.0.0.9")
    await put_vm(bench, "web", "nic")
    for binding in (BY_HAND, Binding()):
        await bench.plane.submit(c.BindVm("web", binding), OPERATOR)
        await put_interface(bench, "nic", f"10.0.1.{len(binding.netns)}", status=200)
        await bench.ask("PATCH", f"{VMS}/web", {"tags": {"team": "web"}}, 200)
        assert bench.plane.region.vms["web"].binding == binding


async def test_an_address_that_another_vm_has_is_refused_with_its_name_and_nothing_changes(bench: Bench) -> None:
    await put_interface(bench, "nic", "10.0.0.9")
    await put_interface(bench, "same", "10.0.0.9")
    await put_interface(bench, "free", "10.0.0.10")
    await put_vm(bench, "web", "nic")
    await put_vm(bench, "late", "free")

    made = await bench.refused(409, "PUT", f"{VMS}/new", having("same"))
    changed = await bench.refused(409, "PUT", f"{NETWORK}/networkInterfaces/free", at("10.0.0.9"))

    assert [each["message"] for each in (made, changed)] == ["VM 'web' has address 10.0.0.9 already."] * 2


async def test_a_deleted_vms_address_is_free(bench: Bench) -> None:
    await put_interface(bench, "nic", "10.0.0.9")
    await put_vm(bench, "web", "nic")
    await bench.plane.submit(c.DeleteVms(("web",), "seed"), OPERATOR)
    await put_vm(bench, "next", "nic")
    assert caller_from(bench, "10.0.0.9") == "next"


async def test_nobody_is_bound_where_that_is_not_wanted() -> None:
    async with open_bench() as bench:
        await bench.group()
        await put_interface(bench, "nic", "10.0.0.9")
        await put_vm(bench, "web", "nic")
        await put_interface(bench, "nic", "10.0.0.10", status=200)
        assert bench.plane.region.vms["web"].binding == Binding()
