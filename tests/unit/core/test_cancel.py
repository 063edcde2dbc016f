"""Events that are taken back: from Scheduled to gone, and never after the start."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.refusal import Hint
from forewarn.core.rules import Rules
from tests.unit.core.world import DAY, HOUR, MINUTE, World, kinds


def test_a_canceled_event_is_gone_and_nothing_happens_at_its_not_before(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.advance(8 * MINUTE)
    assert kinds(world.cancel(event_id.lower())) == ["EventCanceled"]
    assert world.document("web").events == ()
    assert world.document("web").incarnation == 3
    world.advance(HOUR)
    assert (world.vm("web").boots, world.document("web").incarnation) == (1, 3)


def test_an_approved_event_that_still_waits_can_be_canceled() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("a", "b")
    world.maintain(Cause.REBOOT)
    mine = world.seen("a").event_id
    world.approve(mine)
    world.cancel(mine)
    assert world.gone(mine)


def test_the_work_on_a_host_is_canceled_as_a_whole() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("a", "b")
    world.create("quiet")
    first, *_ = ids = world.maintain(Cause.REBOOT)
    world.cancel(first)
    assert all(world.gone(event_id) for event_id in ids)
    world.advance(HOUR)
    assert [world.vm(name).boots for name in ("a", "b", "quiet")] == [1, 1, 1]


def test_several_of_one_host_may_be_named() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("a", "b")
    ids = world.maintain(Cause.REBOOT)
    assert len(world.cancel(*ids, *ids)) == 2


def test_what_has_started_cannot_be_taken_back_nor_anything_with_it(world: World) -> None:
    world.reading("a")
    started, pending = world.restart("a") + world.redeploy("a")
    world.approve(started)
    refused = world.refused(c.CancelEvents((pending, started), "no"))
    assert refused.hint is Hint.CONFLICT
    assert not world.gone(pending)


@pytest.mark.parametrize("after", ["cancel", "complete"])
def test_what_has_ended_cannot_be_canceled_or_approved(after: str, world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    if after == "cancel":
        world.cancel(event_id)
    else:
        world.advance(HOUR)
    assert world.refused(c.CancelEvents((event_id,), "no")).hint is Hint.NOT_FOUND
    assert world.refused(c.Approve((event_id,), "web")).hint is Hint.NOT_FOUND


def test_work_that_nobody_was_told_of_has_no_event_to_cancel(world: World) -> None:
    world.create("web")
    (event_id,) = world.restart("web")
    assert world.refused(c.CancelEvents((event_id,), "no")).hint is Hint.NOT_FOUND


def test_a_canceled_id_never_returns(world: World) -> None:
    world.reading("web")
    seen = set()
    for _ in range(20):
        (event_id,) = world.restart("web")
        assert event_id not in seen
        seen.add(event_id)
        world.cancel(event_id)
    world.advance(DAY - MINUTE)
    assert world.document("web").events == ()
