"""Bindings: what they may say, and how a scale set gives them to its instances."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.refusal import Hint
from forewarn.core.region import replace
from forewarn.core.specs import Binding, BindingPattern, ScaleSetSpec, VmSpec
from tests.unit.core.world import World


def put(world: World, pattern: BindingPattern | None = None, capacity: int | None = None) -> c.PutScaleSet:
    """The set ``web`` as it is, or new, with this changed."""
    found = world.region.scale_sets.get("web")
    spec = ScaleSetSpec() if found is None else found.spec
    if pattern is not None:
        spec = replace(spec, binding=pattern)
    return c.PutScaleSet("web", "rg", VmSpec(), "s", spec=spec, capacity=capacity)


def bound(world: World) -> dict[str, Binding]:
    return {key: vm.binding for key, vm in sorted(world.region.vms.items())}


BAD_NAMES = ["../etc", "/run/netns/x", "..", ".", "-x", "a b", "a/b", "a\0", "a\n", "ä", "x" * 101, "a;b"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_leads_elsewhere_names_no_namespace(name: str, world: World) -> None:
    world.create("web")
    refusal = world.refused(c.BindVm("web", Binding(netns=name)))
    assert (refusal.hint, "cannot name a network namespace" in refusal.message) == (Hint.INVALID, True)
    assert world.refused(c.CreateVms(("new",), VmSpec(), "s", Binding(netns=name))).hint is Hint.INVALID
    assert "new" not in world.region.vms


@pytest.mark.parametrize("name", ["../etc", "..", "-x", "a b", "a/b", "x" * 16, "tap0:1", "ä"])
def test_a_name_that_no_network_interface_can_have_is_refused(name: str, world: World) -> None:
    world.create("web")
    refusal = world.refused(c.BindVm("web", Binding(netns="n", interface=name)))
    assert (refusal.hint, "cannot name a network interface" in refusal.message) == (Hint.INVALID, True)


def test_an_interface_needs_its_namespace(world: World) -> None:
    world.create("web")
    assert "name the namespace too" in world.refused(c.BindVm("web", Binding(interface="tap0"))).message


def test_several_vms_may_be_behind_one_namespace_each_over_its_own_interface(world: World) -> None:
    world.create("a", "b", "c")
    world.do(c.BindVm("a", Binding(netns="hyper")))
    world.do(c.BindVm("b", Binding(netns="hyper", interface="tap0")))
    refusal = world.refused(c.BindVm("c", Binding(netns="hyper", interface="tap0")))
    assert refusal.message == "VM 'b' has netns hyper interface tap0 already."
    world.do(c.BindVm("c", Binding(netns="hyper", interface="tap1")))
    assert len(world.region.addresses) == 3


def test_an_ipv4_address_is_one_however_it_is_written(world: World) -> None:
    world.create("a", "b")
    world.do(c.BindVm("a", Binding(address="::ffff:10.0.0.4")))
    assert "VM 'a' has address 10.0.0.4" in world.refused(c.BindVm("b", Binding(address="10.0.0.4"))).message


# Scale sets


def test_instances_are_bound_by_the_pattern_of_their_set_those_that_come_later_too(world: World) -> None:
    world.do(put(world, BindingPattern(netns="vm-{name}", interface="tap{id}"), capacity=2))
    world.do(put(world, capacity=3))
    assert bound(world) == {f"web_{n}": Binding(netns=f"vm-web_{n}", interface=f"tap{n}") for n in range(3)}


def test_instances_that_are_there_are_bound_when_the_set_gets_a_pattern_and_let_go_when_it_loses_it(
    world: World,
) -> None:
    world.do(put(world, capacity=2))
    assert set(bound(world).values()) == {Binding()}
    world.do(put(world, BindingPattern(netns="{name}")))
    assert bound(world) == {"web_0": Binding(netns="web_0"), "web_1": Binding(netns="web_1")}
    world.do(put(world, BindingPattern()))
    assert (set(bound(world).values()), len(world.region.addresses)) == ({Binding()}, 0)


def test_an_instance_gets_the_address_of_its_number_or_the_next_that_is_free(world: World) -> None:
    world.create("other")
    world.do(c.BindVm("other", Binding(address="10.0.0.2")))
    world.do(put(world, BindingPattern(address="10.0.0.0/29", local_address="127.5.0.0/24"), capacity=3))
    addresses = [world.vm(f"web_{n}").binding for n in range(3)]
    assert [each.address for each in addresses] == ["10.0.0.1", "10.0.0.3", "10.0.0.4"]
    assert [each.local_address for each in addresses] == ["127.5.0.1", "127.5.0.2", "127.5.0.3"]


def test_an_instance_that_goes_frees_its_address_and_the_next_one_gets_it(world: World) -> None:
    world.do(put(world, BindingPattern(address="10.0.0.0/30"), capacity=2))
    assert sorted(each.address for each in bound(world).values()) == ["10.0.0.1", "10.0.0.2"]
    world.do(c.DeleteInstances("web", ("web_0",), "s"))
    world.do(put(world, capacity=2))
    assert bound(world) == {"web_1": Binding(address="10.0.0.2"), "web_2": Binding(address="10.0.0.1")}


def test_a_range_that_is_used_up_is_a_refusal_and_nothing_is_made(world: World) -> None:
    world.do(put(world, BindingPattern(address="10.0.0.0/30"), capacity=2))
    refusal = world.refused(put(world, capacity=3))
    assert refusal.message == "No address of 10.0.0.0/30 is left for VM 'web_2': all are bound to other VMs."
    assert set(bound(world)) == {"web_0", "web_1"}


def test_a_namespace_that_another_vm_has_is_a_refusal_that_names_it_and_nothing_is_changed(world: World) -> None:
    world.create("other")
    world.do(c.BindVm("other", Binding(netns="web_2")))
    world.do(put(world, capacity=3))
    before = world.region
    refusal = world.refused(put(world, BindingPattern(netns="{name}")))
    assert (refusal.hint, refusal.message) == (Hint.CONFLICT, "VM 'other' has netns web_2 already.")
    assert (world.region.scale_sets, world.region.vms) == (before.scale_sets, before.vms)


def test_instances_may_trade_places(world: World) -> None:
    world.do(put(world, BindingPattern(netns="{name}"), capacity=2))
    world.do(c.BindVm("web_0", Binding()))
    world.do(c.BindVm("web_1", Binding(netns="x-web_0")))
    world.do(put(world, BindingPattern(netns="x-{name}")))
    assert bound(world) == {"web_0": Binding(netns="x-web_0"), "web_1": Binding(netns="x-web_1")}


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        (BindingPattern(netns="same"), "All instances would get the network namespace 'same'"),
        (BindingPattern(netns="n", interface="tap0"), "All instances would get"),
        (BindingPattern(netns="{number}"), "holds '{number}'"),
        (BindingPattern(netns="{name"), "holds '{'"),
        (BindingPattern(netns="../{name}"), "cannot name a network namespace"),
        (BindingPattern(netns="{name}", interface="interface-number-{id}"), "cannot name a network interface"),
        (BindingPattern(interface="tap{id}"), "name the namespace too"),
        (BindingPattern(address="10.0.0.4/24"), "no range of IP addresses"),
        (BindingPattern(address="here"), "no range of IP addresses"),
        (BindingPattern(local_address="10.0.0.0/24"), "not loopback addresses"),
    ],
)
def test_a_pattern_that_cannot_bind_is_refused_before_there_is_any_instance(
    pattern: BindingPattern, sentence: str, world: World
) -> None:
    refusal = world.refused(put(world, pattern, capacity=0))
    assert (refusal.hint, sentence in refusal.message) == (Hint.INVALID, True), refusal.message
    assert len(world.region.scale_sets) == 0
