"""Operations: what somebody asked for and waits for, as long as its events take; and commands that go together."""

from __future__ import annotations

from datetime import timedelta
from io import BytesIO

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.folding.sets import OPERATIONS_REMEMBERED
from forewarn.core.refusal import Hint
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.core.step import step
from forewarn.stores.snapshots import region as snapshots
from tests.unit.core.world import MINUTE, NOON, SECOND, SPOT, SPOT_DELETED, World, kinds

NOTICED = VmSpec(terminate_notice=5 * MINUTE)


def ended(world: World, operation_id: str = "OP") -> timedelta | None:
    """How long after noon it ended; None while it runs."""
    at = world.operation(operation_id).ended_at
    return None if at is None else at - NOON


# Ends


def test_an_operation_without_events_ends_at_once(world: World) -> None:
    world.together("OP", c.CreateVms(("web",), VmSpec(), "s"))
    assert kinds(world.facts)[-2:] == ["OperationStarted", "OperationEnded"]
    assert (ended(world), world.operation("OP").error, world.operation("OP").kind) == (timedelta(0), "", "test")


def test_an_operation_ends_with_its_event(world: World) -> None:
    world.reading("web")
    (event_id,) = world.together("OP", c.RestartVms(("web",), "s"))
    world.approve(event_id)
    world.advance(59 * SECOND)
    assert (ended(world), list(world.operation("OP").waiting)) == (None, [event_id])
    world.advance(SECOND)  # half a minute of restarting, another of recovery
    assert (ended(world), list(world.operation("OP").waiting)) == (MINUTE, [])


def test_where_nobody_is_told_an_operation_still_takes_as_long_as_the_work(world: World) -> None:
    world.create("web")
    world.together("OP", c.RestartVms(("web",), "s"))
    assert ended(world) is None
    world.advance(MINUTE)
    assert ended(world) == 30 * SECOND


def test_an_operation_ends_with_the_last_of_its_events(world: World) -> None:
    world.reading_set(capacity=3)
    first, second = world.together("OP", c.DeleteInstances("web", ("web_0", "web_1"), "s"))
    world.cancel(second)
    world.advance(MINUTE)
    assert ended(world) is None
    world.approve(first)
    world.advance(MINUTE)
    assert ended(world) == MINUTE + 5 * SECOND


def test_the_events_of_all_its_commands_are_waited_for(world: World) -> None:
    world.reading("a", "b")
    world.reading("spot", spec=SPOT)
    asked = (c.RestartVms(("a",), "1"), c.RedeployVms(("b",), "2"), c.EvictVms(("spot",), "3"))
    events = world.together("OP", *asked, c.ReimageVms(("a",), "4"), c.MaintainHosts(("host-0",), Cause.FREEZE, "5"))
    assert set(world.operation("OP").waiting) == set(events)
    assert len(events) == 5


@pytest.mark.parametrize("count", [1, 3])
def test_a_second_deletion_of_the_same_vm_waits_for_the_same_event(count: int, world: World) -> None:
    world.reading_set()
    events = [world.together(f"OP{n}", c.DeleteInstances("web", ("web_0",), f"s{n}")) for n in range(count)]
    events.append(world.together("SET", c.DeleteScaleSet("web", "s")))
    ((first,), *_) = events
    assert sum(first in made for made in events) == 1
    world.advance(4 * MINUTE)
    assert all(first in world.operation(name).waiting for name in world.region.operations)
    world.advance(7 * MINUTE)
    assert {ended(world, name) for name in world.region.operations} == {10 * MINUTE + 5 * SECOND}


def test_a_second_eviction_of_the_same_vm_waits_for_the_same_event(world: World) -> None:
    world.reading("web", spec=SPOT)
    first = world.together("OP1", c.EvictVms(("web",), "1"))
    assert world.together("OP2", c.EvictVms(("web",), "2")) == []
    assert list(world.operation("OP2").waiting) == first


def test_when_the_deletion_of_a_set_has_ended_the_set_is_gone(world: World) -> None:
    world.reading_set()
    world.together("OP", c.DeleteScaleSet("web", "s"))
    world.advance(10 * MINUTE)
    assert (ended(world), "web" in world.region.scale_sets) == (None, True)
    world.advance(5 * SECOND)
    assert (ended(world), "web" in world.region.scale_sets) == (10 * MINUTE + 5 * SECOND, False)


# Failures


def test_an_operation_fails_when_its_event_is_canceled(world: World) -> None:
    world.reading("web")
    (event_id,) = world.together("OP", c.RestartVms(("web",), "s"))
    world.cancel(event_id)
    assert (ended(world), world.operation("OP").error) == (timedelta(0), f"Event {event_id} was canceled.")


def test_a_failure_is_not_forgotten_while_the_rest_goes_on(world: World) -> None:
    world.reading("a", "b")
    first, second = world.together("OP", c.RestartVms(("a", "b"), "s"))
    world.cancel(first)
    assert (ended(world), world.operation("OP").error) == (None, f"Event {first} was canceled.")
    world.approve(second)
    world.advance(MINUTE)
    assert (ended(world), world.operation("OP").error) == (MINUTE, f"Event {first} was canceled.")


def test_a_restart_fails_when_its_vm_is_deleted_first(world: World) -> None:
    world.reading("web")
    world.together("OP", c.RestartVms(("web",), "s"))
    world.delete("web")
    assert world.operation("OP").error.endswith("was canceled.")


def test_a_deletion_does_not_fail_because_the_vm_went_in_another_way(world: World) -> None:
    world.reading("web", spec=NOTICED)
    world.together("OP", c.DeleteVms(("web",), "s"))
    world.do(c.RespecifyVm("web", SPOT_DELETED))
    world.evict("web")
    world.advance(MINUTE)
    assert (ended(world), world.operation("OP").error) == (35 * SECOND, "")


# Restarts, and what is remembered


def restored(region: Region) -> Region:
    return snapshots.unpack(BytesIO(b"".join(snapshots.pack(region, 1, b""))))[0]


def test_an_operation_goes_on_after_a_snapshot(world: World) -> None:
    world.reading("a", "b")
    world.reading_set()
    world.together("OP", c.RestartVms(("a",), "s"))
    world.together("OP2", c.RestartVms(("a",), "s2"), c.DeleteInstances("web", ("web_0", "web_1"), "s"))
    world.together("DONE", c.CreateVms(("c",), VmSpec(), "s"))
    world.region = restored(world.region)
    world.cancel(*world.scope("a").events)
    assert (ended(world), ended(world, "DONE"), ended(world, "OP2")) == (timedelta(0), timedelta(0), None)
    world.advance(11 * MINUTE)
    assert ended(world, "OP2") == 10 * MINUTE + 5 * SECOND
    assert [world.region.operations_ended[number] for number in range(3)] == ["DONE", "OP", "OP2"]


def test_only_the_last_ends_are_remembered() -> None:
    region, rules = Region(), Rules()
    region, _ = step(region, c.CreateVms(("web",), VmSpec(), "s"), NOON, rules)
    region, _ = step(region, c.Together((c.RestartVms(("web",), "s"),), "SLOW"), NOON, rules)
    for number in range(OPERATIONS_REMEMBERED + 5):
        region, _ = step(region, c.Together((), f"OP-{number}"), NOON, rules)
    assert OPERATIONS_REMEMBERED == 10_000
    assert [f"OP-{number}" in region.operations for number in (0, 4, 5, 10_004)] == [False, False, True, True]
    assert len(region.operations) == 10_001  # with the one that has not ended, however old
    again = restored(region)
    assert again.operations_ended == region.operations_ended
    again, _ = step(again, c.Together((), "NEXT"), NOON, rules)
    assert [f"OP-{number}" in again.operations for number in (5, 6)] == [False, True]


def test_an_id_is_not_used_twice(world: World) -> None:
    world.create("web")
    world.together("OP", c.DeallocateVms(("web",)))
    refused = world.refused(c.Together((c.StartVms(("web",)),), "OP", "test"))
    assert (refused.hint, refused.message) == (Hint.CONFLICT, "There has been an operation OP already.")


# Together


def test_commands_that_go_together_are_all_carried_out_in_their_order(world: World) -> None:
    world.together(
        "",
        c.CreateVms(("web",), VmSpec(), "s"),
        c.DeallocateVms(("web",)),
        c.KeepResource("/web", "{}", "vm/web"),
    )
    assert kinds(world.facts)[-3:] == ["VmCreated", "VmDeallocated", "ResourceKept"]
    assert len(world.region.operations) == 0


def test_commands_that_go_together_are_all_refused_with_the_last_of_them(world: World) -> None:
    world.reading("web")
    commands = (c.CreateVms(("db",), VmSpec(), "s"), c.RestartVms(("web",), "s"), c.StartVms(("nobody",)))
    assert world.refused(c.Together(commands, "OP", "test")).hint is Hint.NOT_FOUND
    assert ("db" in world.region.vms, len(world.region.operations)) == (False, 0)


def test_commands_that_go_together_count_together_for_a_limit(world: World) -> None:
    names = [f"vm-{number}" for number in range(11)]
    world.reading(*names)
    world.refused(c.Together(tuple(c.RestartVms((name,), name) for name in names), "OP", "test"))
