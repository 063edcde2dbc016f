"""With ``bind_nics`` a VM is known by the address that the Resource Manager was told of its network interface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from forewarn.core.commands import BindVm
from forewarn.core.specs import NO_BINDING, Binding
from forewarn.web.documents.interfaces import shared_address
from forewarn.web.metadata.asking.callers import Caller, Entrance, identify
from forewarn.web.resource_manager import nic_bindings
from tests.unit.web.resource_manager.bench import NETWORK, OPERATOR, RG, Bench, open_bench

pytestmark = pytest.mark.anyio
VMS = f"{RG}/providers/Microsoft.Compute/virtualMachines"


@pytest.fixture
async def bound(anyio_backend: str) -> AsyncIterator[Bench]:
    """A region with the setting on."""
    async with open_bench(bind_nics=True) as opened:
        await opened.group()
        yield opened


def interface(address: str) -> dict[str, Any]:
    inner = {"privateIPAddress": address, "privateIPAllocationMethod": "Static"}
    return {"location": "westus", "properties": {"ipConfigurations": [{"name": "one", "properties": inner}]}}


async def make(bench: Bench, name: str, address: str, status: int = 201) -> None:
    nic = f"{NETWORK}/networkInterfaces/{name}"
    await bench.put(nic, interface(address))
    body = {"networkProfile": {"networkInterfaces": [{"id": nic}]}}
    await bench.put(f"{VMS}/{name}", {"location": "westus", "properties": body}, status)


def caller(bench: Bench, address: str) -> str | None:
    """Whom the metadata face takes one for that calls from there, at a listener beyond loopback."""
    found = identify(bench.plane.region, Caller.at(Entrance(), address, "10.0.0.1"), None)
    return None if found is None else found.name


def told(bench: Bench, name: str) -> str:
    return shared_address(bench.plane.region, bench.plane.region.vms[name])


async def test_no_vm_is_known_by_its_interface_unless_the_setting_is_on(bench: Bench) -> None:
    await bench.group()
    await make(bench, "web", "10.0.0.9")
    await nic_bindings.bind_all(bench.desk)

    assert caller(bench, "10.0.0.9") is None
    assert bench.plane.region.vms["web"].binding == NO_BINDING


async def test_a_vm_is_known_by_its_interface_wherever_that_moves(bound: Bench) -> None:
    await make(bound, "web", "10.0.0.9")
    assert caller(bound, "10.0.0.9") == "web"

    nic = f"{NETWORK}/networkInterfaces/web"
    await bound.put(nic, interface("10.0.0.10"), 200)
    assert (caller(bound, "10.0.0.9"), caller(bound, "10.0.0.10")) == (None, "web")

    await bound.put(f"{NETWORK}/networkInterfaces/other", interface("fd00::0:7"))
    body = {"networkProfile": {"networkInterfaces": [{"id": f"{NETWORK}/networkInterfaces/other"}]}}
    await bound.put(f"{VMS}/web", {"location": "westus", "properties": body}, 200)
    assert (caller(bound, "10.0.0.10"), caller(bound, "fd00::7")) == (None, "web")

    await bound.ask("DELETE", f"{NETWORK}/networkInterfaces/other")
    assert caller(bound, "fd00::7") is None


async def test_a_second_vm_with_the_same_address_stays_unbound_and_both_say_so(bound: Bench) -> None:
    await make(bound, "web", "10.0.0.9")
    await make(bound, "twin", "10.0.0.9")

    assert caller(bound, "10.0.0.9") == "web"
    assert bound.plane.region.vms["twin"].binding == NO_BINDING
    assert told(bound, "twin") == "not bound to 10.0.0.9, which its network interface has: VM 'web' is"
    assert told(bound, "web") == "10.0.0.9 is also at the network interface of twin, not bound to it"

    await bound.put(f"{NETWORK}/networkInterfaces/twin", interface("10.0.0.10"), 200)
    assert (told(bound, "web"), told(bound, "twin")) == ("", "")
    assert caller(bound, "10.0.0.10") == "twin"


async def test_what_was_bound_by_hand_stays(bound: Bench) -> None:
    await make(bound, "web", "10.0.0.9")
    await bound.plane.submit(BindVm("web", Binding(address="192.0.2.7")), OPERATOR)

    await bound.put(f"{NETWORK}/networkInterfaces/web", interface("10.0.0.10"), 200)
    await nic_bindings.bind_all(bound.desk)

    assert (caller(bound, "192.0.2.7"), caller(bound, "10.0.0.10")) == ("web", None)


async def test_a_namespace_stays_beside_the_address(bound: Bench) -> None:
    await make(bound, "web", "10.0.0.9")
    await bound.plane.submit(BindVm("web", Binding(netns="n")), OPERATOR)

    await bound.put(f"{NETWORK}/networkInterfaces/web", interface("10.0.0.10"), 200)

    assert bound.plane.region.vms["web"].binding == Binding(address="10.0.0.10", netns="n")


async def test_an_interface_without_a_valid_address_binds_no_vm(bound: Bench) -> None:
    await make(bound, "web", "somewhere")

    assert bound.plane.region.vms["web"].binding == NO_BINDING


async def test_switched_on_later_it_holds_for_the_vms_that_are_there(bench: Bench) -> None:
    await bench.group()
    for name, address in (("a", "10.0.0.9"), ("b", "10.0.0.9"), ("db", "10.0.0.10")):
        await make(bench, name, address)
    await bench.create_vm("lone")

    await nic_bindings.bind_all(replace(bench.desk, bind_nics=True))

    assert (caller(bench, "10.0.0.9"), caller(bench, "10.0.0.10")) == ("a", "db")
    assert bench.plane.region.vms["b"].binding == NO_BINDING
