"""Clocks that run: the plane ticks by itself. Real waits are as short as they come, and end with an event."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.forecast import Lasting
from forewarn.core.region import Event
from forewarn.core.rules import Rules
from forewarn.core.specs import Policy
from forewarn.plane.clock import RealClock, TurnableClock
from tests.unit.plane.bench import DAY, HOUR, NOON, opened

pytestmark = pytest.mark.anyio


class QuickEngine:
    """Every impact takes ten milliseconds."""

    def begin(self, event: Event, now: datetime) -> datetime:
        return now + self.lasting(event).duration

    def lasting(self, event: Event) -> Lasting:
        return Lasting(timedelta(milliseconds=10))


async def test_on_a_fast_clock_an_event_lives_its_life_by_itself() -> None:
    async with opened(clock=TurnableClock(NOON, speed=50_000)) as bench:
        done = bench.expect(f.EventCompleted)
        await bench.reading("web")
        event_id = await bench.restart("web")
        await done.wait()
        facts = {type(record.fact).__name__: record.fact.at for record in bench.journal.about(event_id, 100)}
        assert facts["EventStarted"] - facts["EventScheduled"] >= timedelta(minutes=15)
        assert facts["ImpactEnded"] - facts["EventStarted"] >= timedelta(seconds=30)
        assert facts["EventCompleted"] - facts["ImpactEnded"] >= timedelta(seconds=30)


async def test_on_a_fast_clock_a_silent_scope_is_disabled_by_itself() -> None:
    async with opened(clock=TurnableClock(NOON, speed=1_000_000)) as bench:
        disabled = bench.expect(f.ScopeDisabled)
        await bench.reading("web")
        await disabled.wait()
        assert bench.plane.now() - NOON >= DAY


async def test_on_the_real_clock_things_fall_due_by_themselves() -> None:
    rules = Rules(recoveries={Cause.USER_RESTART: timedelta(milliseconds=10)})
    async with opened(clock=RealClock(), engine=QuickEngine(), rules=rules) as bench:
        done = bench.expect(f.EventCompleted)
        await bench.reading("web")
        await bench.do(c.SetPolicy("vm/web", Policy(auto_approve_reboot=True)))
        await bench.restart("web")
        await done.wait()
        assert bench.plane.region.vms["web"].boots == 2


async def test_a_standing_clock_goes_on_when_it_is_given_a_speed() -> None:
    async with opened() as bench:
        started = bench.expect(f.EventStarted)
        await bench.reading("web")
        await bench.restart("web")
        assert bench.plane.now() == NOON
        bench.plane.set_speed(50_000)
        await started.wait()
        bench.plane.set_speed(0)
        assert (bench.plane.clock.kind, bench.plane.now()) == ("virtual", bench.plane.now())


async def test_a_running_clock_can_be_turned_too() -> None:
    async with opened(clock=TurnableClock(NOON, speed=1)) as bench:
        await bench.reading("web")
        await bench.restart("web")
        await bench.plane.advance(NOON + HOUR)
        assert bench.plane.now() >= NOON + HOUR
        assert len(bench.plane.region.events) == 0


async def test_a_tick_that_fails_is_tried_again() -> None:
    async with opened() as bench:
        started = bench.expect(f.EventStarted)
        await bench.reading("web")
        await bench.restart("web")
        bench.journal.failures = 3
        bench.plane.set_speed(50_000)
        await started.wait()
        assert bench.journal.failures == 0


async def test_a_pulse_that_fails_is_told_again_and_the_pulses_go_on() -> None:
    clock = TurnableClock(NOON)
    async with opened(clock=clock) as bench:
        told, failed = bench.expect(f.ScopeRead), bench.expect_failure()
        await bench.reading("web")
        clock.move_to(NOON + HOUR)
        bench.reads("web")
        bench.journal.failures = 1
        await failed.wait()
        while not told.is_set():
            clock.move_to(clock.now() + HOUR)
            await bench.do(c.Tick())
        assert bench.scope("web").last_read_at == NOON + HOUR
        assert clock.now() < NOON + DAY
