"""What holds for every step: one now, the same answer every time, and a fixed point."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.core.step import step
from tests.unit.core.world import DAY, HOUR, MINUTE, NOON, SECOND, World, in_set


def story(world: World) -> World:
    """A bit of everything."""
    world.reading("web-0", "web-1", "web-2", spec=in_set("front"))
    world.create("quiet")
    world.restart("web-0", "quiet")
    world.start_campaign(cause=Cause.REBOOT)
    world.advance(HOUR)
    world.fail("host-1")
    world.maintain(Cause.LIVE_MIGRATION)
    world.advance(30 * MINUTE)
    return world


def test_the_same_commands_give_the_same_facts() -> None:
    assert story(World()).facts == story(World()).facts


def test_every_fact_of_a_step_has_its_one_now(world: World) -> None:
    story(world)
    world.restart("web-0", "web-1", "web-2")
    _, facts = step(world.region, c.Tick(moved=True), world.now + 3 * DAY, world.rules)
    assert len(facts) == 5
    assert {fact.at for fact in facts} == {world.now + 3 * DAY}


def test_a_settled_region_has_nothing_left_to_do(world: World) -> None:
    story(world)
    region, facts = step(world.region, c.Tick(), world.now, world.rules)
    assert facts == ()
    assert region == world.region


def test_time_does_not_go_backwards(world: World) -> None:
    story(world)
    with pytest.raises(AssertionError, match="backwards"):
        step(world.region, c.Tick(), world.now - DAY, world.rules)


def test_one_late_tick_catches_up_with_all_that_fell_due(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.now += 2 * DAY
    world.do(c.Tick())
    assert world.event(event_id).started_at == world.now
    assert world.scope("web").enabled_at is None


def test_an_empty_region_waits_for_nothing() -> None:
    assert next_deadline(Region()) is None


def test_the_next_deadline_is_when_something_happens(world: World) -> None:
    world.reading("web")
    assert next_deadline(world.region) == NOON + DAY
    (event_id,) = world.restart("web")
    assert next_deadline(world.region) == NOON + 15 * MINUTE
    world.approve(event_id)
    assert next_deadline(world.region) == NOON + 30 * SECOND
    world.next()
    assert next_deadline(world.region) == NOON + 60 * SECOND
    world.next()
    assert next_deadline(world.region) == NOON + DAY


def test_an_entry_of_the_agenda_that_no_longer_matters_is_not_a_deadline(world: World) -> None:
    world.reading("web")
    (event_id,) = world.restart("web")
    world.cancel(event_id)
    assert next_deadline(world.region) == NOON + DAY
    world.delete("web")
    assert next_deadline(world.region) is None


def test_a_moved_clock_is_a_fact_and_a_tick_is_none(world: World) -> None:
    assert world.do(c.Tick()) == ()
    (fact,) = world.do(c.Tick(moved=True))
    assert fact.at == NOON
    assert world.region.latest_at == NOON


def test_a_notice_of_nothing_starts_in_the_same_step() -> None:
    world = World(Rules(notices={Cause.USER_RESTART: 0 * SECOND}))
    world.reading("web")
    world.restart("web")
    assert world.statuses("web") == ["Started"]


def test_a_seed_that_was_used_is_our_own_fault_and_changes_nothing(world: World) -> None:
    world.reading("web")
    before = world.region
    twice = c.Together((c.RestartVms(("web",), "s"), c.RedeployVms(("web",), "s")))
    with pytest.raises(AssertionError, match="a seed was used twice"):
        world.do(twice)
    assert world.region is before
