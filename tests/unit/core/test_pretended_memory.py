"""A pretended VM is not a byte larger for machines that are real: what those need stands in maps of their own."""

from __future__ import annotations

import gc
import tracemalloc

from forewarn.core import commands as c
from forewarn.core.region import Host, Vm
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.core.step import step
from tests.unit.core.real_world import RealWorld
from tests.unit.core.world import HOUR, World

_MANY = 2000
# What 0.1 had, before there were machines, but for small numbers, which share a value since
_VM = ("name", "spec", "seed", "created_at", "number", "host", "power", "binding", "events", "traits")
_HOST = ("number", "fault_domain", "update_domain", "capacity", "health", "vms")


def _grows_by(world: World) -> int:
    """Bytes of a region's growth for many VMs; the facts about them are not kept."""
    names = tuple(f"plain-{number}" for number in range(_MANY))
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        region = step(world.region, c.CreateVms(names, VmSpec(), "seed"), world.now, world.rules)[0]
        gc.collect()
        assert len(region.vms) >= _MANY
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_a_pretended_vm_and_its_host_have_the_fields_that_they_had_before_there_were_machines() -> None:
    assert Vm.__struct_fields__ == _VM
    assert Host.__struct_fields__ == _HOST


def test_vms_that_are_alike_hold_one_value_for_it_whatever_became_of_them() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.create("a", "b", "c")
    for name in ("a", "b"):
        world.restart(name)
    world.advance(HOUR)

    a, b, c = (world.vm(name).traits for name in ("a", "b", "c"))
    assert (a.boots, c.boots) == (2, 1)
    assert a is b


def test_many_pretended_vms_take_the_same_memory_beside_real_machines_as_alone() -> None:
    _grows_by(World())  # what is made once by whoever is first
    alone = _grows_by(World())
    beside = RealWorld()
    for name in ("a", "b", "c"):
        beside.adopt(name)
    mixed = _grows_by(beside)

    assert alone > 100 * _MANY  # else it was counted in the wrong place
    assert abs(mixed - alone) < _MANY, f"{(mixed - alone) / _MANY:.2f} bytes more for each VM"
    assert len(beside.region.machines) == 3
