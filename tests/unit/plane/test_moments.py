"""One value for all reads of a moment: how long it is told, and when it is not told any more."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from forewarn.plane.clock import RealClock, TurnableClock
from forewarn.server.readers.ground import ReaderClock
from forewarn.server.readers.messages import Beat
from tests.unit.plane.bench import HOUR, NOON

_MILLISECOND = timedelta(milliseconds=1)


class _Machine:
    """A machine's two clocks, moved by hand."""

    def __init__(self) -> None:
        self.wall = NOON
        self.seconds = 1000.0

    def pass_by(self, by: timedelta) -> None:
        self.wall += by
        self.seconds += by.total_seconds()

    def clock(self) -> RealClock:
        return RealClock(wall=lambda: self.wall, elapsed=lambda: self.seconds)


def test_all_who_ask_in_a_moment_get_one_value() -> None:
    machine = _Machine()
    clock = machine.clock()
    first = clock.lately()
    machine.pass_by(_MILLISECOND / 2)
    assert clock.lately() is first


@pytest.mark.parametrize("step", [timedelta(microseconds=37), _MILLISECOND / 3, timedelta(milliseconds=7)])
def test_no_moment_is_older_than_a_millisecond_nor_of_another_second_than_the_clock(step: timedelta) -> None:
    machine = _Machine()
    clock, before = machine.clock(), NOON
    machine.pass_by(timedelta(seconds=0.9))
    while machine.wall < NOON + timedelta(seconds=1.1):
        machine.pass_by(step)
        told, now = clock.lately(), clock.now()
        assert before <= told <= now
        assert now - told <= _MILLISECOND
        assert told.replace(microsecond=0) == now.replace(microsecond=0), "a Date of the second before"
        before = told


def test_a_moment_ends_when_nodes_agree_on_a_time() -> None:
    machine = _Machine()
    clock = machine.clock()
    clock.lately()
    clock.agree(NOON + HOUR)
    assert clock.lately() == NOON + HOUR


def test_a_clock_that_is_turned_tells_no_moment_of_before() -> None:
    clock = TurnableClock(NOON, elapsed=lambda: 5.0)
    assert clock.lately() == NOON
    clock.move_to(NOON + HOUR)
    assert clock.lately() == NOON + HOUR


def test_a_readers_moment_ends_with_what_its_server_tells() -> None:
    seconds = 10.0
    clock = ReaderClock(lambda: seconds)
    clock.follow(_beat(NOON.replace(hour=1), seconds, 1.0))
    first = clock.lately()
    assert clock.lately() is first
    for hours, speed in ((1, 1.0), (2, 0.0), (3, 60.0), (4, 1.0)):
        clock.follow(_beat(NOON + HOUR * hours, seconds, speed))
        assert clock.lately() == NOON + HOUR * hours
        seconds += 0.0005


def test_a_reader_of_a_clock_that_runs_fast_tells_each_instant() -> None:
    seconds = 10.0
    clock = ReaderClock(lambda: seconds)
    clock.follow(_beat(NOON, seconds, 3600.0))
    seconds += 0.0005
    assert clock.lately() == NOON + timedelta(seconds=1.8)


def _beat(now: datetime, elapsed: float, speed: float) -> Beat:
    return Beat(elapsed, now, speed, until=elapsed + 10)
