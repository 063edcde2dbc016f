"""Turning the clock: every deadline on the way is stopped at, whoever asked for what just before."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.looking.deadlines import DUE_MOST, next_deadline
from forewarn.core.refusal import Hint, Refused
from forewarn.core.rules import Rules
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.plane.clock import RealClock
from forewarn.plane.ports import JournalFault
from tests.unit.plane.bench import DAY, HOUR, MINUTE, NOON, SECOND, opened

pytestmark = pytest.mark.anyio
FRONT = VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="front")
MADE = (f.HostAdded, f.VmCreated, f.ScopeCreated, f.ScopeEnabled, f.ScopeRead)


async def test_everything_happens_at_its_own_instant() -> None:
    async with opened() as bench:
        await bench.reading("web")
        await bench.restart("web")
        await bench.plane.advance(NOON + HOUR)
        assert bench.plane.now() == NOON + HOUR
        assert bench.story(*MADE) == [
            ("EventScheduled", NOON),
            ("EventStarted", NOON + 15 * MINUTE),
            ("ImpactBegan", NOON + 15 * MINUTE),
            ("ImpactEnded", NOON + 15 * MINUTE + 30 * SECOND),
            ("EventCompleted", NOON + 16 * MINUTE),
            ("ClockMoved", NOON + HOUR),
        ]


async def test_an_approval_just_before_the_turn_keeps_its_instant() -> None:
    async with opened() as bench:
        await bench.reading("web")
        event_id = await bench.restart("web")
        await bench.approve(event_id)
        await bench.plane.advance(NOON + HOUR)  # the impact is being recorded while this is asked
        assert bench.story(*MADE)[1:5] == [
            ("EventApproved", NOON),
            ("EventStarted", NOON),
            ("ImpactBegan", NOON),
            ("ImpactEnded", NOON + 30 * SECOND),
        ]


async def test_to_the_next_change_and_no_further() -> None:
    async with opened() as bench:
        await bench.reading("web")
        event_id = await bench.restart("web")
        await bench.approve(event_id)
        stops = [await bench.plane.advance_to_next() for _ in range(3)]
        assert stops == [NOON + 30 * SECOND, NOON + MINUTE, NOON + DAY]
        assert bench.plane.now() == NOON + DAY
        assert await bench.plane.advance_to_next() is None
        assert bench.plane.now() == NOON + DAY


async def test_a_read_that_was_kept_is_no_change_to_stop_at() -> None:
    async with opened() as bench:
        await bench.reading("web")
        await bench.plane.advance(NOON + 23 * HOUR)
        bench.reads("web")  # so that the scope lapses a day after this, and not a day after its first read
        assert await bench.plane.advance_to_next() == NOON + 23 * HOUR + DAY
        assert bench.story()[-2][0] == "ScopeDisabled"


async def test_reads_keep_any_number_of_scopes_enabled_when_the_clock_jumps() -> None:
    names = tuple(f"web-{number}" for number in range(2 * DUE_MOST + 10))
    async with opened() as bench:
        await bench.create(*names)
        await bench.do(c.Pulse(tuple((name, NOON) for name in names)))
        await bench.plane.advance(NOON + HOUR / 2)
        for name in names:
            bench.reads(name)
        await bench.plane.advance(NOON + DAY)
        assert not any(kind == "ScopeDisabled" for kind, _ in bench.story())


async def test_an_impact_of_no_length_does_not_hold_up_the_clock() -> None:
    async with opened() as bench:
        await bench.create("web")
        await bench.do(c.MaintainHosts((), Cause.NETWORK, "s"))
        await bench.plane.advance(NOON + HOUR)
        assert bench.story(*MADE)[:4] == [
            ("EventBornStarted", NOON),
            ("ImpactBegan", NOON),
            ("ImpactEnded", NOON),
            ("EventCompleted", NOON),  # nobody is told, so nobody is given time to recover
        ]


async def test_a_whole_campaign_of_instant_work_on_many_hosts_ends() -> None:
    rules = Rules(update_domains=1, fault_domains=1, vms_per_host=1, recoveries={Cause.NETWORK: timedelta(0)})
    async with opened(rules=rules) as bench:
        await bench.create(*(f"vm-{number}" for number in range(400)))
        await bench.do(c.StartCampaign("C1", Cause.NETWORK, hosts_at_once=1))
        await bench.plane.advance(NOON + MINUTE)
        assert bench.plane.region.campaigns["C1"].ended_at == NOON


async def test_a_campaign_walks_its_waves_in_one_turn_of_the_clock() -> None:
    async with opened() as bench:
        await bench.reading("web-0", "web-1", "web-2", spec=FRONT)
        await bench.do(c.StartCampaign("C1", Cause.FREEZE))
        await bench.plane.advance(NOON + 2 * HOUR)
        wave = 15 * MINUTE + 9 * SECOND + 10 * MINUTE
        scheduled = [at for kind, at in bench.story() if kind == "EventScheduled"]
        assert scheduled == [NOON, NOON + wave, NOON + 2 * wave]
        assert bench.plane.region.campaigns["C1"].ended_at == NOON + 3 * wave


async def test_time_only_goes_forward() -> None:
    async with opened() as bench:
        await bench.plane.advance(NOON + HOUR)
        head = bench.journal.head()
        with pytest.raises(Refused) as caught:
            await bench.plane.advance(NOON)
        assert caught.value.hint is Hint.CONFLICT
        assert (bench.plane.now(), bench.journal.head()) == (NOON + HOUR, head)


async def test_a_real_clock_is_not_turned() -> None:
    async with opened(clock=RealClock()) as bench:
        await bench.create("web")
        with pytest.raises(Refused):
            await bench.plane.advance(bench.plane.now() + HOUR)
        with pytest.raises(Refused):
            bench.plane.set_speed(2)


async def test_two_who_turn_the_clock_at_once_take_turns() -> None:
    async with opened() as bench:
        await bench.reading("web")
        await bench.restart("web")
        await asyncio.gather(bench.plane.advance(NOON + 5 * MINUTE), bench.plane.advance(NOON + HOUR))
        assert bench.plane.now() == NOON + HOUR
        assert ("EventStarted", NOON + 15 * MINUTE) in bench.story()


async def test_a_turned_clock_is_remembered_though_nothing_else_happened() -> None:
    async with opened() as bench:
        await bench.plane.advance(NOON + DAY)
    assert bench.plane.region.latest_at == NOON + DAY


async def test_a_journal_that_fails_on_the_way_stops_the_clock_there_and_it_can_be_turned_on() -> None:
    async with opened() as bench:
        await bench.reading("web")
        await bench.restart("web")
        bench.journal.failures = 1
        with pytest.raises(JournalFault):
            await bench.plane.advance(NOON + HOUR)
        assert bench.plane.now() == NOON + 15 * MINUTE
        await bench.plane.advance(NOON + HOUR)
        assert ("EventStarted", NOON + 15 * MINUTE) in bench.story()
        assert len(bench.plane.region.events) == 0


async def test_the_next_deadline_is_what_the_agenda_says() -> None:
    async with opened() as bench:
        assert next_deadline(bench.plane.region) is None
        await bench.reading("web")
        assert next_deadline(bench.plane.region) == NOON + DAY
