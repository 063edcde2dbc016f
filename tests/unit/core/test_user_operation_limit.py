"""At most ten user operations are scheduled at once; what nobody waits for does not count."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.refusal import Hint, Refused
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.core.step import step
from tests.unit.core.world import MINUTE, SPOT, World, in_set, kinds

TEN = tuple(f"vm-{number}" for number in range(10))


def full(world: World) -> list[str]:
    """Ten operations, scheduled."""
    world.reading(*TEN)
    return world.restart(*TEN)


@pytest.mark.parametrize("command", [c.RestartVms, c.RedeployVms])
def test_the_eleventh_user_operation_is_refused_with_a_sentence_that_names_the_setting(
    command: type[c.RestartVms | c.RedeployVms], world: World
) -> None:
    full(world)
    world.reading("more")
    refused = world.refused(command(("more",), "s"))
    assert refused.hint is Hint.CONFLICT
    assert "user_operation_limit" in refused.message
    assert "10" in refused.message


def test_eleven_at_once_are_refused_as_a_whole(world: World) -> None:
    world.reading(*TEN, "more")
    world.refused(c.RestartVms((*TEN, "more"), "s"))
    assert world.region.user_operations == 0


def test_restarts_and_redeployments_count_together(world: World) -> None:
    world.reading(*TEN)
    world.restart(*TEN[:5])
    world.redeploy(*TEN[5:])
    world.refused(c.RedeployVms(("vm-0",), "s"))
    world.restart("vm-0")  # joins the one that is there


def test_a_user_operation_that_starts_makes_room_for_another(world: World) -> None:
    first, *_ = full(world)
    world.approve(first)
    world.redeploy("vm-0")
    world.refused(c.RedeployVms(("vm-1",), "s"))


def test_a_user_operation_that_is_canceled_makes_room_for_another(world: World) -> None:
    first, *_ = full(world)
    world.cancel(first)
    world.restart("vm-0")


def test_a_user_operation_whose_vm_is_deleted_makes_room_for_another(world: World) -> None:
    full(world)
    world.delete("vm-3")
    world.redeploy("vm-0")


def test_at_not_before_all_ten_make_room(world: World) -> None:
    full(world)
    world.advance(15 * MINUTE)
    assert world.region.user_operations == 0
    world.redeploy(*TEN)


def test_what_is_not_a_users_restart_or_redeploy_does_not_count(world: World) -> None:
    world.reading("gone", spec=VmSpec(terminate_notice=5 * MINUTE))
    world.reading("spot", spec=SPOT)
    full(world)
    assert world.delete("gone")
    assert world.evict("spot")
    assert world.maintain(Cause.FREEZE)


def test_what_starts_at_once_does_not_count(world: World) -> None:
    full(world)
    world.create("quiet")
    world.reading("auto")
    world.set_policy("vm/auto", auto_approve_reboot=True)
    world.restart("quiet", "auto")


def test_a_lowered_limit_refuses_only_what_would_be_scheduled(world: World) -> None:
    full(world)
    world.create("quiet")
    lowered = Rules(user_operation_limit=3)
    _, facts = step(world.region, c.RestartVms(("quiet",), "s"), world.now, lowered)
    assert kinds(facts) == ["EventBornStarted"]
    with pytest.raises(Refused):
        step(world.region, c.RedeployVms(("vm-0",), "s"), world.now, lowered)


def test_zero_means_no_limit() -> None:
    world = World(Rules(user_operation_limit=0))
    names = [f"vm-{number}" for number in range(30)]
    world.reading(*names, spec=in_set("front"))
    assert len(world.restart(*names)) == 30
