"""Clocks by themselves: what they show, whom they wake, and what they refuse."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from forewarn.core.refusal import Hint, Refused
from forewarn.plane.clock import RealClock, TurnableClock, wall_time
from tests.unit.plane.bench import HOUR, MINUTE, NOON, SECOND

pytestmark = pytest.mark.anyio


async def test_a_standing_clock_shows_what_it_was_set_to() -> None:
    clock = TurnableClock(NOON)
    assert (clock.now(), clock.kind, clock.speed) == (NOON, "virtual", 0)
    clock.move_to(NOON + HOUR)
    assert clock.now() == NOON + HOUR


async def test_no_clock_goes_back() -> None:
    clock = TurnableClock(NOON)
    with pytest.raises(Refused) as caught:
        clock.move_to(NOON - SECOND)
    assert (caught.value.hint, clock.now()) == (Hint.CONFLICT, NOON)
    clock.move_to(NOON)


async def test_a_fast_clock_runs() -> None:
    clock = TurnableClock(NOON, speed=10_000)
    assert clock.kind == "fast"
    await clock.sleep_until(NOON + MINUTE)
    assert clock.now() >= NOON + MINUTE


async def test_sleepers_are_woken_when_their_time_comes_and_not_before() -> None:
    clock = TurnableClock(NOON)
    early, late = (asyncio.create_task(clock.sleep_until(NOON + hours * HOUR)) for hours in (1, 2))
    await asyncio.sleep(0)
    clock.move_to(NOON + HOUR)
    await early
    assert not late.done()
    clock.move_to(NOON + 3 * HOUR)
    await late


async def test_a_sleep_until_a_past_instant_returns_at_once() -> None:
    await TurnableClock(NOON).sleep_until(NOON - HOUR)


async def test_a_canceled_sleeper_leaves_the_others_asleep() -> None:
    clock = TurnableClock(NOON)
    gone, there = (asyncio.create_task(clock.sleep_until(NOON + HOUR)) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    clock.move_to(NOON + HOUR)
    await there


async def test_a_change_of_speed_is_felt_by_those_who_sleep() -> None:
    clock = TurnableClock(NOON)
    sleeper = asyncio.create_task(clock.sleep_until(NOON + HOUR))
    await asyncio.sleep(0)
    clock.set_speed(1_000_000)
    await sleeper
    clock.set_speed(0)
    stopped = clock.now()
    assert stopped >= NOON + HOUR
    assert clock.now() == stopped


@pytest.mark.parametrize("speed", [-1.0, float("nan"), float("inf"), float("-inf")])
async def test_a_speed_that_is_negative_or_no_number_is_refused(speed: float) -> None:
    clock = TurnableClock(NOON, speed=0)
    with pytest.raises(Refused) as caught:
        clock.set_speed(speed)
    assert (caught.value.hint, clock.speed, clock.now()) == (Hint.INVALID, 0, NOON)


async def test_a_sleep_on_a_running_clock_leaves_no_waiter_behind() -> None:
    clock = TurnableClock(NOON, speed=1_000_000)
    for _ in range(10):
        await clock.sleep_until(clock.now() + HOUR)
    assert len(clock._sleepers) <= 1


async def test_the_real_clock_shows_the_machines_time() -> None:
    clock = RealClock()
    assert (clock.kind, clock.speed) == ("real", 1)
    before = wall_time()
    assert before <= clock.now() <= wall_time()
    await clock.sleep_until(clock.now() + timedelta(milliseconds=1))
    assert clock.now() >= before + timedelta(milliseconds=1)


async def test_the_real_clock_is_not_turned() -> None:
    clock = RealClock()
    with pytest.raises(Refused) as moved:
        clock.move_to(wall_time() + HOUR)
    with pytest.raises(Refused) as sped:
        clock.set_speed(2)
    assert moved.value.hint is sped.value.hint is Hint.CONFLICT


# The end of the calendar


END = datetime(9000, 12, 31, 23, 59, 59, tzinfo=UTC)


async def test_a_fast_clock_stands_at_the_end_of_the_calendar_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    clock = TurnableClock(END - HOUR, speed=1_000_000)
    await clock.sleep_until(END)
    assert (clock.now(), clock.now(), clock.speed, clock.kind) == (END, END, 0, "virtual")
    assert [record.message for record in caplog.records] == [
        "A region's calendar ends with the year 9000. The clock stands still from here on."
    ]


@pytest.mark.parametrize("speed", [1e6, 1e300])
async def test_no_speed_leads_beyond_the_end(speed: float) -> None:
    clock = TurnableClock(END - SECOND, speed=speed)
    await clock.sleep_until(END)
    assert clock.now() == END
    with pytest.raises(Refused, match="calendar ends with the year 9000") as caught:
        clock.set_speed(2)
    assert (caught.value.hint, clock.speed) == (Hint.CONFLICT, 0)
    with pytest.raises(Refused, match="calendar ends with the year 9000"):
        clock.move_to(END + SECOND)
    assert clock.now() == END


async def test_a_sleep_beyond_the_end_of_the_calendar_never_ends() -> None:
    clock = TurnableClock(END - SECOND, speed=1_000_000)
    sleeper = asyncio.create_task(clock.sleep_until(END + HOUR))
    await clock.sleep_until(END)
    assert not sleeper.done()
    assert len(clock._sleepers) <= 2
    sleeper.cancel()


async def test_a_region_that_has_come_further_does_not_go_back() -> None:
    clock = TurnableClock(END + HOUR, speed=60)
    assert (clock.now(), clock.speed) == (END + HOUR, 0)


async def test_the_real_clock_has_the_same_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def far_ahead() -> datetime:
        return END + 999 * HOUR

    assert RealClock(wall=far_ahead).now() == RealClock(END - HOUR, wall=far_ahead).now() == END
