"""Maintenance over a fleet: one update domain after the other, paused, resumed, canceled."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.refusal import Hint
from forewarn.core.region import CampaignState, HostHealth
from forewarn.core.rules import Rules
from forewarn.terms import EventStatus
from tests.unit.core.campaigns import domains_open, reading_set, run_out
from tests.unit.core.world import HOUR, MINUTE, SECOND, World, kinds


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
