"""The tips of the terminate document, each as a story: no wait, no extension, and deletes that wait for each other."""

from __future__ import annotations

import pytest

from forewarn.core import facts as f
from forewarn.core import keys
from forewarn.core.draft import Draft
from forewarn.core.region import Power
from forewarn.core.specs import Policy, VmSpec
from tests.unit.core.world import DAY, MINUTE, NOON, SECOND, World, kinds

TEN = VmSpec(terminate_notice=10 * MINUTE)


# No mandatory wait for the timeout


def test_an_approved_deletion_does_not_wait_for_the_timeout(world: World) -> None:
    world.reading_set()
    (event_id,) = world.delete_instances("web_0")
    world.advance(MINUTE)
    world.approve(event_id, by="web_0", scope="placement-group/web~0")
    assert (world.statuses("web_1"), world.vm("web_0").power) == (["Started"], Power.DELETING)
    world.advance(5 * SECOND)
    assert ("web_0" in world.region.vms, world.document("web_1").events) == (False, ())


def test_an_instance_that_is_stopped_is_deleted_without_waiting_for_an_approval(world: World) -> None:
    world.reading_set()
    world.stop("web_0")
    (event_id,) = world.delete_instances("web_0")
    assert world.phases(event_id) == ["started"]


def test_a_stopped_instance_is_waited_for_where_the_policy_of_the_set_says_so(world: World) -> None:
    world.reading_set(policy=Policy(all_instances_down=False))
    world.stop("web_0")
    (event_id,) = world.delete_instances("web_0")
    assert world.phases(event_id) == ["scheduled"]


# Mandatory delete at the timeout, and no extension


def test_at_the_timeout_the_instance_is_deleted_whatever_anyone_says(world: World) -> None:
    world.reading_set()
    (event_id,) = world.delete_instances("web_0")
    world.advance(10 * MINUTE - SECOND)
    assert world.phases(event_id) == ["scheduled"]
    world.advance(SECOND)
    assert world.phases(event_id) == ["started"]
    world.advance(5 * SECOND)
    assert "web_0" not in world.region.vms


@pytest.mark.parametrize("model", [VmSpec(terminate_notice=15 * MINUTE), VmSpec(), VmSpec(spot=True)])
def test_the_timeout_of_an_event_never_moves(model: VmSpec, world: World) -> None:
    world.reading_set()
    (event_id,) = world.delete_instances("web_0")
    world.advance(5 * MINUTE)
    world.put_set(vm_spec=model)
    world.upgrade()
    for ask_again in (world.delete_instances, lambda _: world.delete_set()):
        assert event_id not in ask_again("web_0")
        assert world.event(event_id).not_before == NOON + 10 * MINUTE
        assert "web_0" in world.region.vms
    world.advance(5 * MINUTE + 5 * SECOND)
    assert "web_0" not in world.region.vms


def test_a_disabled_scope_does_not_extend_the_timeout(world: World) -> None:
    world.reading_set()
    world.advance(DAY - 5 * MINUTE)
    world.delete_instances("web_0")
    world.advance(6 * MINUTE)
    assert world.scope("web_0").enabled_at is None
    world.advance(5 * MINUTE)
    assert "web_0" not in world.region.vms


# A changed timeout counts once the instance has the model


def test_a_changed_timeout_counts_only_for_instances_that_have_the_model(world: World) -> None:
    world.reading_set(terminate_notice=5 * MINUTE)
    world.put_set(terminate_notice=15 * MINUTE)
    world.upgrade("web_1")
    first, second = world.delete_instances("web_0", "web_1")
    assert [world.event(event_id).not_before - NOON for event_id in (first, second)] == [5 * MINUTE, 15 * MINUTE]


def test_a_notice_that_was_switched_on_counts_only_for_instances_that_have_the_model(world: World) -> None:
    world.put_set(capacity=2)
    world.read_set()
    world.put_set(vm_spec=TEN)
    world.upgrade("web_1")
    assert len(world.delete_instances("web_0", "web_1")) == 1
    assert world.instances() == []
    assert world.seen("web_1").resources == ("web_1",)


def test_a_notice_that_was_switched_off_still_counts_for_instances_of_the_old_model(world: World) -> None:
    world.reading_set()
    world.put_set()
    world.upgrade("web_1")
    assert len(world.delete_instances("web_0", "web_1")) == 1
    assert world.seen("web_0").resources == ("web_0",)


# Approve all pending deletes


def test_an_approved_delete_waits_until_the_other_pending_one_is_approved(world: World) -> None:
    world.reading_set()
    (first,) = world.delete_instances("web_0")
    world.advance(MINUTE)
    (second,) = world.delete_instances("web_1")
    world.approve(second)
    assert world.phases(first, second) == ["scheduled", "approved"]
    assert world.statuses("web_2") == ["Scheduled", "Scheduled"]
    world.approve(first)
    assert world.phases(first, second) == ["started", "started"]


def test_an_approved_delete_waits_until_the_other_pending_one_has_timed_out(world: World) -> None:
    world.reading_set()
    (first,) = world.delete_instances("web_0")
    world.advance(MINUTE)
    (second,) = world.delete_instances("web_1")
    world.approve(second)
    world.advance(9 * MINUTE - SECOND)
    assert world.phases(first, second) == ["scheduled", "approved"]
    world.advance(SECOND)
    assert world.phases(first, second) == ["started", "started"]


def test_an_approved_delete_that_times_out_itself_waits_for_nobody(world: World) -> None:
    world.reading_set()
    (first,) = world.delete_instances("web_0")
    world.advance(MINUTE)
    (second,) = world.delete_instances("web_1")
    world.approve(first)
    world.advance(9 * MINUTE)
    assert world.phases(first, second) == ["started", "scheduled"]


def test_what_is_taken_back_is_not_waited_for_and_takes_nothing_else_back(world: World) -> None:
    world.reading_set()
    first, second, third = world.delete_instances("web_0", "web_1", "web_2")
    world.approve(second)
    assert kinds(world.cancel(first)) == ["EventCanceled"]
    assert world.phases(second, third) == ["approved", "scheduled"]
    world.cancel(third)
    assert world.phases(second) == ["started"]
    assert world.instances() == ["web_0", "web_2"]


def test_the_groups_of_one_set_wait_for_each_other(world: World) -> None:
    world.reading_set(capacity=101)
    first, second = world.delete_instances("web_0", "web_100")
    world.approve(first, by="web_1", scope="placement-group/web~0")
    assert world.phases(first, second) == ["approved", "scheduled"]
    world.approve(second, by="web_100", scope="placement-group/web~1")
    assert world.phases(first, second) == ["started", "started"]


def test_sets_do_not_wait_for_each_other_nor_for_other_events(world: World) -> None:
    world.reading_set("web")
    world.reading_set("db")
    first, second = world.delete_instances("web_0"), world.delete_instances("db_0", name="db")
    world.restart("web_1")
    world.approve(*first)
    assert world.phases(*first, *second) == ["started", "scheduled"]


# Approve all simultaneous deletes


def test_of_simultaneous_deletes_none_goes_before_all_are_approved(world: World) -> None:
    world.reading_set()
    events = world.delete_instances("web_0", "web_1", "web_2")
    assert len({world.event(event_id).not_before for event_id in events}) == 1
    world.approve(*events[:2])
    world.advance(10 * MINUTE - SECOND)
    assert world.phases(*events) == ["approved", "approved", "scheduled"]
    world.advance(SECOND)
    assert world.phases(*events) == ["started"] * 3


def test_of_simultaneous_deletes_all_go_together_once_all_are_approved(world: World) -> None:
    world.reading_set()
    events = world.delete_set()
    for event_id in events:
        world.approve(event_id)
    assert world.phases(*events) == ["started"] * 3
    world.advance(5 * SECOND)
    assert (len(world.region.vms), len(world.region.scale_sets), len(world.region.scopes)) == (0, 0, 0)


def test_the_last_approval_looks_at_each_of_the_others_once(world: World) -> None:
    # If every start touched all that are still to start, a thousand simultaneous deletes would cost a million looks.
    world.reading_set(capacity=50)
    *others, last = world.delete_set()
    world.approve(*others)
    draft = Draft(world.region, world.now, world.rules)
    draft.record(f.EventApproved(world.now, last, "web_49"))
    assert len(draft.touched) == 50
    draft.touched.clear()
    draft.record(f.EventStarted(world.now, others[0]))
    assert draft.touched == [keys.of_event(others[0])]
    assert kinds(world.approve(last)) == ["EventApproved", *["EventStarted"] * 50]
