"""A plane that ends, in order or not, and another on the same journal: nothing is lost and nothing doubled."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.invariants import region as invariants
from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.region import Region, replace
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.plane.clock import TurnableClock
from forewarn.plane.snapshots import Snapshots
from tests.unit.plane.bench import HOUR, MINUTE, NOON, Bench, ShakyJournal, crashed, opened

pytestmark = pytest.mark.anyio
FRONT = VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="front")


async def lived_in(bench: Bench) -> None:
    await bench.reading("web-0", "web-1", spec=FRONT)
    await bench.create("quiet")
    await bench.approve(await bench.restart("web-0"))
    await bench.do(c.StartCampaign("C1", Cause.REDEPLOY))
    await bench.plane.advance(NOON + 12 * MINUTE)
    await bench.restart("web-1")


def same(one: Region, other: Region) -> bool:
    return replace(one, agenda=other.agenda) == other


async def test_an_orderly_end_leaves_a_snapshot_of_everything() -> None:
    async with opened() as bench:
        await lived_in(bench)
    region, seq = bench.journal.load()
    assert seq == bench.journal.head()
    assert same(region, bench.plane.region)


async def test_from_the_snapshot_and_from_the_facts_the_same_region_comes() -> None:
    async with opened() as bench:
        await lived_in(bench)
        left = crashed(bench.journal)
    assert left.load() == (Region(), 0)
    clock = TurnableClock(bench.plane.now())
    async with opened(journal=left, clock=clock) as from_facts:
        assert from_facts.plane.seq == bench.plane.seq
        assert same(from_facts.plane.region, bench.plane.region)
        assert next_deadline(from_facts.plane.region) == next_deadline(bench.plane.region)


async def test_a_region_that_crashes_every_minute_has_the_same_history_as_one_that_does_not() -> None:
    async with opened() as steady:
        await lived_in(steady)
        await steady.plane.advance(NOON + 2 * HOUR)
        expected = [story for story in steady.story() if story[0] != "ClockMoved"]
    async with opened() as bench:
        await lived_in(bench)
        journal = crashed(bench.journal)
    for minute in range(13, 121):
        async with opened(journal=journal, clock=TurnableClock(NOON + (minute - 1) * MINUTE)) as bench:
            await bench.plane.advance(NOON + minute * MINUTE)
            journal = crashed(bench.journal)
    assert [story for story in bench.story() if story[0] != "ClockMoved"] == expected


async def test_snapshots_are_kept_on_the_way_and_one_that_fails_loses_nothing() -> None:
    journal = ShakyJournal()
    async with opened(journal=journal) as bench:
        journal.snapshot_failures = 1
        await bench.create(*(f"vm-{number}" for number in range(20_001)))
        while journal.snapshot_failures:
            await bench.do(c.Tick())
        while journal.load()[1] == 0:
            await bench.do(c.Tick(moved=True))
        assert journal.load()[1] > 20_000


class _Shelf(ShakyJournal):
    """Knows which snapshots it has kept."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[int] = []

    def snapshot(self, region: Region, seq: int) -> None:
        super().snapshot(region, seq)
        self.kept.append(seq)


async def test_however_much_happens_while_a_clock_is_turned_one_snapshot_at_its_end_holds_it() -> None:
    journal, names = _Shelf(), tuple(f"vm-{number}" for number in range(5_000))
    async with opened(journal=journal) as bench:
        await bench.create(*names)
        await bench.do(c.Pulse(tuple((name, NOON) for name in names)))
        await bench.do(
            c.MaintainHosts(tuple(host.name for host in bench.plane.region.hosts.values()), Cause.FREEZE, "M")
        )
        before = bench.plane.seq
        await bench.plane.advance(NOON + HOUR)
        turned = bench.plane.seq
    assert before < 20_000 < turned - 5_000  # facts after which one is kept
    assert journal.kept[0] == turned


async def test_a_snapshot_is_not_put_off_for_ever() -> None:
    journal = _Shelf()
    snapshots = Snapshots(journal, 0, every=10)
    async with opened(journal=journal) as bench:
        await bench.create(*(f"vm-{number}" for number in range(60)))
        region = Region()
        with snapshots.put_off():
            snapshots.consider(region, 50)
            snapshots.consider(region, 51)
            await snapshots.close(region, 51)
        assert journal.kept == [51]


async def test_of_many_vms_as_many_facts_are_enough_also_while_a_clock_is_turned() -> None:
    journal = _Shelf()
    snapshots = Snapshots(journal, 0, every=10)
    async with opened(journal=journal) as bench:
        await bench.create(*(f"vm-{number}" for number in range(60)))
        with snapshots.put_off():
            snapshots.consider(bench.plane.region, 60)
            snapshots.consider(bench.plane.region, 61)
            await snapshots.close(bench.plane.region, 61)
        assert journal.kept == [61]


async def test_time_that_a_fast_clock_ran_is_not_lived_again() -> None:
    clock = TurnableClock(NOON)
    async with opened(clock=clock) as bench:
        await bench.create("web")
        clock.move_to(NOON + HOUR)  # as it would have run by itself, with nothing happening
    assert bench.journal.load()[0].latest_at == NOON + HOUR


async def test_a_second_writer_sees_what_the_first_has_written() -> None:
    journal = ShakyJournal()
    async with opened(journal=journal) as first:
        await first.create("web")
        async with opened(journal=journal) as second:
            await second.create("db")
            await first.create("cache")
            assert sorted(first.plane.region.vms) == ["cache", "db", "web"]
            await second.do(c.Tick())
            assert same(second.plane.region, first.plane.region)
    invariants.check(first.plane.region)


async def test_the_story_can_be_told_from_the_journal() -> None:
    async with opened() as bench:
        await bench.reading("web")
        event_id = await bench.restart("web")
        await bench.plane.advance(NOON + HOUR)
        told = [(type(record.fact).__name__, record.origin.door) for record in bench.journal.about(event_id, 100)]
        assert told == [
            ("EventScheduled", "operator"),
            ("EventStarted", "clock"),
            ("ImpactBegan", "driver"),
            ("ImpactEnded", "clock"),
            ("EventCompleted", "clock"),
        ]
