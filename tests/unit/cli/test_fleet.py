"""A region file's VMs, brought into a region by nodes that start at the same time."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from forewarn.core.commands import PutScaleSet
from forewarn.core.facts import VmCreated
from forewarn.core.specs import Binding, VmSpec
from forewarn.plane.clock import RealClock, wall_time
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.server import fleet
from forewarn.server.assembly import Parts, assemble
from forewarn.settings.binding_file import BindingEntry
from forewarn.settings.errors import CommandFailed
from forewarn.settings.fleet_file import FleetEntry
from forewarn.stores.shared_memory import SharedMemory

pytestmark = pytest.mark.anyio

FLEET = (FleetEntry("web", 25, availability_set="front"), FleetEntry("db"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def start(store: SharedMemory) -> Plane:
    plane = (await assemble(Parts(journal=store.join(), clock_from=RealClock))).plane
    await plane.start()
    return plane


async def test_nodes_that_start_together_make_every_vm_once(anyio_backend: str) -> None:
    store = SharedMemory(wall_time)
    planes = [await start(store) for _ in range(3)]

    await asyncio.gather(*(fleet.create_missing(plane, FLEET, at_once=3) for plane in planes))
    for plane in planes:
        await plane.close()

    facts = (record.fact for record in store.journal.read(0, 10_000))
    made = Counter(fact.name for fact in facts if isinstance(fact, VmCreated))
    assert len(made) == 26
    assert set(made.values()) == {1}


async def test_vms_that_exist_are_left_alone_and_a_refused_one_is_named(anyio_backend: str) -> None:
    plane = await start(SharedMemory(wall_time))
    await fleet.create_missing(plane, FLEET)
    seq = plane.seq
    await fleet.create_missing(plane, FLEET)
    again = plane.seq
    with pytest.raises(CommandFailed, match="the region file's VM 'not a name!' was refused"):
        await fleet.create_missing(plane, (FleetEntry("not a name!"),))
    await plane.close()

    assert again == seq


async def test_a_namespace_that_can_be_none_is_refused_before_the_first_vm_is_made(anyio_backend: str) -> None:
    plane = await start(SharedMemory(wall_time))
    with pytest.raises(CommandFailed, match="cannot name a network namespace"):
        await fleet.create_missing(plane, (FleetEntry("web"), FleetEntry("bad", netns="../etc")))
    made = dict(plane.region.vms)
    await plane.close()

    assert made == {}


async def test_a_region_files_bindings_are_applied_to_existing_vms_at_each_start(
    caplog: pytest.LogCaptureFixture, anyio_backend: str
) -> None:
    plane = await start(SharedMemory(wall_time))
    await fleet.create_missing(plane, (FleetEntry("db", netns="old"),))
    await plane.submit(PutScaleSet("web", "rg", VmSpec(), "s", capacity=2), Origin("operator"))
    said = (
        BindingEntry(vm="DB", netns="db", interface="tap0"),
        BindingEntry(scale_set="web", netns="{name}"),
        BindingEntry(vm="nobody", netns="n"),
    )
    await fleet.bind_all(plane, said)
    bound = {key: vm.binding for key, vm in plane.region.vms.items()}
    seq = plane.seq
    await fleet.bind_all(plane, said)
    again = plane.seq
    with pytest.raises(CommandFailed, match="binding of VM 'db' was refused: VM 'web_0' has netns web_0 already"):
        await fleet.bind_all(plane, (BindingEntry(vm="db", netns="web_0"),))
    await plane.close()

    assert bound == {
        "db": Binding(netns="db", interface="tap0"),
        "web_0": Binding(netns="web_0"),
        "web_1": Binding(netns="web_1"),
    }
    assert again == seq
    assert "The region file binds VM 'nobody', which does not exist." in caplog.text
