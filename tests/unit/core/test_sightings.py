"""What engines say is there, and what follows from it: by itself, by others' hands, and when hosts fall silent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import ErrandKind, Listing, SeenWhy, Sighting
from forewarn.core.region import HostHealth, Power
from tests.unit.core.real_world import ENGINE, GONE, OFF, PAUSED, RUNNING, RealWorld

SECOND = timedelta(seconds=1)


def a_world(*vms: str) -> RealWorld:
    world = RealWorld()
    for vm in vms or ("web",):
        world.adopt(vm)
    world.advance(SECOND)
    return world


def test_a_listing_that_says_what_is_known_is_no_fact() -> None:
    world = a_world()
    assert world.sees("alpha", "web", complete=True) == ()


def test_a_guest_that_restarts_itself_is_counted_and_is_no_event() -> None:
    world = a_world()
    facts = world.sees("alpha", "web", mark="boot-2")

    assert [type(fact) for fact in facts] == [mf.MachineSeen]
    assert world.region.vms["web"].boots == 2


def test_a_guest_that_shuts_down_is_stopped_and_keeps_its_host() -> None:
    world = a_world()
    world.sees("alpha", "web", power=OFF, why=SeenWhy.GUEST)

    assert world.power("web") is Power.STOPPED
    assert world.home("web") == "alpha"
    assert not world.region.errands
    world.sees("alpha", "web", mark="boot-2")  # somebody starts it by hand
    assert world.power("web") is Power.RUNNING


def test_a_crash_is_an_event_that_waits_for_nobody_and_the_machine_is_started_again() -> None:
    world = a_world()
    world.read("web")
    facts = world.sees("alpha", "web", power=OFF, why=SeenWhy.CRASH)

    (event,) = [fact.event for fact in facts if isinstance(fact, f.EventBornStarted)]
    assert event.cause is Cause.CRASH
    assert event.announced
    assert world.carry_out("web") is ErrandKind.RESTART
    assert world.power("web") is Power.RUNNING
    assert world.region.events[event.id].impact_ended_at == world.now


def test_the_fourth_crash_in_ten_minutes_leaves_the_machine_off_with_an_alarm() -> None:
    world = a_world()
    for number in range(3):
        world.sees("alpha", "web", power=OFF, why=SeenWhy.CRASH)
        found = world.try_it("web")
        world.sees("alpha", "web", mark=f"boot-{number + 2}")
        assert found.errand.id not in world.region.errands
        world.advance(timedelta(minutes=1))
    world.sees("alpha", "web", power=OFF, why=SeenWhy.CRASH)

    assert world.power("web") is Power.STOPPED
    assert not world.region.errands
    assert "4 times" in world.machine("web").alarm
    world.start("web")
    assert world.carry_out("web") is ErrandKind.START
    assert world.machine("web").alarm == ""


def test_crashes_that_are_long_past_do_not_count() -> None:
    world = a_world()
    for number in range(5):
        world.sees("alpha", "web", power=OFF, why=SeenWhy.CRASH)
        world.try_it("web")
        world.sees("alpha", "web", mark=f"boot-{number + 2}")
        world.advance(timedelta(minutes=6))
    assert world.power("web") is Power.RUNNING


def test_a_pause_that_nobody_asked_for_is_told_and_ended_after_a_minute() -> None:
    world = a_world()
    world.sees("alpha", "web", power=PAUSED)

    found = world.due()["web"]
    assert found.errand.kind is ErrandKind.PAUSE
    assert found.tried_at is not None  # it is only ever ended
    assert found.errand.until == world.now + timedelta(seconds=60)
    assert world.machine("web").alarm
    assert world.sees("alpha", "web", power=PAUSED) == ()
    world.advance(timedelta(seconds=61))
    world.sees("alpha", "web")
    assert not world.region.errands
    assert not world.machine("web").alarm


def test_a_pause_by_an_error_is_left_and_said() -> None:
    world = a_world()
    world.sees("alpha", "web", power=PAUSED, why=SeenWhy.CRASH)

    assert not world.region.errands
    assert "error" in world.machine("web").alarm


def test_a_machine_that_somebody_moved_by_hand_is_followed_when_it_has_left_the_old_host() -> None:
    world = a_world()
    world.sees("beta", "web")
    assert world.home("web") == "alpha"
    world.sees("alpha", complete=True)

    assert world.home("web") == "beta"
    assert world.machine("web").host == "beta"
    assert world.power("web") is Power.RUNNING
    assert not world.region.errands


def test_a_machine_that_left_before_it_was_seen_elsewhere_is_not_taken_for_crashed() -> None:
    world = a_world()
    world.sees("alpha", complete=True)
    assert not world.region.errands
    world.sees("beta", "web")

    assert world.home("web") == "beta"
    assert not world.region.errands


def test_a_machine_that_no_host_has_any_more_has_crashed() -> None:
    world = a_world()
    world.sees("alpha", complete=True)
    world.sees("beta", complete=True)
    assert world.due_kinds() == {"web": ErrandKind.RESTART}


def test_while_a_host_where_it_could_be_is_silent_a_missing_machine_is_not_started_anywhere() -> None:
    world = a_world()
    world.do(c.HostFellSilent("beta"))
    for _ in range(3):
        world.sees("alpha", complete=True)
        world.advance(timedelta(minutes=5))
    assert not world.region.errands


def test_a_stopped_machine_that_is_gone_is_for_a_person_to_decide() -> None:
    world = RealWorld("alpha")
    world.adopt("web")
    world.advance(SECOND)
    world.sees("alpha", "web", power=OFF, why=SeenWhy.GUEST)
    world.advance(SECOND)
    world.sees("alpha", complete=True)

    assert "gone" in world.machine("web").alarm
    assert "web" in world.region.vms
    assert not world.region.errands


def test_nothing_is_done_to_a_machine_that_runs_twice_until_one_of_them_is_off() -> None:
    world = a_world()
    world.restart("web")
    world.sees("beta", "web")
    world.advance(SECOND)
    world.sees("alpha", "web")

    assert world.machine("web").doubled
    assert "alpha" in world.machine("web").alarm
    assert world.due() == {}
    (errand_id,) = world.region.errands
    world.refused(c.TryErrand(errand_id))
    world.sees("alpha", "web", mark="boot-2")  # would end the restart
    assert errand_id in world.region.errands

    world.advance(SECOND)
    world.sees("beta", complete=True)
    assert not world.machine("web").doubled
    assert not world.machine("web").alarm
    assert world.due_kinds() == {"web": ErrandKind.RESTART}


def test_old_news_of_another_host_do_not_make_a_machine_run_twice() -> None:
    world = a_world()
    world.sees("beta", "web")
    world.advance(SECOND)
    world.sees("alpha", "web", ago=5 * SECOND)
    assert not world.machine("web").doubled


def test_a_listing_that_was_asked_for_before_the_start_does_not_end_it() -> None:
    world = a_world()
    world.stop("web")
    world.carry_out("web")
    world.advance(SECOND)
    world.start("web")
    world.sees("alpha", "web", ago=5 * SECOND)

    assert world.power("web") is Power.STOPPED
    assert world.due_kinds() == {"web": ErrandKind.START}


def test_a_machine_nobody_adopted_is_left_alone() -> None:
    world = a_world()
    seen = Sighting("ref-stranger", "alpha", PAUSED, "x")
    facts = world.do(c.Sight(ENGINE, Listing("alpha", False, (seen,))))
    assert facts == ()


def test_a_listing_of_a_host_that_is_not_there_is_refused() -> None:
    world = a_world()
    world.refused(c.Sight(ENGINE, Listing("gamma", True, ())))
    world.refused(c.Sight("other", Listing("alpha", True, ())))


# Hosts


def test_a_silent_host_that_answers_in_time_has_lost_nothing() -> None:
    world = a_world()
    world.do(c.HostFellSilent("alpha"))
    assert world.health("alpha") is HostHealth.SILENT
    assert world.do(c.HostFellSilent("alpha")) == ()
    world.do(c.FenceHost("alpha"))
    world.do(c.HostAnswered("alpha"))

    assert world.health("alpha") is HostHealth.HEALTHY
    assert not world.region.errands
    assert world.home("web") == "alpha"


@pytest.mark.parametrize("by", ["fence", "person"])
def test_what_a_lost_host_ran_is_rebuilt_elsewhere_and_only_then(by: str) -> None:
    world = a_world()
    world.read("web")
    world.do(c.HostFellSilent("alpha"))
    world.advance(timedelta(minutes=10))
    assert not world.region.errands  # silence is not an answer
    if by == "fence":
        world.do(c.FenceHost("alpha"))
        world.report(world.try_it("alpha"), "done")
    else:
        world.do(c.ConfirmLost("alpha", "someone"))

    assert world.health("alpha") is HostHealth.FENCED
    found = world.due()["web"]
    assert (found.errand.kind, found.errand.to, found.errand.source_off) == (ErrandKind.REDEPLOY, "beta", True)
    world.carry_out("web")
    assert world.home("web") == "beta"
    assert world.region.vms["web"].traits.ephemeral_disks == 2


def test_a_fence_that_fails_starts_nothing_anywhere() -> None:
    world = a_world()
    world.do(c.HostFellSilent("alpha"))
    world.do(c.FenceHost("alpha"))
    world.refuse("alpha", "exit 1")

    assert world.health("alpha") is HostHealth.SILENT
    assert world.home("web") == "alpha"
    assert not world.region.errands


def test_only_a_silent_host_can_be_fenced_or_called_lost() -> None:
    world = a_world()
    world.refused(c.FenceHost("alpha"))
    world.refused(c.ConfirmLost("alpha", "someone"))
    world.do(c.HostFellSilent("alpha"))
    world.refused(c.FailHosts(("alpha",), "s"))


def test_a_lost_host_that_is_back_turns_off_what_runs_elsewhere_by_now_before_it_takes_part() -> None:
    world = a_world("web", "db")
    world.do(c.HostFellSilent("alpha"))
    world.do(c.ConfirmLost("alpha", "someone"))
    for vm in ("web", "db"):
        world.carry_out(vm)
    world.do(c.HostAnswered("alpha"))
    assert world.health("alpha") is HostHealth.FENCED
    world.sees("alpha", "web", complete=True)

    found = world.due()["alpha"]
    assert (found.errand.kind, found.errand.ref, found.errand.vm) == (ErrandKind.OFF, "ref-web", "")
    assert world.health("alpha") is HostHealth.FENCED
    world.try_it("alpha")
    world.sees("alpha", "web", power=OFF, complete=True)
    assert world.health("alpha") is HostHealth.FENCED  # its definition is still there
    world.sees("alpha", complete=True)

    assert world.health("alpha") is HostHealth.HEALTHY
    assert world.home("web") == "beta"
    assert world.machine("web").power is RUNNING
    assert not world.region.errands


def test_a_copy_that_is_to_go_down_is_asked_once_however_often_it_is_listed() -> None:
    world = a_world()
    world.do(c.HostFellSilent("alpha"))
    world.do(c.ConfirmLost("alpha", "someone"))
    world.carry_out("web")
    world.do(c.HostAnswered("alpha"))
    for _ in range(4):
        world.advance(timedelta(seconds=10))
        world.sees("alpha", "web", complete=True)
    assert len(world.region.errands) == 1


def test_a_stopped_vm_of_a_lost_host_can_be_started_elsewhere() -> None:
    world = a_world()
    world.sees("alpha", "web", power=OFF, why=SeenWhy.GUEST)
    world.do(c.HostFellSilent("alpha"))
    world.do(c.ConfirmLost("alpha", "someone"))

    assert world.power("web") is Power.DEALLOCATED
    assert not world.region.errands
    world.start("web")
    world.carry_out("web")
    assert world.home("web") == "beta"


def test_a_machine_on_its_way_when_its_host_is_lost_goes_where_it_was_going_and_nowhere_else() -> None:
    world = RealWorld("alpha", "beta", "gamma")
    world.adopt("web")
    world.redeploy("web")
    found = world.try_it("web")
    world.do(c.HostFellSilent("alpha"))
    world.do(c.ConfirmLost("alpha", "someone"))

    (left,) = world.region.errands.values()
    assert (left.errand.id, left.errand.to, left.errand.source_off) == (found.errand.id, found.errand.to, True)


def test_a_migration_whose_source_is_lost_becomes_a_redeployment_to_the_same_place() -> None:
    world = RealWorld("alpha", "beta", "gamma")
    world.adopt("web")
    world.maintain(Cause.LIVE_MIGRATION, "alpha")
    found = world.try_it("web")
    world.do(c.HostFellSilent("alpha"))
    world.do(c.ConfirmLost("alpha", "someone"))

    (left,) = world.region.errands.values()
    assert (left.errand.kind, left.errand.to) == (ErrandKind.REDEPLOY, found.errand.to)
    assert left.errand.source_off


def test_a_deletion_is_not_over_while_the_machine_was_seen_to_run_at_another_host_too() -> None:
    """A live migration that was given up for the deletion has arrived all the same."""
    world = RealWorld()
    world.adopt("web")
    world.do(c.DeleteVms(("web",), world.seed()))
    found = world.try_it("web")
    world.sees("beta", "web")
    gone = Sighting("ref-web", "alpha", GONE, "", SeenWhy.ASKED, errand=found.errand.id)
    world.report(found, "done", seen=gone)

    assert "web" in world.region.vms
    assert world.due_kinds() == {"web": ErrandKind.DELETE}
    assert world.machine("web").host == "beta"
    world.sees("alpha", complete=True)
    world.report(world.due()["web"], "done", seen=structs.replace(gone, host="beta"))
    assert "web" not in world.region.vms
