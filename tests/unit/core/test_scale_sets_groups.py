"""Placement groups: the scopes that a scale set's instances see and approve in, and the policy that they share."""

from __future__ import annotations

from forewarn.core import commands as c
from forewarn.core.refusal import Hint
from forewarn.core.specs import EvictionPolicy, Policy, ScaleInRule, ScopeKind, VmSpec
from tests.unit.core.world import MINUTE, NOON, SECOND, World, kinds


def test_a_placement_group_is_a_scope_of_a_hundred(world: World) -> None:
    world.put_set("Web", 250)
    sizes = {key: len(scope.members) for key, scope in world.region.scopes.items()}
    assert sizes == {"placement-group/web~0": 100, "placement-group/web~1": 100, "placement-group/web~2": 50}
    assert {world.vm(f"web_{number}").spec.set_name for number in (100, 199)} == {"Web~1"}


def test_room_in_an_earlier_group_is_filled_first(world: World) -> None:
    world.put_set(capacity=210)
    world.delete_instances("web_3", "web_105")
    world.put_set(capacity=212)
    assert [world.vm(f"web_{number}").spec.set_name for number in range(210, 214)] == [
        "web~0",
        "web~1",
        "web~2",
        "web~2",
    ]


def test_each_group_reads_and_sees_for_itself(world: World) -> None:
    world.reading_set(capacity=101)
    world.restart("web_0")
    assert (world.statuses("web_99"), world.statuses("web_100")) == (["Scheduled"], [])
    assert world.refused(c.Approve(tuple(world.region.events), "web_100", world.vm("web_100").scope))


def test_a_single_placement_group_holds_all(world: World) -> None:
    world.reading_set(capacity=100, single_placement_group=True)
    refused = world.refused(world.put(capacity=101, single_placement_group=True))
    assert refused.message == "A single placement group holds at most 100 instances."
    world.put_set(capacity=0, single_placement_group=True, terminate_notice=10 * MINUTE)
    world.put_set(capacity=100, single_placement_group=True)  # beside those that leave
    assert list(world.region.scopes) == ["placement-group/web~0"]


def test_a_single_placement_group_may_become_many_but_not_the_other_way(world: World) -> None:
    world.put_set(capacity=100, single_placement_group=True)
    world.put_set(capacity=150)
    assert len(world.region.scopes) == 2
    assert world.refused(world.put(single_placement_group=True)).hint is Hint.CONFLICT


def test_groups_go_with_their_set_and_not_before(world: World) -> None:
    world.put_set(capacity=101)
    world.put_set(capacity=0)
    assert len(world.region.scopes) == 2
    world.delete_set()
    assert len(world.region.scopes) == 0


def test_no_other_scope_can_be_called_like_a_placement_group(world: World) -> None:
    spec = VmSpec(kind=ScopeKind.PLACEMENT_GROUP, set_name="web~0")
    assert "scale set are made by the set" in world.refused(c.CreateVms(("x",), spec, "s")).message
    assert world.refused(c.PutAvailabilitySet("web~0", "rg", Policy())).hint is Hint.INVALID


# Policy


def test_a_policy_is_the_whole_sets_old_groups_and_new(world: World) -> None:
    policy = Policy(auto_approve_reboot=True)
    world.put_set(capacity=101)
    facts = world.put_set(capacity=201, policy=policy)
    assert {scope.policy for scope in world.region.scopes.values()} == {policy}
    assert kinds(facts).count("PolicySet") == 3
    world.read_set()
    world.restart("web_0", "web_200")
    assert (world.statuses("web_0"), world.statuses("web_200")) == (["Started"], ["Started"])


def test_a_policy_asked_of_one_group_is_the_whole_sets(world: World) -> None:
    world.put_set(capacity=101)
    world.set_policy("placement-group/WEB~1", auto_approve_redeploy=True)
    assert world.scale_set().spec.policy == world.scope("web_0").policy == Policy(auto_approve_redeploy=True)
    assert world.refused(c.SetPolicy("placement-group/web~2", Policy())).hint is Hint.NOT_FOUND


def test_other_changes_leave_the_policy_alone(world: World) -> None:
    world.put_set(capacity=1)
    assert kinds(world.put_set(scale_in=ScaleInRule.OLDEST_VM)) == ["ScaleSetChanged"]


def test_a_policy_that_comes_late_approves_what_is_down(world: World) -> None:
    world.put_set(capacity=1, policy=Policy(all_instances_down=False))
    world.read_set()
    world.restart("web_0")
    world.stop("web_0")
    assert world.statuses("web_0") == ["Scheduled"]
    world.put_set()
    assert world.statuses("web_0") == ["Started"]


# Spot


def test_a_spot_instance_is_warned_of_its_eviction_in_its_own_group(world: World) -> None:
    world.put_set(capacity=2, spot=True, eviction_policy=EvictionPolicy.DELETE)
    world.read_set()
    (event_id,) = world.evict("web_0")
    assert (world.seen("web_1").type, world.seen("web_1").resources) == ("Preempt", ("web_0",))
    world.advance(35 * SECOND)
    assert world.gone(event_id)
    assert world.instances() == ["web_1"]


def test_the_last_spot_instance_may_take_a_deleted_set_with_it(world: World) -> None:
    world.reading_set(capacity=1)
    world.put_set(spot=True, eviction_policy=EvictionPolicy.DELETE)
    world.together("OP", c.DeleteScaleSet("web", "s"))
    world.upgrade("web_0")
    world.evict("web_0")
    world.advance(MINUTE)
    assert "web" not in world.region.scale_sets
    assert (world.operation("OP").ended_at, world.operation("OP").error) == (NOON + 35 * SECOND, "")
