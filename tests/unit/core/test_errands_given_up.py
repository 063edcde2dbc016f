"""What does not work: which errands are given up, which go on for ever, and which go elsewhere."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.forecast import Lasting, course
from forewarn.core.looking.story import remembered, tell
from forewarn.core.looking.subjects import subject_of
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import ErrandKind, SeenWhy, Sighting
from forewarn.core.phases import Phase
from forewarn.core.region import CampaignState, Power
from forewarn.core.specs import VmSpec
from tests.unit.core.real_world import ENGINE, OFF, PAUSED, RUNNING, RealWorld

MADE = VmSpec(engine=ENGINE, blueprint="web")


def given_up(world: RealWorld) -> list[tuple[ErrandKind, str]]:
    return [(fact.kind, fact.why) for fact in world.facts if isinstance(fact, mf.ErrandGivenUp)]


def test_what_did_not_work_once_is_tried_again_and_each_reason_is_kept_once() -> None:
    world = RealWorld()
    world.adopt("web")
    world.maintain(Cause.FREEZE, "alpha")
    for _ in range(3):
        world.refuse("web", "busy", lasting=False)
    found = world.due()["web"]
    world.report(found, "unknown", "the call hung")

    assert [fact.why for fact in world.facts if isinstance(fact, mf.ErrandHindered)] == ["busy", "the call hung"]
    assert not given_up(world)


def test_a_machine_that_cannot_be_paused_is_left_and_its_event_is_over() -> None:
    world = RealWorld()
    world.adopt("web")
    (event_id,) = world.maintain(Cause.FREEZE, "alpha")
    world.refuse("web", "the kernel has no freezer")

    assert given_up(world) == [(ErrandKind.PAUSE, "the kernel has no freezer")]
    assert event_id not in world.region.events
    assert world.power("web") is Power.RUNNING


def test_a_pause_that_has_begun_is_ended_however_often_that_fails() -> None:
    world = RealWorld()
    world.adopt("web")
    world.maintain(Cause.FREEZE, "alpha")
    world.try_it("web")
    world.sees("alpha", "web", power=PAUSED)
    world.refuse("web", "cannot resume")

    assert world.due_kinds() == {"web": ErrandKind.PAUSE}
    assert "cannot resume" in world.machine("web").alarm


def test_a_restart_that_cannot_be_done_on_its_host_becomes_a_redeployment() -> None:
    world = RealWorld()
    world.adopt("web")
    (event_id,) = world.restart("web")
    world.refuse("web", "no memory left")
    assert world.due() == {}  # whether it is there at all is not known
    world.sees("alpha", "web", complete=True)

    found = world.due()["web"]
    assert (found.errand.kind, found.errand.to, found.errand.event) == (ErrandKind.REDEPLOY, "beta", event_id)
    assert event_id in world.region.events
    world.carry_out("web")
    assert world.home("web") == "beta"


def test_a_restart_that_can_be_done_nowhere_goes_on_with_an_alarm() -> None:
    world = RealWorld("alpha")
    world.adopt("web")
    world.restart("web")
    world.refuse("web", "no memory left")
    world.sees("alpha", "web", complete=True)

    assert world.due_kinds() == {"web": ErrandKind.RESTART}
    assert world.machine("web").alarm


def test_a_restart_that_is_refused_for_good_until_its_patience_is_over_is_given_up() -> None:
    world = RealWorld("alpha")
    world.adopt("web")
    world.sees("alpha", "web", power=OFF, why=SeenWhy.CRASH)
    began = world.now
    while world.region.errands:
        world.refuse("web", "no memory left")
        while world.region.errands and not world.due():
            world.advance(timedelta(seconds=10))
            world.sees("alpha", "web", power=OFF, complete=True)

    assert timedelta(minutes=10) < world.now - began < timedelta(minutes=13)
    assert given_up(world) == [(ErrandKind.RESTART, "no memory left")]
    assert world.power("web") is Power.STOPPED
    assert "given up after 11 minutes" in world.machine("web").alarm


def test_a_redeployment_is_given_up_while_the_source_runs_and_goes_elsewhere_once_it_is_off() -> None:
    world = RealWorld("alpha", "beta", "gamma")
    world.adopt("web")
    world.redeploy("web")
    world.refuse("web", "no such image")
    assert not given_up(world)  # what has been done by then is not known
    world.sees("alpha", "web", complete=True)
    assert given_up(world) == [(ErrandKind.REDEPLOY, "no such image")]
    assert world.home("web") == "alpha"

    world.redeploy("web")
    first = world.try_it("web").errand.to
    world.sees("alpha", "web", power=OFF)
    world.refuse("web")
    assert world.due() == {}  # it may run there: an earlier call may have hung
    world.sees(first, complete=True)
    second = world.due()["web"].errand.to
    assert {first, second} == {"beta", "gamma"}
    world.refuse("web")
    world.sees(second, complete=True)
    assert world.due()["web"].errand.to == "alpha"
    world.carry_out("web")
    assert world.home("web") == "alpha"
    assert world.power("web") is Power.RUNNING


def test_what_could_not_be_created_is_no_vm_and_who_waits_for_it_is_told_why() -> None:
    world = RealWorld()
    create = c.CreateVms(("web",), MADE, world.seed())
    world.do(c.Together((create,), "op-1", "create"))
    assert world.power("web") is Power.STOPPED
    assert world.region.operations["op-1"].ended_at is None
    world.refuse("web", "no such image: web")

    assert "web" not in world.region.vms
    assert world.region.operations["op-1"].ended_at is not None
    assert world.region.operations["op-1"].error == "no such image: web"


def test_a_created_vm_runs_when_it_is_seen_running() -> None:
    world = RealWorld()
    world.create("web", spec=MADE)
    assert world.due()["web"].errand.blueprint == "web"
    assert world.carry_out("web") is ErrandKind.CREATE
    assert world.power("web") is Power.RUNNING
    assert world.region.vms["web"].boots == 1
    assert world.machine("web").ref


def test_a_start_that_is_refused_leaves_the_vm_stopped_and_says_why() -> None:
    world = RealWorld()
    world.adopt("web")
    world.stop("web")
    world.carry_out("web")
    world.do(c.Together((c.StartVms(("web",)),), "op-1", "start"))
    world.refuse("web", "no memory left")

    assert world.power("web") is Power.STOPPED
    assert world.region.operations["op-1"].error == "no memory left"


def test_a_person_may_delete_what_does_not_restart() -> None:
    world = RealWorld("alpha")
    world.adopt("web")
    world.restart("web")
    world.refuse("web", "no memory left")
    world.delete("web")

    assert world.due_kinds() == {"web": ErrandKind.DELETE}


# Room


def test_no_room_refuses_a_person_and_makes_the_platform_wait_until_there_is_some() -> None:
    world = RealWorld("alpha", "beta", capacity=1)
    world.adopt("web", "alpha")
    world.adopt("db", "beta")
    world.refused(c.RedeployVms(("web",), "s"))
    world.refused(c.CreateVms(("more",), MADE, "s"))
    world.do(c.HostFellSilent("alpha"))
    world.do(c.ConfirmLost("alpha", "someone"))
    (waiting,) = world.region.errands.values()
    assert waiting.errand.to == ""
    assert world.due() == {}

    world.register("gamma")
    assert world.due()["web"].errand.to == "gamma"
    world.carry_out("web")
    assert world.home("web") == "gamma"


def test_a_place_is_kept_from_the_moment_that_it_was_chosen() -> None:
    world = RealWorld("alpha", "beta", capacity=1)
    world.adopt("web", "alpha")
    world.redeploy("web")
    assert world.due()["web"].errand.to == "beta"
    world.refused(c.CreateVms(("more",), MADE, "s"))
    world.refused(c.RemoveHost("beta"))


def test_a_real_vm_is_never_put_on_a_pretended_host_nor_the_other_way_round() -> None:
    world = RealWorld("alpha")
    world.create(*(f"vm-{number}" for number in range(30)))
    assert not world.host("alpha").vms


def test_an_engine_is_not_asked_for_what_it_cannot_do() -> None:
    world = RealWorld("alpha")
    world.register("beta", domain=1, kinds=(ErrandKind.RESTART, ErrandKind.PAUSE))
    world.adopt("web", "beta")
    world.refused(c.MaintainHosts(("beta",), Cause.LIVE_MIGRATION, "s"))
    world.refused(c.ReimageVms(("web",), "s"))
    assert len(world.maintain(Cause.FREEZE, "beta")) == 1


def test_hosts_are_refused_that_could_not_be_told_apart() -> None:
    world = RealWorld("alpha")
    for name in ("host-7", "Alpha", "a b", ""):
        world.refused(c.RegisterHost(name, ENGINE, 0, 0, 4))
    world.refused(c.RegisterHost("beta", ENGINE, 0, -1, 4))
    world.refused(c.RegisterHost("beta", ENGINE, 0, 0, 0))
    world.refused(c.RegisterHost("beta", "", 0, 0, 1))
    world.refused(c.RemoveHost("beta"))


def test_a_host_that_left_comes_back_with_its_number() -> None:
    world = RealWorld("alpha", "beta")
    number = world.host("beta").number
    world.do(c.RemoveHost("beta"))
    world.refused(c.RemoveHost("beta"))
    world.register("beta")
    assert world.host("beta").number == number


def test_adoption_refuses_what_is_adopted_or_not_there() -> None:
    world = RealWorld("alpha")
    world.adopt("web")
    spec = VmSpec()
    world.refused(c.AdoptMachine("db", spec, "s", "alpha", "ref-web"))
    world.refused(c.AdoptMachine("web", spec, "s", "alpha", "ref-db"))
    world.refused(c.AdoptMachine("db", spec, "s", "nowhere", "ref-db"))
    world.refused(c.AdoptMachine("db", spec, "s", "alpha", ""))
    world.create("pretended")
    world.refused(c.ReleaseMachine("pretended"))


def test_a_released_machine_is_forgotten_with_all_that_was_to_be_done_to_it() -> None:
    world = RealWorld()
    world.adopt("web")
    world.restart("web")
    world.do(c.ReleaseMachine("web"))

    assert not world.region.machines
    assert not world.region.errands
    assert "web" not in world.region.vms
    world.adopt("web")


# Campaigns, stories, forecasts


def test_a_campaign_pauses_after_two_moves_in_a_row_that_could_not_be_made() -> None:
    world = RealWorld("alpha", "beta", capacity=8)
    for number in range(3):
        world.adopt(f"vm-{number}")
    world.start_campaign("C1", Cause.LIVE_MIGRATION)
    world.refuse("vm-0", "local disk")
    states = [world.region.campaigns["C1"].state]
    world.refuse("vm-1", "local disk")
    states.append(world.region.campaigns["C1"].state)
    assert states == [CampaignState.RUNNING, CampaignState.PAUSED]


def test_an_events_story_tells_what_was_given_up_and_still_tells_the_event() -> None:
    world = RealWorld()
    world.adopt("web")
    (event_id,) = world.maintain(Cause.FREEZE, "alpha")
    world.refuse("web", "the kernel has no freezer")
    story = [fact for fact in world.facts if subject_of(fact) == event_id]

    assert "Pause of web was given up: the kernel has no freezer." in [tell(fact) for fact in story]
    event = remembered(story)
    assert event is not None
    assert event.phase is Phase.COMPLETED


def test_a_forecast_of_real_machines_is_an_estimate() -> None:
    world = RealWorld()
    world.adopt("web")
    world.read("web")
    world.restart("web")

    def how_long(_event: object) -> Lasting:
        return Lasting(timedelta(seconds=30))

    seen = [each for each in course(world.region, world.now, world.rules, how_long) if each.event is not None]
    names = {type(each.fact).__name__: each.estimated for each in seen}
    assert names == {"EventStarted": False, "ImpactBegan": False, "ImpactEnded": True, "EventCompleted": True}


@pytest.mark.parametrize("why", [SeenWhy.GUEST, SeenWhy.CRASH])
def test_a_machine_that_goes_off_while_it_is_to_be_paused_is_not_paused_any_more(why: SeenWhy) -> None:
    world = RealWorld()
    world.adopt("web")
    world.maintain(Cause.FREEZE, "alpha")
    world.try_it("web")
    world.sees("alpha", "web", power=OFF, why=why)

    assert given_up(world) == [(ErrandKind.PAUSE, "it went off meanwhile")]
    assert world.due_kinds() == ({} if why is SeenWhy.GUEST else {"web": ErrandKind.RESTART})


def test_a_migration_that_ends_with_a_restart_is_not_done_and_is_followed() -> None:
    world = RealWorld()
    world.adopt("web")
    world.maintain(Cause.LIVE_MIGRATION, "alpha")
    found = world.try_it("web")
    world.report(found, "done", seen=Sighting("ref-web", "beta", RUNNING, "boot-2"))

    assert given_up(world) == [(ErrandKind.MIGRATE, "it restarted on the way")]
    assert world.home("web") == "beta"
    assert world.region.vms["web"].boots == 2


def test_a_machine_that_arrives_paused_with_its_memory_is_still_migrating() -> None:
    """libvirt shows it so for a moment at the other end, when its source is gone and before it goes on."""
    world = RealWorld()
    world.adopt("web")
    world.maintain(Cause.LIVE_MIGRATION, "alpha")
    world.try_it("web")
    world.sees("beta", "web", power=PAUSED)

    assert given_up(world) == []
    assert world.due_kinds() == {"web": ErrandKind.MIGRATE}
    world.sees("beta", "web")
    assert (world.home("web"), world.due_kinds()) == ("beta", {})
