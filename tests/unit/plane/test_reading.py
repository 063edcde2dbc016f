"""The 24-hour rule, to the second, though the journal hears of reads only now and then."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from forewarn.core import commands as c
from forewarn.core.facts import ScopeRead
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.plane.clock import TurnableClock
from tests.unit.plane.bench import DAY, HOUR, MINUTE, NOON, SECOND, Bench, crashed, opened

pytestmark = pytest.mark.anyio
FRONT = VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="front")


async def read_at(bench: Bench, name: str, *instants: datetime) -> None:
    for instant in instants:
        await bench.plane.advance(instant)
        bench.reads(name)


def journaled(bench: Bench) -> list[datetime]:
    facts = [record.fact for record in bench.journal.read(0, 10_000)]
    return [fact.read_at for fact in facts if isinstance(fact, ScopeRead)]


async def test_the_first_read_enables_and_is_on_disk_before_it_returns() -> None:
    async with opened() as bench:
        await bench.create("web")
        await bench.plane.enable(bench.plane.region.vms["web"])
        assert bench.scope("web").enabled_at == NOON
        assert ("ScopeEnabled", NOON) in bench.story()


@pytest.mark.parametrize("after", [SECOND, 59 * MINUTE, HOUR, 10 * HOUR + 17 * SECOND, DAY - SECOND])
async def test_a_scope_is_disabled_a_day_after_its_last_read_and_not_a_second_earlier(after: timedelta) -> None:
    async with opened() as bench:
        await bench.reading("web")
        await read_at(bench, "web", NOON + after)
        await bench.plane.advance(NOON + after + DAY - SECOND)
        assert bench.scope("web").enabled_at == NOON
        await bench.plane.advance(NOON + after + DAY)
        assert bench.scope("web").enabled_at is None
        assert bench.story()[-2] == ("ScopeDisabled", NOON + after + DAY)


async def test_a_read_at_the_very_last_instant_comes_too_late() -> None:
    async with opened() as bench:
        await bench.reading("web")
        await bench.plane.advance(NOON + DAY)
        bench.reads("web")
        await bench.plane.advance(NOON + 2 * DAY)
        assert bench.scope("web").enabled_at is None


async def test_any_vm_of_the_scope_keeps_it_alive() -> None:
    async with opened() as bench:
        await bench.create("web-0", "web-1", spec=FRONT)
        await bench.plane.enable(bench.plane.region.vms["web-0"])
        await read_at(bench, "web-1", NOON + 20 * HOUR)
        await bench.plane.advance(NOON + 44 * HOUR - SECOND)
        assert bench.scope("web-0").enabled_at == NOON


async def test_of_many_reads_the_journal_hears_at_most_once_an_hour() -> None:
    async with opened() as bench:
        await bench.reading("web")
        await read_at(bench, "web", *(NOON + number * MINUTE for number in range(1, 301)))
        told = journaled(bench)
        assert 3 <= len(told) <= 5
        assert all(later - earlier >= HOUR for earlier, later in pairwise(told))


async def test_a_command_that_overtakes_the_tick_does_not_disable_a_scope_that_reads() -> None:
    clock = TurnableClock(NOON)
    async with opened(clock=clock) as bench:
        await bench.reading("web")
        await read_at(bench, "web", NOON + 30 * MINUTE)
        clock.move_to(NOON + DAY)  # as a fast clock would: nobody has ticked yet
        await bench.create("other")
        assert bench.scope("web").enabled_at == NOON
        assert bench.scope("web").incarnation == 1


async def test_a_read_does_not_enable_what_is_not_enabled() -> None:
    async with opened() as bench:
        await bench.create("web")
        bench.reads("web")
        await bench.plane.advance(NOON + 3 * HOUR)
        assert bench.scope("web").enabled_at is None


async def test_the_read_of_a_vm_that_is_gone_is_forgotten() -> None:
    async with opened() as bench:
        await bench.reading("web")
        bench.reads("web")
        await bench.do(c.DeleteVms(("web",), "s"))
        await bench.plane.advance(NOON + 2 * DAY)
        assert len(bench.plane.region.scopes) == 0


async def test_an_orderly_end_keeps_the_latest_reads() -> None:
    async with opened() as bench:
        await bench.reading("web")
        await read_at(bench, "web", NOON + 10 * MINUTE)
    assert journaled(bench) == [NOON + 10 * MINUTE]
    async with opened(journal=bench.journal, clock=TurnableClock(NOON + 10 * MINUTE)) as again:
        await again.plane.advance(NOON + DAY + 10 * MINUTE - SECOND)
        assert again.scope("web").enabled_at == NOON
        await again.plane.advance(NOON + DAY + 10 * MINUTE)
        assert again.scope("web").enabled_at is None


async def test_after_a_crash_at_most_an_hour_of_reads_is_lost() -> None:
    async with opened() as bench:
        await bench.reading("web")
        await read_at(bench, "web", *(NOON + number * MINUTE for number in range(1, 200)))
        left = crashed(bench.journal)
    async with opened(journal=left, clock=TurnableClock(NOON + 200 * MINUTE)) as again:
        known = again.scope("web").last_read_at
        assert known is not None
        assert known >= NOON + 199 * MINUTE - 2 * HOUR
