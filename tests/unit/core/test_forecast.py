"""What will happen if nobody acts, from a region alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.forecast import Foreseen, Lasting, course
from forewarn.core.looking.deadlines import DUE_MOST
from forewarn.core.region import Event, Region
from forewarn.engines.simulated import Durations, SimulatedEngine
from tests.unit.core.world import DAY, HOUR, MINUTE, NOON, SECOND, World, in_set


def foreseen(world: World) -> list[Foreseen]:
    return list(course(world.region, world.now, world.rules, SimulatedEngine().lasting))


def lives(world: World, by: timedelta) -> list[f.Fact]:
    """What the world then does."""
    told = len(world.facts)
    world.advance(by)
    return world.facts[told:]


def steps(seen: Sequence[Foreseen]) -> list[tuple[datetime, str]]:
    return [(each.fact.at, type(each.fact).__name__) for each in seen]


def test_nothing_is_ahead_of_an_empty_region() -> None:
    assert foreseen(World()) == []


def test_a_restart_is_foreseen_to_the_end_of_its_recovery_and_the_scope_to_its_lapse() -> None:
    world = World()
    world.reading("web")
    world.do(c.RestartVms(("web",), "seed"))
    (event,) = world.region.events.values()
    before = world.region

    seen = foreseen(world)

    start = NOON + 15 * MINUTE
    end = start + 30 * SECOND
    assert steps(seen) == [
        (start, "EventStarted"),
        (start, "ImpactBegan"),
        (end, "ImpactEnded"),
        (end + event.recovery, "EventCompleted"),
        (NOON + DAY, "ScopeDisabled"),
    ]
    assert {each.event.id for each in seen if each.event is not None} == {event.id}
    assert not any(each.estimated for each in seen)
    assert world.region is before
    assert [each.fact for each in seen] == lives(world, 2 * DAY)


def test_a_campaign_is_foreseen_wave_by_wave_with_the_very_ids_that_come() -> None:
    world = World()
    world.reading(*(f"web-{number}" for number in range(10)), spec=in_set("front"))
    world.do(c.StartCampaign("CAMPAIGN", Cause.REBOOT, hosts_at_once=1))
    seen = [each.fact for each in foreseen(world)]
    assert sum(isinstance(fact, f.EventScheduled) for fact in seen) >= 4
    assert any(isinstance(fact, f.CampaignCompleted) for fact in seen)
    assert seen == lives(world, 10 * DAY)


def test_an_impact_that_has_not_begun_yet_begins_now() -> None:
    world = World(drives=False)
    world.create("web")
    world.do(c.RestartVms(("web",), "seed"))
    seen = foreseen(world)
    assert steps(seen)[:2] == [(NOON, "ImpactBegan"), (NOON + 30 * SECOND, "ImpactEnded")]


def test_an_impact_that_begins_out_of_another_impact_is_foreseen_at_the_same_instant() -> None:
    """One that takes no time ends as it begins; so the next event on the VM starts, and its impact begins, too."""
    at_once = Durations(restart=timedelta(0))
    world = World(durations=at_once)
    world.reading("web")
    world.do(c.RestartVms(("web",), "seed"))
    world.maintain(Cause.REBOOT, "host-0")
    seen = list(course(world.region, world.now, world.rules, SimulatedEngine(at_once).lasting))
    began = [each.fact.event_id for each in seen if isinstance(each.fact, f.ImpactBegan)]
    assert set(began) == set(world.region.events)
    names = ["EventStarted", "ImpactBegan", "ImpactEnded"] * 2
    assert steps(seen)[:6] == [(NOON + 15 * MINUTE, name) for name in names]
    assert [each.fact for each in seen] == lives(world, 2 * DAY)


def test_an_impact_whose_end_nobody_has_foretold_ends_when_it_is_expected_to() -> None:
    world = World(drives=False)
    world.reading("web")
    world.do(c.RestartVms(("web",), "seed"))
    world.advance(15 * MINUTE)
    (event,) = world.region.events.values()
    world.begin(event.id)
    world.advance(10 * SECOND)
    seen = list(course(world.region, world.now, world.rules, lambda _: Lasting(MINUTE, estimated=True)))
    end = NOON + 16 * MINUTE
    assert [(each.fact.at, type(each.fact).__name__, each.estimated) for each in seen] == [
        (end, "ImpactEnded", True),
        (end + event.recovery, "EventCompleted", True),
        (NOON + DAY, "ScopeDisabled", False),
    ]


def test_an_impact_that_should_be_over_by_now_is_expected_to_end_at_once() -> None:
    world = World(drives=False)
    world.create("web")
    world.do(c.RestartVms(("web",), "seed"))
    (event,) = world.region.events.values()
    world.begin(event.id)
    world.advance(HOUR)
    seen = list(course(world.region, world.now, world.rules, lambda _: Lasting(MINUTE, estimated=True)))
    assert steps(seen)[0] == (NOON + HOUR, "ImpactEnded")


def test_more_than_one_settling_takes_is_foreseen_at_one_instant() -> None:
    """Scopes that all lapse at once: a tick disables the first ones, and others follow at the same instant."""
    world = World()
    names = tuple(f"vm-{number}" for number in range(DUE_MOST + 100))
    world.create(*names)
    world.do(c.Pulse(tuple((name, world.now) for name in names)))
    seen = foreseen(world)
    assert len(seen) == len(names)
    assert {each.fact.at for each in seen} == {NOON + DAY}


def test_reads_that_the_journal_does_not_know_keep_a_scope_enabled() -> None:
    world = World()
    world.reading("web")
    read_at = NOON + 5 * HOUR

    def kept(region: Region, now: datetime) -> list[tuple[str, datetime]]:
        scope = region.scopes["vm/web"]
        due = scope.lapses_at is not None and scope.lapses_at <= now and scope.last_read_at != read_at
        return [("web", read_at)] if due else []

    seen = list(course(world.region, world.now, world.rules, SimulatedEngine().lasting, kept))
    assert steps(seen) == [(NOON + DAY, "ScopeRead"), (read_at + DAY, "ScopeDisabled")]


def test_a_forecast_costs_only_what_is_taken_of_it() -> None:
    world = World()
    world.reading("web")
    world.do(c.RestartVms(("web",), "seed"))
    asked: list[Event] = []

    def lasting(event: Event) -> Lasting:
        asked.append(event)
        return Lasting(MINUTE)

    ahead = course(world.region, world.now, world.rules, lasting)
    assert list(takewhile(lambda each: not isinstance(each.fact, f.EventStarted), ahead)) == []
    assert asked == []


def test_what_happens_at_one_instant_comes_in_the_same_order_whatever_the_ids_are() -> None:
    """So a dry run, whose ids are made up, foretells the order in which the same campaign then goes."""
    told = []
    for campaign in ("A", "B", "C"):
        world = World()
        for number in range(12):
            world.reading(f"web-{number}", spec=in_set(f"front-{number % 3}"))
        world.do(c.MaintainHosts(("host-0",), Cause.FREEZE, campaign))
        world.do(c.StartCampaign(campaign, Cause.REBOOT))
        seen = [each for each in foreseen(world) if each.event is not None]
        told.append([(each.fact.at, type(each.fact), each.event.scope, each.event.vms) for each in seen if each.event])
    assert len({event for _, _, _, event in told[0]}) > 3
    assert told[0] == told[1] == told[2]
