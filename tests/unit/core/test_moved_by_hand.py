"""A machine that somebody has moved past forewarn, or taken away: what follows is decided by where it was seen."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import ErrandKind
from forewarn.core.region import Power
from tests.unit.core.real_world import GONE, OFF, RealWorld

HOSTS = ("alpha", "beta", "gamma")
RESTART = ErrandKind.RESTART


def a_world() -> RealWorld:
    world = RealWorld(*HOSTS)
    world.adopt("web")
    return world


def asked(world: RealWorld, what: str) -> None:
    match what:
        case "restart":
            world.restart("web")
        case "redeploy":
            world.redeploy("web")
        case _:
            world.reimage("web")


@pytest.mark.parametrize("tried", [False, True])
@pytest.mark.parametrize("what", ["restart", "redeploy", "reimage"])
def test_what_was_seen_at_a_third_host_is_not_started_anywhere_before_it_is_followed_there(
    what: str, tried: bool
) -> None:
    world = a_world()
    asked(world, what)
    (errand_id,) = world.region.errands
    if tried:
        world.report(world.try_it("web"), "failed", "busy")
    world.sees("gamma", "web")

    assert world.due() == {}
    world.refused(c.TryErrand(errand_id))
    world.sees("alpha", complete=True)
    assert world.home("web") == "gamma"
    found = world.due()["web"]
    assert (found.errand.id, found.errand.host) == (errand_id, "gamma")


def test_a_redeployment_whose_target_runs_already_what_it_has_made_is_still_due() -> None:
    world = a_world()
    world.redeploy("web")
    found = world.try_it("web")
    world.sees(found.errand.to, "web", mark="boot-2")
    assert world.due_kinds() == {"web": ErrandKind.REDEPLOY}


def test_a_restart_that_finds_no_machine_is_done_where_the_machine_has_gone() -> None:
    world = a_world()
    world.restart("web")
    world.refuse("web", "there is no machine web at alpha")
    assert world.due() == {}
    world.sees("alpha", complete=True)
    world.sees("beta", complete=True)
    assert world.due() == {}  # gamma has not said that it is not there
    world.sees("gamma", "web")

    assert world.home("web") == "gamma"
    assert world.due_kinds() == {"web": RESTART}
    assert world.carry_out("web") is RESTART
    assert not [fact for fact in world.facts if isinstance(fact, mf.ErrandMade) and fact.errand.kind is not RESTART]


def test_a_restart_of_what_no_host_has_makes_it_again_where_it_was() -> None:
    world = a_world()
    (event_id,) = world.restart("web")
    world.refuse("web", "there is no machine web at alpha")
    for host in HOSTS:
        assert world.due() == {}
        world.sees(host, complete=True)

    found = world.due()["web"].errand
    assert (found.kind, found.host, found.to, found.event) == (ErrandKind.REDEPLOY, "alpha", "alpha", event_id)
    world.carry_out("web")
    assert (world.home("web"), world.power("web")) == ("alpha", Power.RUNNING)
    assert event_id not in world.region.events


def test_a_restart_of_what_no_host_has_makes_it_again_elsewhere_when_its_host_takes_none() -> None:
    world = a_world()
    world.restart("web")
    world.do(c.DrainHost("alpha", world.seed()))
    world.refuse("web", "there is no machine web at alpha")
    for host in HOSTS:
        world.sees(host, complete=True)
    assert world.due()["web"].errand.to == "beta"


def test_a_restart_of_what_is_gone_waits_for_a_silent_host_until_that_is_known_to_be_off() -> None:
    world = a_world()
    world.restart("web")
    world.do(c.HostFellSilent("gamma"))
    world.refuse("web", "there is no machine web at alpha")
    for _ in range(3):
        world.sees("alpha", complete=True)
        world.sees("beta", complete=True)
    assert world.due() == {}
    world.do(c.ConfirmLost("gamma", "someone"))
    world.sees("alpha", complete=True)
    assert world.due_kinds() == {"web": ErrandKind.REDEPLOY}


def test_what_has_come_to_another_host_before_its_own_was_lost_is_followed_and_not_rebuilt() -> None:
    world = a_world()
    world.do(c.HostFellSilent("alpha"))
    world.sees("gamma", "web")
    world.do(c.ConfirmLost("alpha", "someone"))
    (found,) = world.region.errands.values()
    assert (found.errand.kind, found.errand.source_off) == (ErrandKind.REDEPLOY, True)
    assert world.due() == {}
    world.sees("gamma", "web")

    assert not world.region.errands
    assert (world.home("web"), world.power("web")) == ("gamma", Power.RUNNING)


def test_a_redeployment_that_its_engine_refuses_because_the_machine_was_taken_there_is_given_up_and_followed() -> None:
    world = a_world()
    world.redeploy("web")
    found = world.try_it("web")
    world.report(found, "failed", "it runs there, and was not made by this", lasting=True)
    world.sees("alpha", complete=True)
    world.sees(found.errand.to, "web", complete=True)

    assert not world.region.errands
    assert world.home("web") == found.errand.to
    assert [fact.kind for fact in world.facts if isinstance(fact, mf.ErrandGivenUp)] == [ErrandKind.REDEPLOY]


def test_what_is_off_at_a_third_host_and_nowhere_else_is_restarted_there() -> None:
    world = a_world()
    world.restart("web")
    world.refuse("web", "there is no machine web at alpha")
    world.sees("alpha", complete=True)
    world.sees("beta", complete=True)
    world.sees("gamma", "web", power=OFF, complete=True)

    assert world.machine("web").power is not GONE
    assert (world.home("web"), world.due_kinds()) == ("gamma", {"web": RESTART})


def test_a_start_of_what_somebody_has_started_at_another_host_is_not_tried_any_more() -> None:
    world = a_world()
    world.stop("web")
    world.carry_out("web")
    world.start("web")
    world.sees("gamma", "web", mark="boot-2")

    assert not world.region.errands
    assert (world.home("web"), world.power("web")) == ("gamma", Power.RUNNING)
