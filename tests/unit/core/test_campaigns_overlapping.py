"""Campaigns over the same hosts, and campaigns beside other work: one update domain of a scope is open, and all end."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.looking import turns
from forewarn.core.looking.turns import held_up
from forewarn.core.region import CampaignState, Event
from forewarn.core.rules import Rules
from tests.unit.core.campaigns import domains_open, reading_set
from tests.unit.core.world import HOUR, MINUTE, World, in_set


def domains_of(world: World, scope: str) -> set[int]:
    return {event.update_domain for event in world.region.events.values() if event.scope == scope}


def run_all_out(world: World, scope: str) -> None:
    """Let every campaign come to its end, with one update domain of the scope open at any time."""
    for _ in range(1000):
        assert len(domains_of(world, scope)) <= 1
        if all(campaign.ended_at is not None for campaign in world.region.campaigns.values()):
            return
        world.next()
    raise AssertionError("a campaign does not end")


@pytest.mark.parametrize("later", [0, 16, 30])
def test_a_second_campaign_over_the_same_hosts_waits_for_the_first(later: int, world: World) -> None:
    reading_set(world, 5)
    world.start_campaign("C1", Cause.REBOOT)
    world.advance(later * MINUTE)
    first = domains_open(world)
    assert world.start_campaign("C2", Cause.REBOOT) == []
    waits = held_up(world.region, world.campaign("C2"))
    assert waits is not None
    assert (waits.host.number, waits.event.campaign, {waits.event.update_domain}) == (0, "C1", first)
    run_all_out(world, "availability-set/front")
    assert {campaign.state for campaign in world.region.campaigns.values()} == {CampaignState.COMPLETED}
    assert [world.vm(f"web-{number}").boots for number in range(5)] == [3] * 5
    assert held_up(world.region, world.campaign("C2")) is None


@pytest.mark.parametrize(("first", "second"), [("C1", "C2"), ("C2", "C1")])
def test_of_campaigns_that_wait_for_the_same_the_one_that_was_started_first_goes_first(
    first: str, second: str, world: World
) -> None:
    """Whatever their ids are, and though they were started at the same instant: a dry run has an id of its own."""
    reading_set(world, 2)
    (event_id,) = world.maintain(Cause.PREDICTED_FAILURE, "host-1")
    for campaign_id in (first, second):
        assert world.start_campaign(campaign_id) == []
    world.cancel(event_id)
    assert world.campaign(first).open_events
    assert not world.campaign(second).open_events


def test_campaigns_over_other_scopes_do_not_wait_for_each_other(world: World) -> None:
    reading_set(world, 2)
    world.reading("db-0", "db-1", spec=in_set("back"))
    world.do(c.StartCampaign("C1", Cause.FREEZE, scopes=("availability-set/front",)))
    hosts = tuple(f"host-{world.vm(name).host}" for name in ("db-0", "db-1"))
    assert hosts == ("host-0", "host-1"), "one host for both sets, so the second campaign is over the same hosts"
    assert world.do(c.StartCampaign("C2", Cause.FREEZE, scopes=("availability-set/back",)))
    assert held_up(world.region, world.campaign("C2")) is not None
    run_all_out(world, "availability-set/back")


@pytest.mark.parametrize("end", ["cancel the event", "delete the VM", "deallocate the VM", "time", "cancel C1"])
def test_whatever_ends_the_work_in_the_way_the_campaign_goes_on(end: str, world: World) -> None:
    reading_set(world, 2)
    world.create("lone")
    (event_id,) = world.maintain(Cause.PREDICTED_FAILURE, "host-1") if end != "cancel C1" else [""]
    if end == "cancel C1":
        world.do(c.StartCampaign("C1", Cause.FREEZE, hosts=("host-1",)))
    world.start_campaign("C2", Cause.FREEZE)
    assert held_up(world.region, world.campaign("C2")) is not None
    assert not world.campaign("C2").open_events
    match end:
        case "cancel the event":
            world.cancel(event_id)
        case "delete the VM":
            world.delete("web-1")
        case "deallocate the VM":
            world.deallocate("web-0")
        case "time":
            world.advance(8 * 24 * HOUR)
        case "cancel C1":
            world.do(c.CancelCampaign("C1"))
    if end == "time":
        assert world.campaign("C2").state is CampaignState.COMPLETED
    else:
        assert held_up(world.region, world.campaign("C2")) is None
        assert world.campaign("C2").open_events


def test_a_campaign_that_was_paused_while_it_was_held_up_goes_on_when_it_is_resumed(world: World) -> None:
    reading_set(world, 2)
    (event_id,) = world.maintain(Cause.PREDICTED_FAILURE, "host-1")
    world.start_campaign("C1", Cause.FREEZE)
    world.do(c.PauseCampaign("C1"))
    world.cancel(event_id)
    assert not world.campaign("C1").open_events
    world.do(c.ResumeCampaign("C1"))
    assert world.campaign("C1").open_events


def test_maintenance_ordered_for_a_host_is_done_as_ordered_and_a_campaign_waits_for_it(world: World) -> None:
    reading_set(world, 2)
    world.start_campaign("C1", Cause.FREEZE)
    assert len(world.maintain(Cause.FREEZE, "host-1")) == 1
    assert turns.domains_open(world.region, "availability-set/front") == [0, 1]


_MOVES = ["start", "pause", "resume", "cancel", "maintain", "wait", "hour"]
_STEERING: dict[str, type[c.PauseCampaign | c.ResumeCampaign | c.CancelCampaign]] = {
    "pause": c.PauseCampaign,
    "resume": c.ResumeCampaign,
    "cancel": c.CancelCampaign,
}


@given(
    moves=st.lists(
        st.tuples(st.sampled_from(_MOVES), st.integers(0, 99)),
        max_size=25,
    )
)
@example(moves=[("start", 2), ("wait", 0), ("hour", 0), ("start", 2)])
@settings(max_examples=60, deadline=None)
def test_however_campaigns_are_steered_one_update_domain_of_a_scope_is_open_and_all_end(
    moves: list[tuple[str, int]],
) -> None:
    world = World(Rules(update_domains=3, fault_domains=1, vms_per_host=2))
    world.create(*(f"web-{number}" for number in range(5)), spec=in_set("front"))
    world.create("a", "b")
    world.read("web-0")
    for number, (move, pick) in enumerate(moves):
        running = [key for key, each in sorted(world.region.campaigns.items()) if each.ended_at is None]
        if move == "start" and len(running) < 4:
            hosts = () if pick % 3 else (f"host-{pick % len(world.region.hosts)}",)
            world.do(c.StartCampaign(f"C{number}", Cause.REDEPLOY, hosts, hosts_at_once=pick % 2))
        elif move in _STEERING and running:
            world.do(_STEERING[move](running[pick % len(running)]))
        elif move == "maintain":
            world.maintain(Cause.REBOOT, f"host-{pick % len(world.region.hosts)}")
        elif move in ("wait", "hour"):
            world.advance(MINUTE if move == "wait" else HOUR)
    for key, each in world.region.campaigns.items():
        if each.state is CampaignState.PAUSED:
            world.do(c.ResumeCampaign(key))
    world.advance(48 * HOUR)
    assert all(each.ended_at is not None for each in world.region.campaigns.values())
    assert opened_beside_others(world.facts) == []


def opened_beside_others(facts: list[f.Fact]) -> list[str]:
    """Events of campaigns that came while the work of a host was open in another update domain of their scope."""
    opened: dict[str, Event] = {}
    found: list[str] = []
    for fact in facts:
        match fact:
            case f.EventScheduled(event=event) | f.EventBornStarted(event=event) if event.host is not None:
                beside = [each for each in opened.values() if each.scope == event.scope]
                if event.campaign and any(each.update_domain != event.update_domain for each in beside):
                    found.append(event.id)
                opened[event.id] = event
            case f.EventCanceled(event_id=event_id) | f.EventCompleted(event_id=event_id):
                opened.pop(event_id, None)
    return found
