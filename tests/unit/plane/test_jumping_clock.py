"""A machine whose wall clock jumps: the region's time goes on, comes back by itself, and the log tells of it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from forewarn.plane.clock import RealClock
from tests.unit.plane.bench import DAY, HOUR, MINUTE, NOON, SECOND

JUMPS = (2 * SECOND, 5 * MINUTE, HOUR, 400 * DAY)


class Machine:
    """A wall clock that can be set, and one that only grows."""

    def __init__(self) -> None:
        self.grown = 1000.0
        self.set_by = timedelta(0)

    def wall(self) -> datetime:
        return NOON + timedelta(seconds=self.grown - 1000) + self.set_by

    def clock(self, not_before: datetime | None = None, look_seconds: float = 0.0) -> RealClock:
        return RealClock(not_before, wall=self.wall, elapsed=lambda: self.grown, look_seconds=look_seconds)

    def live(self, clock: RealClock, seconds: float) -> datetime:
        """So much time passes, and the clock is looked at all the while."""
        before = clock.now()
        for _ in range(10):
            self.grown += seconds / 10
            now = clock.now()
            assert now >= before
            before = now
        return before


@pytest.fixture
def machine() -> Machine:
    return Machine()


def _messages(caplog: pytest.LogCaptureFixture) -> str:
    return " | ".join(record.message for record in caplog.records)


@pytest.mark.parametrize("jump", JUMPS)
def test_a_jump_ahead_for_a_moment_leaves_no_trace(
    machine: Machine, jump: timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    clock = machine.clock()
    machine.live(clock, 10)
    machine.set_by = jump
    assert machine.live(clock, 30) == NOON + 40 * SECOND
    machine.set_by = timedelta(0)
    assert machine.live(clock, 10) == NOON + 50 * SECOND
    assert "has jumped ahead by" in _messages(caplog)
    assert "was ahead for 30.0 s, and is not any more" in _messages(caplog)
    assert len(caplog.records) == 2


def test_a_leap_of_a_moment_is_not_believed_because_of_a_smaller_jump_that_has_lasted(machine: Machine) -> None:
    clock = machine.clock()
    machine.set_by = 41 * SECOND
    machine.live(clock, 50)
    machine.set_by = 6 * HOUR
    assert machine.live(clock, 17) == NOON + 67 * SECOND
    machine.set_by = 41 * SECOND
    assert machine.live(clock, 20) == NOON + 87 * SECOND
    assert machine.live(clock, 40) == machine.wall() == NOON + 127 * SECOND + 41 * SECOND


@pytest.mark.parametrize("jump", JUMPS)
def test_a_jump_ahead_that_lasts_is_followed(
    machine: Machine, jump: timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    clock = machine.clock()
    machine.set_by = jump
    assert machine.live(clock, 50) == NOON + 50 * SECOND
    assert machine.live(clock, 50) == machine.wall() == NOON + 100 * SECOND + jump
    assert "The region's time follows the machine's clock" in _messages(caplog)


@pytest.mark.parametrize("jump", JUMPS)
def test_a_step_back_slows_time_until_the_two_meet(
    machine: Machine, jump: timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    clock = machine.clock()
    machine.live(clock, 10)
    machine.set_by = -jump
    assert machine.live(clock, 100) < NOON + 110 * SECOND
    assert clock.now() >= NOON + 99 * SECOND  # it does not stand still
    machine.live(clock, 10 * jump.total_seconds())
    assert clock.now() - machine.wall() <= SECOND
    assert machine.live(clock, 100) == machine.wall()
    assert "behind the region's time. That runs at nine tenths" in _messages(caplog)
    assert "has caught up with the region's time" in _messages(caplog)
    assert len(caplog.records) == 2


@pytest.mark.parametrize("ahead", JUMPS)
def test_a_region_that_is_ahead_goes_on_from_its_last_fact(
    machine: Machine, ahead: timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    clock = machine.clock(NOON + ahead)
    assert clock.now() == NOON + ahead
    assert NOON + ahead < machine.live(clock, 10) < NOON + ahead + 10 * SECOND
    assert "behind the region's time" in _messages(caplog)


def test_a_machine_that_learns_the_time_after_its_start_is_followed(machine: Machine) -> None:
    """It came up in 1970, where the region had been before; then somebody told it what time it is."""
    machine.set_by = -20_000 * DAY
    clock = machine.clock(NOON)
    assert NOON < machine.live(clock, 100) < NOON + 100 * SECOND
    machine.set_by = HOUR
    machine.live(clock, 30)
    assert machine.live(clock, 60) == machine.wall()


def test_a_start_takes_the_time_that_passed_meanwhile_at_once(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    assert machine.clock(NOON - 400 * DAY).now() == NOON
    assert caplog.records == []


def test_small_corrections_are_followed_without_a_word(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    clock = machine.clock()
    for correction in (0.4, -0.3, 0.5, 0.2):
        machine.set_by = correction * SECOND
        machine.live(clock, 10)
        assert clock.now() == machine.wall()
    assert caplog.records == []


def test_between_two_looks_at_the_machine_time_goes_on_and_never_back(machine: Machine) -> None:
    clock = machine.clock(look_seconds=0.05)
    told = [clock.now()]
    for step in range(1000):
        machine.grown += 0.007
        if step % 90 == 0:
            machine.set_by += timedelta(milliseconds=-40 if step % 180 else 60)  # as time services correct a clock
        told.append(clock.now())
    assert told == sorted(told)
    for _ in range(100):
        machine.grown += 0.007
        clock.now()
    assert abs(clock.now() - machine.wall()) < timedelta(microseconds=10)  # what it was ahead by is given back


def test_a_jump_is_noticed_at_the_next_look(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    clock = machine.clock(look_seconds=0.05)
    clock.now()
    machine.set_by = HOUR
    machine.grown += 0.01
    assert clock.now() == NOON + timedelta(seconds=0.01)
    assert _messages(caplog) == ""
    machine.grown += 0.06
    assert clock.now() == NOON + timedelta(seconds=0.07)
    assert "has jumped ahead by" in _messages(caplog)


def test_a_clock_that_was_set_back_by_a_moment_is_met_again(machine: Machine) -> None:
    """Time stands still meanwhile; running on by the growing clock alone would keep the lead for ever."""
    clock = machine.clock(look_seconds=0.05)
    machine.live(clock, 10)
    machine.set_by = timedelta(milliseconds=-40)
    for _ in range(400):  # a busy server reads it all the time
        machine.grown += 0.0005
        clock.now()
    assert abs(clock.now() - machine.wall()) < timedelta(microseconds=10)


@pytest.mark.parametrize("look_seconds", [0.0, 0.05, 5.0])
def test_an_agreed_time_runs_on_and_never_goes_back(machine: Machine, look_seconds: float) -> None:
    clock = machine.clock(look_seconds=look_seconds)
    clock.agree(NOON + HOUR)
    assert machine.live(clock, 10) == NOON + HOUR + 10 * SECOND
    clock.agree(NOON + HOUR + 8 * SECOND)  # an answer that was on its way for two seconds
    assert clock.now() == NOON + HOUR + 10 * SECOND
    assert machine.live(clock, 10) == NOON + HOUR + 18 * SECOND
    clock.agree(NOON + HOUR + 30 * SECOND)
    assert clock.now() == NOON + HOUR + 30 * SECOND


def test_between_two_looks_an_agreed_time_is_what_was_told_last(machine: Machine) -> None:
    clock = machine.clock(look_seconds=5.0)
    clock.agree(NOON)
    clock.now()
    machine.grown += 3
    clock.agree(NOON + SECOND)  # nobody has read the clock since noon, but somebody may have
    assert clock.now() == NOON + 3 * SECOND
