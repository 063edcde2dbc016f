"""Maintenance over a fleet: one update domain after the other, paused, resumed, canceled."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.looking import turns
from forewarn.core.looking.turns import held_up
from forewarn.core.refusal import Hint
from forewarn.core.region import CampaignState, Event, HostHealth
from forewarn.core.rules import Rules
from forewarn.terms import EventStatus
from tests.unit.core.world import HOUR, MINUTE, SECOND, World, in_set, kinds


def reading_set(world: World, count: int = 3) -> None:
    world.reading(*(f"web-{number}" for number in range(count)), spec=in_set("front"))


def domains_open(world: World) -> set[int]:
    return {event.update_domain for event in world.region.events.values()}


def run_out(world: World) -> list[set[int]]:
    """Let the campaign come to its end; which domains were open, one after the other."""
    waves: list[set[int]] = []
    for _ in range(1000):
        if not waves or waves[-1] != domains_open(world):
            waves.append(domains_open(world))
        if world.campaign().ended_at is not None:
            return waves
        world.next()
    raise AssertionError("the campaign does not end")


def test_update_domains_take_turns_and_each_leaves_the_document_first(world: World) -> None:
    reading_set(world)
    world.start_campaign()
    assert world.seen("web-0").resources == ("web-0",)
    world.approve(world.seen("web-0").event_id)
    world.advance(9 * SECOND + 10 * MINUTE - SECOND)
    assert [event.resources for event in world.document("web-0").events] == [("web-0",)]
    world.advance(SECOND)
    assert (world.seen("web-0").resources, world.seen("web-0").status) == (("web-1",), EventStatus.SCHEDULED)
    assert run_out(world) == [{1}, {2}, set()]
    assert world.campaign().state is CampaignState.COMPLETED
    assert world.campaign().events_total == 3


def test_a_domain_takes_all_its_hosts_at_once_unless_told_otherwise() -> None:
    world = World(Rules(update_domains=2, fault_domains=1, vms_per_host=1))
    world.reading(*"abcdef")
    ids = world.start_campaign()
    assert len(ids) == 3
    assert domains_open(world) == {0}


def test_no_more_hosts_at_once_than_allowed() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=1))
    world.reading(*"abcde")
    first = world.start_campaign(hosts_at_once=2)
    assert len(first) == 2
    assert len(world.campaign().waiting) == 3
    world.approve(first[0])
    world.advance(9 * SECOND + 10 * MINUTE)
    assert len(world.campaign().open_events) == 2
    assert first[1] in world.campaign().open_events
    run_out(world)
    assert world.campaign().events_total == 5


def test_a_host_with_several_tenants_is_one_host() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=2))
    world.reading(*"abcd")
    world.start_campaign(hosts_at_once=1)
    assert len(world.campaign().open_events) == 2
    assert set(world.campaign().open_events.values()) == {0}


def test_hosts_that_became_empty_are_passed_over_however_many() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=1))
    names = [f"vm-{number}" for number in range(1_100)]
    world.create(*names)
    world.read("vm-0")
    world.start_campaign(hosts_at_once=1)
    assert len(world.campaign().waiting) == 1_099
    world.delete(*names)
    assert world.campaign().state is CampaignState.COMPLETED


def test_a_campaign_may_be_over_chosen_hosts() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=1))
    world.reading(*"abc")
    world.start_campaign(hosts=("host-2", "HOST-0"))
    assert set(world.campaign().open_events.values()) == {0, 2}


def test_a_campaign_may_be_over_chosen_scopes(world: World) -> None:
    reading_set(world)
    world.reading("lone")
    world.create("quiet")
    world.start_campaign(scopes=("Availability-Set/FRONT", "vm/quiet"))
    assert world.campaign().hosts == tuple(
        sorted({world.host_of(name).number for name in ("web-0", "web-1", "web-2", "quiet")})
    )


def test_where_nobody_reads_the_waves_still_take_turns(world: World) -> None:
    world.create("a", "b", "c")
    world.start_campaign()
    assert run_out(world) == [{0}, {1}, {2}, set()]
    assert world.campaign().events_total == 3


def test_a_paused_campaign_finishes_what_is_scheduled_and_takes_nothing_new(world: World) -> None:
    reading_set(world)
    world.start_campaign()
    world.do(c.PauseCampaign("C1"))
    assert world.campaign().state is CampaignState.PAUSED
    assert world.statuses("web-0") == ["Scheduled"]
    world.advance(2 * HOUR)
    assert world.statuses("web-0") == []
    assert (world.campaign().wave, world.campaign().ended_at) == (0, None)


def test_a_resumed_campaign_goes_on_where_it_was(world: World) -> None:
    reading_set(world)
    world.start_campaign()
    world.do(c.PauseCampaign("C1"))
    world.advance(2 * HOUR)
    world.do(c.ResumeCampaign("C1"))
    assert world.seen("web-0").resources == ("web-1",)
    assert run_out(world) == [{1}, {2}, set()]


def test_pausing_between_hosts_holds_the_rest_of_the_wave() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=1))
    world.reading("a", "b")
    world.start_campaign(hosts_at_once=1)
    world.do(c.PauseCampaign("C1"))
    world.advance(HOUR)
    assert len(world.campaign().waiting) == 1
    world.do(c.ResumeCampaign("C1"))
    assert world.statuses("b") == ["Scheduled"]


def test_pausing_and_resuming_twice_says_nothing_new(world: World) -> None:
    reading_set(world)
    world.start_campaign()
    assert world.do(c.ResumeCampaign("C1")) == ()
    world.do(c.PauseCampaign("C1"))
    assert world.do(c.PauseCampaign("C1")) == ()


def test_a_canceled_campaign_withdraws_what_is_scheduled(world: World) -> None:
    reading_set(world)
    (event_id,) = world.start_campaign()
    facts = world.do(c.CancelCampaign("C1"))
    assert kinds(facts) == ["CampaignCanceled", "EventCanceled"]
    assert world.gone(event_id)
    assert world.document("web-0").events == ()
    world.advance(2 * HOUR)
    assert world.document("web-0").events == ()
    assert world.campaign().state is CampaignState.CANCELED


def test_what_has_started_runs_to_its_end_after_a_cancel() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=1))
    world.reading("a", "b")
    world.start_campaign()
    world.approve(world.seen("a").event_id)
    world.do(c.CancelCampaign("C1"))
    assert (world.statuses("a"), world.statuses("b")) == (["Started"], [])
    world.advance(9 * SECOND + 10 * MINUTE)
    assert world.statuses("a") == []
    assert dict(world.campaign().open_events) == {}


def test_a_paused_campaign_can_be_canceled(world: World) -> None:
    reading_set(world)
    world.start_campaign()
    world.do(c.PauseCampaign("C1"))
    world.do(c.CancelCampaign("C1"))
    assert world.campaign().state is CampaignState.CANCELED


@pytest.mark.parametrize("command", [c.PauseCampaign("C1"), c.ResumeCampaign("C1"), c.CancelCampaign("C1")])
def test_a_campaign_that_has_ended_cannot_be_paused_resumed_or_canceled(command: c.Command, world: World) -> None:
    reading_set(world)
    world.start_campaign()
    world.do(c.CancelCampaign("C1"))
    refused = world.refused(command)
    assert (refused.hint, refused.message) == (Hint.CONFLICT, "Campaign C1 is canceled already.")


def test_a_canceled_event_lets_its_campaign_go_on(world: World) -> None:
    reading_set(world)
    (event_id,) = world.start_campaign()
    world.cancel(event_id)
    assert world.seen("web-0").resources == ("web-1",)


def test_a_campaign_goes_on_when_its_machines_are_deleted(world: World) -> None:
    reading_set(world)
    world.start_campaign()
    world.delete("web-0")
    assert world.seen("web-1").resources == ("web-1",)


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


def test_an_id_is_for_one_campaign_for_ever(world: World) -> None:
    reading_set(world)
    world.start_campaign("C1")
    assert world.refused(c.StartCampaign("C1", Cause.FREEZE)).hint is Hint.CONFLICT
    world.do(c.CancelCampaign("C1"))
    assert world.refused(c.StartCampaign("C1", Cause.FREEZE)).hint is Hint.CONFLICT


def test_a_campaign_that_redeploys_never_comes_to_the_new_hosts_of_its_own_wave(world: World) -> None:
    world.create("a", "b")
    world.start_campaign(cause=Cause.REDEPLOY)
    assert run_out(world) == [{0}, {1}, set()]
    assert world.campaign().events_total == 2
    assert (world.vm("a").boots, world.vm("b").boots) == (2, 2)


def test_hosts_that_a_campaign_expects_to_fail_take_no_new_vms(world: World) -> None:
    world.create("a")
    world.start_campaign(cause=Cause.PREDICTED_FAILURE)
    assert world.region.hosts[0].health is HostHealth.FAILING
    world.advance(MINUTE)
    assert world.host_of("a").number != 0


def test_an_empty_fleet_has_nothing_to_maintain(world: World) -> None:
    assert world.refused(c.StartCampaign("C1", Cause.FREEZE)).hint is Hint.CONFLICT


def test_a_fleet_that_is_switched_off_is_maintained_at_once(world: World) -> None:
    world.create("a")
    world.deallocate("a")
    world.start_campaign()
    assert world.campaign().state is CampaignState.COMPLETED


def test_a_failing_host_gives_its_place_in_the_wave_to_the_next() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=1))
    world.reading("a", "b")
    (event_id,) = world.start_campaign(hosts_at_once=1)
    world.fail("host-0")
    assert world.gone(event_id)
    assert [event.status for event in world.document("a").events] == ["Started"]
    assert world.statuses("b") == ["Scheduled"]
