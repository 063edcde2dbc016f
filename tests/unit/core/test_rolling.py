"""Rolling upgrades: batch by batch, with a pause in between, canceled, begun anew, over a restart."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.core import commands as c
from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.refusal import Hint
from forewarn.core.region import Rolling
from forewarn.core.specs import UpgradeMode
from tests.unit.core.world import HOUR, MINUTE, NOON, SECOND, World, kinds

ROLLING: dict[str, Any] = {"upgrade": UpgradeMode.ROLLING}


def upgraded(world: World) -> list[int]:
    """The ids of those that have the latest model."""
    latest = world.region.scale_sets["web"].model
    return sorted(vm.number for vm in world.region.vms.values() if vm.traits.model == latest)


def rolling(world: World) -> Rolling:
    found = world.region.scale_sets["web"].rolling
    assert found is not None
    return found


def test_a_changed_model_goes_on_in_batches(world: World) -> None:
    world.put_set(capacity=10, batch_percent=30, batch_pause=5 * MINUTE, **ROLLING)
    assert world.region.scale_sets["web"].rolling is None

    world.put_set(size="big", batch_percent=30, batch_pause=5 * MINUTE, **ROLLING)

    assert upgraded(world) == [0, 1, 2]
    world.advance(5 * MINUTE - SECOND)
    assert upgraded(world) == [0, 1, 2]
    world.advance(SECOND)
    assert upgraded(world) == list(range(6))
    assert rolling(world) == Rolling(NOON, 6, NOON + 10 * MINUTE)
    world.advance(5 * MINUTE)
    world.advance(5 * MINUTE)
    assert upgraded(world) == list(range(10))
    assert rolling(world) == Rolling(NOON, 10, None, NOON + 15 * MINUTE)
    assert next_deadline(world.region) is None


def test_without_a_pause_all_batches_follow_at_once(world: World) -> None:
    world.put_set(capacity=7, **ROLLING)
    facts = kinds(world.put_set(size="big", **ROLLING))

    assert facts.count("InstanceUpgraded") == 7
    assert facts.count("RollingUpgradeBatched") == 6
    assert rolling(world).ended_at == NOON


def test_a_rolling_upgrade_that_is_asked_for_upgrades_the_instances_that_are_behind(world: World) -> None:
    world.put_set(capacity=4, batch_pause=MINUTE)
    world.put_set(size="big", batch_pause=MINUTE)
    world.upgrade("web_1")

    world.do(c.StartRollingUpgrade("web"))

    assert upgraded(world) == [0, 1]
    assert world.refused(c.StartRollingUpgrade("web")).hint is Hint.CONFLICT
    world.advance(2 * MINUTE)
    assert (upgraded(world), rolling(world).upgraded) == ([0, 1, 2, 3], 3)
    world.do(c.StartRollingUpgrade("web"))
    assert (rolling(world).upgraded, rolling(world).ended_at) == (0, world.now)


def test_a_canceled_rolling_upgrade_leaves_instances_as_they_are(world: World) -> None:
    assert world.refused(c.CancelRollingUpgrade("web")).hint is Hint.NOT_FOUND
    world.put_set(capacity=4, batch_pause=MINUTE, **ROLLING)
    assert world.refused(c.CancelRollingUpgrade("web")).hint is Hint.CONFLICT
    world.put_set(size="big", batch_pause=MINUTE, **ROLLING)

    world.do(c.CancelRollingUpgrade("web"))

    world.advance(HOUR)
    assert upgraded(world) == [0]
    assert rolling(world) == Rolling(NOON, 1, None, NOON, canceled=True)
    world.put_set(size="big", capacity=5, batch_pause=MINUTE, **ROLLING)  # not a new model: nothing begins again
    assert upgraded(world) == [0, 4]
    assert world.refused(c.CancelRollingUpgrade("web")).hint is Hint.CONFLICT


def test_a_newer_model_restarts_the_rolling_upgrade(world: World) -> None:
    world.put_set(capacity=4, batch_percent=50, batch_pause=MINUTE, **ROLLING)
    world.put_set(size="big", batch_percent=50, batch_pause=MINUTE, **ROLLING)
    world.advance(30 * SECOND)
    world.put_set(size="bigger", batch_percent=50, batch_pause=MINUTE, **ROLLING)

    assert upgraded(world) == [0, 1]
    world.advance(MINUTE)
    assert (upgraded(world), rolling(world).upgraded) == ([0, 1, 2, 3], 4)


def test_a_rolling_upgrade_whose_instances_are_gone_has_ended(world: World) -> None:
    world.put_set(capacity=3, batch_pause=MINUTE, **ROLLING)
    world.put_set(size="big", batch_pause=MINUTE, **ROLLING)
    world.delete_instances("web_1", "web_2")
    world.advance(MINUTE)
    assert rolling(world).ended_at == NOON + MINUTE
    world.put_set(capacity=3, size="huge", batch_pause=MINUTE, **ROLLING)
    world.delete_set()
    world.advance(HOUR)
    assert not world.region.scale_sets


@pytest.mark.parametrize(
    "spec", [{"batch_percent": 4}, {"batch_percent": 101}, {"batch_pause": -SECOND}, {"batch_pause": 170 * HOUR}]
)
def test_batches_and_pauses_that_cannot_be_are_refused(world: World, spec: dict[str, Any]) -> None:
    assert world.refused(world.put(capacity=1, **spec)).hint is Hint.INVALID


@given(
    capacity=st.integers(1, 40),
    percent=st.integers(5, 100),
    pause=st.integers(0, 600),
    ahead=st.sets(st.integers(0, 39)),
)
def test_batches_are_those_that_a_second_computation_gives(
    capacity: int, percent: int, pause: int, ahead: set[int]
) -> None:
    """Told again with lists and sums: when each instance gets the model. ``World`` checks replay and snapshots."""
    world = World()
    spec: dict[str, Any] = {"batch_percent": percent, "batch_pause": timedelta(seconds=pause)}
    world.put_set(capacity=capacity, **spec)
    world.put_set(size="big", **spec)
    known = sorted(number for number in ahead if number < capacity)
    if known:
        world.upgrade(*(f"web_{number}" for number in known))
    behind = [number for number in range(capacity) if number not in known]
    size = max(1, int(capacity * percent / 100 + 1e-9))
    batches = [behind[at : at + size] for at in range(0, len(behind), size)]

    world.do(c.StartRollingUpgrade("web"))

    have = set(known)
    for number, batch in enumerate(batches):
        have |= set(batch)
        if pause:
            assert upgraded(world) == sorted(have)
            if number + 1 < len(batches):
                world.next()
    assert upgraded(world) == list(range(capacity))
    assert rolling(world).upgraded == len(behind)
    assert rolling(world).ended_at == NOON + max(0, len(batches) - 1) * timedelta(seconds=pause)
