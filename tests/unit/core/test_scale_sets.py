"""Scale sets: how instances are named, made and housed, who of them goes, and what they share."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.guids import derive_guid
from forewarn.core.refusal import Hint
from forewarn.core.region import Power
from forewarn.core.rules import Rules
from forewarn.core.specs import EvictionPolicy, Orchestration, Policy, ScaleInRule, ScopeKind
from tests.unit.core.world import MINUTE, World

FLEXIBLE = Orchestration.FLEXIBLE


# Names


def test_instances_of_a_uniform_set_are_called_by_the_set_and_their_id(world: World) -> None:
    world.put_set("Web", 3)
    assert world.instances() == ["Web_0", "Web_1", "Web_2"]


def test_ids_are_not_used_twice(world: World) -> None:
    world.put_set(capacity=3)
    world.delete_instances("web_2", "web_0")
    world.put_set(capacity=3)
    assert world.instances() == ["web_1", "web_3", "web_4"]
    world.put_set(capacity=0)
    world.put_set(capacity=1)
    assert world.instances() == ["web_5"]


def test_instances_of_a_flexible_set_have_eight_digits_of_their_own(world: World) -> None:
    world.put_set("Web", 3, orchestration=FLEXIBLE)
    first = world.instances()
    assert all(name.startswith("Web_") and int(name[4:], 16) >= 0 and len(name) == 12 for name in first)
    world.put_set("Web", 0, orchestration=FLEXIBLE)
    world.put_set("Web", 3, orchestration=FLEXIBLE)
    assert len({*first, *world.instances()}) == 6


def test_instance_names_that_a_vm_has_are_passed_over(world: World) -> None:
    taken = f"web_{derive_guid('S', 'web', '0', '0')[:8].lower()}"
    world.create(taken)
    world.put_set(capacity=1, orchestration=FLEXIBLE, seed="S")
    (name,) = world.instances()
    assert name not in (taken, "web_0")


def test_a_name_that_a_vm_has_is_refused_to_an_instance(world: World) -> None:
    world.create("WEB_1")
    refused = world.refused(world.put(capacity=2))
    assert (refused.hint, refused.message) == (Hint.CONFLICT, "A VM named 'web_1' exists already.")


def test_a_set_that_comes_again_counts_from_zero(world: World) -> None:
    world.put_set(capacity=2)
    world.delete_set()
    world.put_set(capacity=1)
    assert world.instances() == ["web_0"]


def test_what_was_asked_for_is_kept(world: World) -> None:
    world.put_set("Web", 1, computer_prefix="pre", single_placement_group=True, resource_group="Shop", size="big")
    found = world.scale_set()
    assert (found.name, found.computer_prefix, found.single_placement_group) == ("Web", "pre", True)
    vm = world.vm("web_0")
    assert (found.resource_group, vm.spec.resource_group, world.scope("web_0").resource_group) == ("Shop",) * 3
    assert (vm.spec.size, vm.scale_set, vm.spec.kind) == ("big", "Web", ScopeKind.PLACEMENT_GROUP)


def test_the_computers_are_called_by_the_set_where_nobody_says_otherwise(world: World) -> None:
    world.put_set("Web-Servers-West", 0)
    assert world.scale_set("web-servers-west").computer_prefix == "web-serve"


# Capacity


def test_asking_again_for_what_is_there_changes_nothing(world: World) -> None:
    command = world.put(capacity=3, policy=Policy(auto_approve_reboot=True), size="big")
    world.do(command)
    assert world.do(command) == ()


def test_without_a_capacity_a_set_keeps_its_own(world: World) -> None:
    world.put_set()
    assert world.scale_set().capacity == 0
    world.put_set(capacity=2)
    world.put_set(size="big")
    assert world.scale_set().capacity == 2


@pytest.mark.parametrize("reads", [True, False])
def test_the_capacity_falls_when_a_deletion_is_asked_for_not_when_it_is_done(reads: bool, world: World) -> None:
    world.put_set(capacity=5, terminate_notice=10 * MINUTE)
    if reads:
        world.read_set()
    world.delete_instances("web_3")
    assert (world.scale_set().capacity, len(world.scale_set().instances)) == (4, 5 if reads else 4)
    world.put_set(capacity=2, terminate_notice=10 * MINUTE)
    assert (world.scale_set().capacity, len(world.scale_set().instances)) == (2, 5 if reads else 2)


def test_a_set_that_grows_while_others_leave_makes_new_ones(world: World) -> None:
    world.reading_set(capacity=3)
    world.put_set(capacity=1, terminate_notice=10 * MINUTE)
    world.put_set(capacity=3, terminate_notice=10 * MINUTE)
    assert world.instances() == ["web_0", "web_3", "web_4"]
    world.advance(11 * MINUTE)
    assert sorted(world.region.vms) == ["web_0", "web_3", "web_4"]


def test_a_deletion_that_is_taken_back_counts_again(world: World) -> None:
    world.reading_set(capacity=3)
    first, second = world.delete_instances("web_0", "web_1")
    world.cancel(first)
    assert (world.scale_set().capacity, world.instances()) == (2, ["web_0", "web_2"])
    assert not world.gone(second)
    world.advance(11 * MINUTE)
    assert world.instances() == ["web_0", "web_2"]


def test_an_evicted_instance_that_is_deleted_does_not_come_back(world: World) -> None:
    world.put_set(capacity=3, spot=True, eviction_policy=EvictionPolicy.DELETE)
    world.evict("web_1")
    world.advance(MINUTE)
    assert (world.scale_set().capacity, world.instances()) == (2, ["web_0", "web_2"])


def test_an_evicted_instance_that_is_deallocated_stays(world: World) -> None:
    world.put_set(capacity=2, spot=True)
    world.evict("web_1")
    world.advance(MINUTE)
    assert (world.scale_set().capacity, world.vm("web_1").power) == (2, Power.DEALLOCATED)


# Who goes


def test_by_default_the_fullest_fault_domain_gives_its_newest() -> None:
    world = World(Rules(fault_domains=3))
    world.put_set(capacity=7)  # domains 0 1 2 0 1 2 0
    world.put_set(capacity=6)
    assert world.instances() == [f"web_{number}" for number in range(6)]
    world.delete_instances("web_4")  # leaves 2 1 2
    world.put_set(capacity=4)
    assert world.instances() == ["web_0", "web_1", "web_2", "web_3"]
    world.put_set(capacity=3)
    assert world.instances() == ["web_0", "web_1", "web_2"]


def test_by_default_a_domain_is_emptied_only_until_it_is_no_fuller_than_the_others() -> None:
    world = World(Rules(fault_domains=2))
    world.put_set(capacity=8)
    world.delete_instances("web_1", "web_3")  # leaves 0 2 4 6 in the first, 5 7 in the second
    world.put_set(capacity=2)
    assert world.instances() == ["web_0", "web_5"]


def test_protected_ones_fill_their_domain_too() -> None:
    world = World(Rules(fault_domains=2))
    world.put_set(capacity=5)  # domain 0: 0 2 4, domain 1: 1 3
    world.do(c.ProtectInstance("web_4", True))
    world.put_set(capacity=4)
    assert world.instances() == ["web_0", "web_1", "web_3", "web_4"]


@pytest.mark.parametrize(
    ("rule", "left"), [(ScaleInRule.NEWEST_VM, ["web_0", "web_1"]), (ScaleInRule.OLDEST_VM, ["web_3", "web_4"])]
)
def test_the_newest_or_the_oldest_go_where_the_set_says_so(rule: ScaleInRule, left: list[str], world: World) -> None:
    world.put_set(capacity=5, scale_in=rule)
    world.put_set(capacity=2, scale_in=rule)
    assert world.instances() == left


@pytest.mark.parametrize("rule", ScaleInRule)
def test_a_protected_instance_is_left_when_the_set_shrinks(rule: ScaleInRule, world: World) -> None:
    world.put_set(capacity=5, scale_in=rule)
    world.do(c.ProtectInstance("WEB_0", True))
    world.do(c.ProtectInstance("web_4", True))
    world.put_set(capacity=2, scale_in=rule)
    assert world.instances() == ["web_0", "web_4"]


def test_a_set_does_not_shrink_into_what_is_protected(world: World) -> None:
    world.put_set(capacity=3)
    world.do(c.ProtectInstance("web_0", True))
    world.do(c.ProtectInstance("web_1", True))
    refused = world.refused(world.put(capacity=1))
    assert (refused.hint, refused.message) == (
        Hint.CONFLICT,
        "Scale set 'web' cannot shrink to 1: 2 of its instances are protected from scale-in.",
    )
    world.do(c.ProtectInstance("web_0", False))
    world.put_set(capacity=1)
    assert world.instances() == ["web_1"]


def test_protection_is_not_from_those_who_name_the_instance_or_delete_the_set(world: World) -> None:
    world.put_set(capacity=2)
    for name in world.instances():
        world.do(c.ProtectInstance(name, True))
        assert world.do(c.ProtectInstance(name, True)) == ()
    world.delete_instances("web_0")
    world.delete_set()
    assert len(world.region.vms) == len(world.region.scale_sets) == 0
