"""Terminate notification of scale sets: which deletes are told of, to whom, and how a set ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forewarn.core import commands as c
from forewarn.core.region import Power
from forewarn.core.specs import Orchestration, Policy, VmSpec
from forewarn.terms import EventSource, EventStatus
from forewarn.wire.document import decode_document, encode_document
from forewarn.wire.versions import API_VERSIONS, ApiVersion
from tests.unit.core.world import MINUTE, NOON, SECOND, World, kinds

TEN = VmSpec(terminate_notice=10 * MINUTE)


# What is told


def test_an_instance_is_told_of_its_deletion_by_its_name_in_the_set(world: World) -> None:
    world.reading_set("Shop", terminate_notice=7 * MINUTE)
    (event_id,) = world.delete_instances("shop_1", name="shop")
    seen = world.seen("shop_0")
    assert (seen.event_id, seen.type, seen.resources) == (event_id, "Terminate", ("Shop_1",))
    assert (seen.status, seen.not_before) == (EventStatus.SCHEDULED, NOON + 7 * MINUTE)
    assert (seen.source, seen.description, seen.duration_seconds) == (EventSource.USER, "", -1)


@pytest.mark.parametrize("version", API_VERSIONS, ids=lambda version: version.date)
def test_a_terminate_is_visible_from_2019_01_01_on(version: ApiVersion, world: World) -> None:
    world.reading_set()
    world.delete_instances("web_0")
    document = decode_document(encode_document(world.document("web_1"), version))
    assert document is not None
    assert [event.type for event in document.events] == (["Terminate"] if version.date >= "2019-01-01" else [])
    assert document.incarnation == 2  # also for those who may not see why


def test_an_instance_of_a_flexible_set_is_told_too(world: World) -> None:
    world.reading_set(orchestration=Orchestration.FLEXIBLE)
    first, *_ = world.instances()
    world.delete_instances(first)
    assert world.seen(first).resources == (first,)


# Every delete, and only deletes


def manual(world: World) -> list[str]:
    return world.delete_instances("web_0", "web_1", "web_2")


def scale_in(world: World) -> list[str]:
    world.put_set(capacity=0, vm_spec=TEN)
    return list(world.region.events)


def whole_set(world: World) -> list[str]:
    return world.delete_set()


each_delete = pytest.mark.parametrize("delete", [manual, scale_in, whole_set])
Delete = Callable[[World], list[str]]


@each_delete
def test_every_delete_makes_a_terminate_for_each_instance(delete: Delete, world: World) -> None:
    world.reading_set(capacity=3)
    assert len(delete(world)) == 3
    assert {event.resources for event in world.document("web_0").events} == {("web_0",), ("web_1",), ("web_2",)}
    assert all(world.vm(f"web_{number}").power is Power.RUNNING for number in range(3))
    world.advance(10 * MINUTE + 5 * SECOND)
    assert len(world.region.vms) == 0
    assert ("web" in world.region.scale_sets) is (delete is not whole_set)


@each_delete
def test_where_the_applied_model_has_no_notice_the_delete_is_done_at_once(delete: Delete, world: World) -> None:
    world.put_set(capacity=3)
    world.read_set()
    delete(world)
    assert len(world.region.vms) == len(world.region.events) == 0


@each_delete
def test_where_nobody_reads_the_delete_is_done_at_once(delete: Delete, world: World) -> None:
    world.put_set(capacity=3, vm_spec=TEN)
    delete(world)
    assert len(world.region.vms) == len(world.region.events) == 0


def test_a_group_that_does_not_read_does_not_wait_for_one_that_does(world: World) -> None:
    world.put_set(capacity=101, vm_spec=TEN)
    world.read("web_0")
    world.delete_instances("web_1", "web_100")
    assert "web_100" not in world.region.vms
    assert world.seen("web_0").resources == ("web_1",)


@pytest.mark.parametrize(
    "operation", [World.restart, World.redeploy, World.reimage, World.stop, World.deallocate, World.upgrade]
)
def test_nothing_but_a_delete_makes_a_terminate(operation: Callable[[World, str], object], world: World) -> None:
    world.reading_set(os_image_notice=15 * MINUTE)
    operation(world, "web_0")
    assert "Terminate" not in {event.type for event in world.document("web_0").events}


def test_an_eviction_makes_a_preempt_and_no_terminate(world: World) -> None:
    world.put_set(capacity=2, spot=True)
    world.read_set()
    world.evict("web_0")
    assert world.seen("web_0").type == "Preempt"


# The end of a set


def test_a_set_that_is_being_deleted_is_there_until_its_last_instance_has_gone(world: World) -> None:
    world.reading_set(capacity=2)
    (first,) = world.delete_instances("web_0")
    world.advance(MINUTE)
    (second,) = world.delete_set()
    assert (world.scale_set().deleting, world.scale_set().capacity) == (True, 0)
    world.advance(9 * MINUTE + 5 * SECOND)
    assert (world.gone(first), world.phases(second)) == (True, ["scheduled"])
    assert kinds(world.approve(second)) == ["EventApproved", "EventStarted"]
    world.advance(5 * SECOND)
    assert kinds(world.facts)[-3:] == ["VmDeleted", "EventCompleted", "ScaleSetDeleted"]


def test_a_set_is_not_changed_while_it_is_being_deleted(world: World) -> None:
    world.reading_set()
    world.delete_set()
    for command in (world.put(capacity=3), world.put(size="big"), world.put(policy=Policy(True))):
        assert world.refused(command).message == "Scale set 'web' is being deleted."


def test_deleting_a_set_twice_is_deleting_it_once(world: World) -> None:
    world.reading_set()
    events = world.delete_set()
    assert world.delete_set() == []
    assert len(events) == len(world.region.events)


def test_a_set_of_which_one_deletion_is_taken_back_lives_on_with_that_instance(world: World) -> None:
    world.reading_set()
    first, *_ = world.delete_set()
    world.cancel(first)
    assert (world.scale_set().deleting, world.scale_set().capacity) == (False, 1)
    world.advance(11 * MINUTE)
    assert world.instances() == ["web_0"]
    world.put_set(capacity=2, vm_spec=TEN)
    assert world.instances() == ["web_0", "web_3"]


def test_an_empty_set_goes_at_once(world: World) -> None:
    world.put_set()
    assert kinds(world.do(c.DeleteScaleSet("WEB", "s"))) == ["ScaleSetDeletionAsked", "ScaleSetDeleted"]
