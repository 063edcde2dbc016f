"""scheduledEventsPolicy: events that nobody has to approve."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.deciding.settle import ALL_DOWN
from forewarn.core.phases import Phase
from forewarn.core.refusal import Hint
from forewarn.core.region import Power
from forewarn.core.rules import Rules
from forewarn.core.specs import Policy, VmSpec
from tests.unit.core.world import MINUTE, NOON, SECOND, World, in_service, in_set, kinds


def test_an_automatic_reboot_is_born_started(world: World) -> None:
    world.reading("web")
    world.set_policy("vm/web", auto_approve_reboot=True)
    (event_id,) = world.restart("web")
    assert kinds(world.facts)[-2:] == ["EventBornStarted", "ImpactBegan"]
    assert (world.seen("web").status, world.seen("web").not_before) == ("Started", None)
    assert world.document("web").incarnation == 2
    assert world.event(event_id).started_at == NOON


def test_an_automatic_redeploy_is_born_started(world: World) -> None:
    world.reading("web")
    world.set_policy("vm/web", auto_approve_redeploy=True)
    world.redeploy("web")
    assert world.statuses("web") == ["Started"]


@pytest.mark.parametrize(("reboot", "redeploy"), [(True, False), (False, True), (False, False), (True, True)])
def test_each_half_of_the_policy_is_for_its_own_operation(reboot: bool, redeploy: bool, world: World) -> None:
    world.reading("web")
    world.set_policy("vm/web", auto_approve_reboot=reboot, auto_approve_redeploy=redeploy)
    world.restart("web")
    world.advance(25 * SECOND)
    world.reading("other")
    world.set_policy("vm/other", auto_approve_reboot=reboot, auto_approve_redeploy=redeploy)
    world.redeploy("other")
    assert [*world.statuses("web"), *world.statuses("other")] == [
        "Started" if automatic else "Scheduled" for automatic in (reboot, redeploy)
    ]


@pytest.mark.parametrize("cause", [Cause.REBOOT, Cause.REDEPLOY])
def test_what_the_platform_does_is_never_automatic(cause: Cause, world: World) -> None:
    world.reading("web")
    world.set_policy("vm/web", auto_approve_reboot=True, auto_approve_redeploy=True)
    world.maintain(cause)
    assert world.statuses("web") == ["Scheduled"]


def test_a_policy_is_the_whole_sets(world: World) -> None:
    world.reading("web-0", "web-1", spec=in_set("front"))
    world.set_policy("availability-set/FRONT", auto_approve_reboot=True)
    world.restart("web-1")
    assert world.statuses("web-0") == ["Started"]


def test_a_policy_does_not_enable_and_a_read_does_not_forget_it(world: World) -> None:
    world.create("web")
    world.set_policy("vm/web", auto_approve_reboot=True)
    assert world.scope("web").enabled_at is None
    world.read("web")
    assert world.scope("web").policy == Policy(auto_approve_reboot=True)


def test_a_policy_goes_with_its_lone_vm(world: World) -> None:
    world.create("web")
    world.set_policy("vm/web", auto_approve_reboot=True)
    world.delete("web")
    world.create("web")
    assert world.scope("web").policy == Policy()


@pytest.mark.parametrize("scope", ["vm/nobody", "vm/web-0", "availability-set/nobody", "nonsense", ""])
def test_there_is_no_policy_without_a_scope(scope: str, world: World) -> None:
    world.create("web-0", spec=in_set("front"))
    assert world.refused(c.SetPolicy(scope, Policy())).hint is Hint.NOT_FOUND


# All instances down


def test_an_event_whose_vm_is_stopped_is_approved_at_once(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.deallocate("web")
    event = world.event(event_id)
    assert (event.approved_by, event.phase) == (ALL_DOWN, Phase.STARTED)
    world.advance(MINUTE)
    assert (world.vm("web").power, world.vm("web").boots) == (Power.DEALLOCATED, 1)


def test_an_event_is_approved_by_the_policy_only_if_all_its_vms_are_stopped() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("web-0", "web-1", spec=in_set("front"))
    world.maintain(Cause.FREEZE)
    world.deallocate("web-0")
    assert world.statuses("web-0") == ["Scheduled"]
    world.deallocate("web-1")
    assert world.statuses("web-0") == ["Started"]


def test_deleting_the_last_one_that_ran_leaves_only_stopped_ones() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("web-0", "web-1", spec=in_set("front"))
    world.maintain(Cause.FREEZE)
    world.deallocate("web-0")
    world.delete("web-1")
    assert world.statuses("web-0") == ["Started"]


def test_only_the_vms_that_the_event_hits_count(world: World) -> None:
    world.reading("a", "b", spec=in_service("shop", "Web"))
    world.restart("a")
    world.deallocate("b")
    assert world.statuses("a") == ["Scheduled"]


def test_a_terminate_of_a_stopped_vm_waits_for_nobody(world: World) -> None:
    world.reading("web", spec=in_set("front", terminate_notice=5 * MINUTE))
    world.deallocate("web")
    world.delete("web")
    world.advance(MINUTE)
    assert "web" not in world.region.vms


def test_without_that_half_of_the_policy_a_stopped_vm_waits_like_any_other(world: World) -> None:
    world.reading("web")
    world.set_policy("vm/web", all_instances_down=False)
    world.restart("web")
    world.deallocate("web")
    assert world.statuses("web") == ["Scheduled"]
    world.advance(15 * MINUTE)
    assert world.statuses("web") == ["Started"]


def test_the_policy_and_the_stop_may_come_in_either_order(world: World) -> None:
    world.reading("web")
    world.set_policy("vm/web", all_instances_down=False)
    world.restart("web")
    world.deallocate("web")
    world.set_policy("vm/web", all_instances_down=True)
    assert world.statuses("web") == ["Started"]


def test_a_stopped_tenant_is_not_awaited_by_its_neighbours() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("a", "b")
    world.maintain(Cause.FREEZE)
    world.approve(world.seen("a").event_id)
    world.deallocate("b")
    assert world.statuses("a") == ["Started"]


def test_a_terminate_event_is_never_approved_by_the_policy(world: World) -> None:
    world.reading("web", spec=VmSpec(terminate_notice=5 * MINUTE))
    world.set_policy("vm/web", auto_approve_reboot=True, auto_approve_redeploy=True)
    world.delete("web")
    assert world.statuses("web") == ["Scheduled"]
