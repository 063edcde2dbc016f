"""NotBefore is a whole second, and never a promise cut short."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.core.deciding.events import whole_seconds_up
from tests.unit.core.world import MINUTE, NOON, SECOND, World

_MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("instant", "rounded"),
    [
        (NOON, NOON),
        (NOON + _MICROSECOND, NOON + SECOND),
        (NOON + SECOND - _MICROSECOND, NOON + SECOND),
        (NOON + 59 * SECOND + _MICROSECOND, NOON + MINUTE),
        (NOON - _MICROSECOND, NOON),
    ],
)
def test_not_before_is_rounded_up_to_a_whole_second(instant: datetime, rounded: datetime) -> None:
    assert whole_seconds_up(instant) == rounded


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=400)))
def test_the_notice_is_never_shorter_than_promised_nor_a_second_longer(offset: timedelta) -> None:
    world = World(start=NOON + offset)
    world.reading("web")
    world.restart("web")
    not_before = world.seen("web").not_before
    assert not_before is not None
    assert not_before.microsecond == 0
    assert timedelta(0) <= not_before - (world.now + 15 * MINUTE) < SECOND


def test_between_two_seconds_the_event_waits_for_the_second_that_was_shown() -> None:
    world = World(start=NOON + 250 * timedelta(milliseconds=1))
    world.reading("web")
    (event_id,) = world.restart("web")
    world.advance(15 * MINUTE)
    assert world.event(event_id).started_at is None
    world.next()
    assert world.event(event_id).started_at == NOON + 15 * MINUTE + SECOND
