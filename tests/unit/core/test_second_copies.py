"""A machine never runs twice by our doing: what is done only after a host has said what it runs."""

from __future__ import annotations

from datetime import timedelta

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import ErrandKind, Listing, Sighting
from forewarn.core.region import HostHealth, Power
from forewarn.plane.hands.watching import believed
from tests.unit.core.real_world import ENGINE, GONE, OFF, RUNNING, RealWorld


def lost(world: RealWorld, host: str = "alpha") -> None:
    world.do(c.HostFellSilent(host))
    world.do(c.ConfirmLost(host, "someone"))


def test_a_refused_redeployment_goes_nowhere_else_while_its_target_may_run_the_machine() -> None:
    world = RealWorld("alpha", "beta", "gamma")
    world.adopt("web")
    world.redeploy("web")
    found = world.try_it("web")
    first = found.errand.to
    world.report(found, "unknown", "the call hung")
    world.sees("alpha", "web", power=OFF)
    world.refuse("web", "no memory left")

    assert world.due() == {}
    world.sees(first, "web", mark="boot-1")  # the call that hung has started it
    assert world.region.errands[found.errand.id].errand.to == first


def test_a_redeployment_is_done_when_what_it_made_runs_and_not_when_the_machine_was_only_restarted() -> None:
    world = RealWorld()
    world.adopt("web")
    world.reimage("web")
    found = world.try_it("web")
    world.sees("alpha", "web", mark="boot-2")  # the guest restarted itself
    assert found.errand.id in world.region.errands
    made = Sighting("ref-web", "alpha", RUNNING, "boot-3", errand=found.errand.id)
    world.do(c.Sight(ENGINE, Listing("alpha", True, (made,)), world.now))
    assert not world.region.errands


def test_a_redeployment_is_not_done_by_what_somebody_else_has_started_where_it_was_to_go() -> None:
    world = RealWorld()
    world.adopt("web")
    world.redeploy("web")
    found = world.try_it("web")
    world.sees("alpha", "web", power=OFF)
    by_hand = Sighting("ref-web", found.errand.to, RUNNING, "boot-2", errand="")
    world.do(c.Sight(ENGINE, Listing(found.errand.to, True, (by_hand,)), world.now))
    assert found.errand.id in world.region.errands
    made = Sighting("ref-web", found.errand.to, RUNNING, "boot-3", errand=found.errand.id)
    world.do(c.Sight(ENGINE, Listing(found.errand.to, True, (made,)), world.now))
    assert not world.region.errands


def test_what_its_lost_host_is_told_to_run_all_the_same_is_not_known_to_be_off_any_more() -> None:
    world = RealWorld()
    world.adopt("web")
    lost(world)
    found = world.try_it("web")
    assert found.errand.source_off
    runs = Sighting("ref-web", "alpha", RUNNING, "boot-1")
    world.report(found, "failed", "it runs at alpha", seen=runs)
    assert not world.region.errands[found.errand.id].errand.source_off


def test_one_that_is_off_elsewhere_is_followed_once_every_other_host_has_said_that_it_is_not_there() -> None:
    world = RealWorld("alpha", "beta", "gamma")
    world.adopt("web")
    world.sees("alpha", complete=True)  # it may have been left out
    world.sees("beta", "web", power=OFF)
    assert world.machine("web").host == "alpha"
    world.sees("gamma", complete=True)
    world.sees("beta", "web", power=OFF)
    assert world.machine("web").host == "beta"


def test_what_was_known_to_be_off_with_its_host_is_looked_for_when_the_host_is_back() -> None:
    world = RealWorld("alpha", "beta", capacity=1)
    world.adopt("web", "alpha")
    world.adopt("db", "beta")
    lost(world)
    (waiting,) = world.region.errands.values()
    assert waiting.errand.source_off
    world.do(c.HostAnswered("alpha"))
    world.sees("alpha", "web", power=OFF, complete=True)

    (waiting,) = world.region.errands.values()
    assert world.health("alpha") is HostHealth.HEALTHY
    assert not waiting.errand.source_off


def test_nothing_is_started_elsewhere_while_a_copy_is_being_put_down_at_a_host_that_is_back() -> None:
    world = RealWorld()
    world.adopt("web")
    lost(world)
    world.try_it("web")
    world.do(c.HostAnswered("alpha"))
    world.sees("alpha", "web", mark="boot-9", complete=True)  # it started by itself what it had

    assert world.due_kinds() == {"alpha": ErrandKind.STOP}
    world.try_it("alpha")
    world.sees("alpha", "web", power=OFF, complete=True)
    assert world.due_kinds() == {"web": ErrandKind.REDEPLOY}
    assert world.health("alpha") is HostHealth.HEALTHY


def test_a_listing_that_was_begun_before_a_host_was_lost_does_not_bring_it_back() -> None:
    world = RealWorld()
    begun_at = world.now
    world.advance(timedelta(seconds=1))
    lost(world)
    world.do(c.Sight(ENGINE, Listing("alpha", True, ()), begun_at))
    assert world.health("alpha") is HostHealth.FENCED


def test_a_migration_that_had_arrived_when_its_source_was_lost_is_followed_and_not_repeated() -> None:
    world = RealWorld()
    world.adopt("web")
    world.maintain(Cause.LIVE_MIGRATION, "alpha")
    world.try_it("web")
    lost(world)
    assert world.due_kinds() == {"web": ErrandKind.REDEPLOY}
    world.try_it("web")
    world.sees("beta", "web", mark="boot-1")

    assert not world.region.errands
    assert world.home("web") == "beta"
    assert world.power("web") is Power.RUNNING
    assert world.region.vms["web"].boots == 1


def test_a_deletion_after_an_unfinished_move_waits_for_the_host_that_it_was_to_go_to() -> None:
    world = RealWorld()
    world.adopt("web")
    world.maintain(Cause.LIVE_MIGRATION, "alpha")
    world.refuse("web", "aborted")
    assert world.machine("web").loose == ("beta",)
    world.delete("web")
    found = world.try_it("web")
    gone = Sighting("ref-web", "alpha", GONE)
    world.report(found, "done", seen=gone)
    assert "web" in world.region.vms
    world.sees("beta", "web", power=OFF, complete=True)
    assert world.due()["web"].errand.host == "beta"
    world.carry_out("web")
    assert "web" not in world.region.vms


def test_a_deletion_waits_for_what_a_lost_host_may_have_left_and_says_so() -> None:
    world = RealWorld()
    world.adopt("web")
    lost(world)
    world.carry_out("web")
    assert (world.home("web"), world.machine("web").loose) == ("beta", ("alpha",))
    world.delete("web")
    found = world.try_it("web")
    gone = Sighting("ref-web", "beta", GONE)
    for _ in range(3):
        world.report(found, "done", seen=gone)
        world.sees("beta", complete=True)
    assert world.power("web") is Power.DELETING
    assert "what is left at alpha" in world.machine("web").alarm
    world.sees("alpha", complete=True)  # it is back, with nothing of it
    world.sees("alpha", complete=True)
    world.sees("beta", complete=True)
    assert "web" not in world.region.vms


def test_a_listing_that_lacks_a_machine_is_complete_when_that_is_said_twice() -> None:
    world = RealWorld()
    world.adopt("web")
    whole = Listing("alpha", True, (Sighting("ref-web", "alpha", RUNNING, "boot-1"),))
    lacking = Listing("alpha", True, ())
    assert believed(world.region, whole, None).complete
    assert not believed(world.region, lacking, None).complete
    assert not believed(world.region, lacking, whole).complete
    assert believed(world.region, lacking, lacking).complete


def test_what_is_left_where_a_machine_was_is_said_to_be_gone_once() -> None:
    world = RealWorld()
    world.adopt("web")
    world.redeploy("web")
    world.carry_out("web")
    for _ in range(3):
        world.sees("alpha", complete=True)
    assert [fact.host for fact in world.facts if isinstance(fact, mf.MachineCleared)] == ["alpha"]
    assert world.machine("web").loose == ()
