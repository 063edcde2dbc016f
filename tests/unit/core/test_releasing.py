"""A machine is let go when nothing is being done to it: nobody else would end what was begun."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from tests.unit.core.real_world import OFF, PAUSED, RealWorld

RELEASE = c.ReleaseMachine("web")
BEGUN: dict[str, Callable[[RealWorld], object]] = {
    "paused until 12:00:0": lambda world: world.maintain(Cause.FREEZE, "alpha"),
    "being restarted": lambda world: world.restart("web"),
    "being redeployed": lambda world: world.redeploy("web"),
    "being reimaged": lambda world: world.reimage("web"),
    "being moved": lambda world: world.maintain(Cause.LIVE_MIGRATION, "alpha"),
    "being turned off": lambda world: world.stop("web"),
    "being deleted": lambda world: world.delete("web"),
}


def begun(what: str, *, tried: bool = True) -> RealWorld:
    world = RealWorld()
    world.adopt("web")
    BEGUN[what](world)
    if tried:
        world.try_it("web")
    return world


@pytest.mark.parametrize("what", BEGUN)
def test_a_machine_is_not_let_go_while_something_is_being_done_to_it(what: str) -> None:
    world = begun(what)
    refusal = world.refused(RELEASE)
    assert what in str(refusal)
    assert "release it when" in str(refusal)
    assert "web" in world.region.machines


@pytest.mark.parametrize("what", [each for each in BEGUN if each != "being deleted"])
def test_it_is_let_go_before_that_was_begun_and_when_it_is_done(what: str) -> None:
    world = begun(what, tried=False)
    world.do(RELEASE)
    assert not world.region.machines
    assert not world.region.errands
    world = begun(what)
    world.carry_out("web")
    world.do(RELEASE)
    assert not world.region.machines


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("host", ["alpha", "beta"])
def test_it_is_let_go_where_the_host_that_it_is_at_or_goes_to_does_not_answer(host: str, lost: bool) -> None:
    world = begun("being redeployed")
    world.do(c.HostFellSilent(host))
    if lost and host == "alpha":
        world.do(c.ConfirmLost(host, "someone"))
    world.do(RELEASE)
    assert not world.region.machines


def test_a_pause_that_nobody_asked_for_is_waited_for_too() -> None:
    world = RealWorld()
    world.adopt("web")
    world.sees("alpha", "web", power=PAUSED)
    assert "paused until 12:01:00 UTC" in str(world.refused(RELEASE))


@pytest.mark.parametrize(
    ("what", "goes"), [("being redeployed", True), ("being deleted", True), ("paused until 12:00:0", False)]
)
def test_what_has_not_worked_for_long_keeps_nobody_from_letting_go_but_for_a_pause(what: str, goes: bool) -> None:
    world = begun(what)
    world.sees("alpha", "web", power=PAUSED if "paused" in what else OFF)
    world.advance(timedelta(minutes=12))
    if goes:
        world.do(RELEASE)
    else:
        world.refused(RELEASE)
    assert ("web" in world.region.machines) is not goes
