"""Started events go to the engine, once they are on disk, and what it says comes back as facts."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.region import Event, Power
from forewarn.core.rules import Rules
from forewarn.plane.clock import TurnableClock
from tests.unit.plane.bench import MINUTE, NOON, SECOND, ShakyJournal, WatchedEngine, crashed, opened

pytestmark = pytest.mark.anyio


async def test_no_machine_is_touched_before_the_start_is_on_disk() -> None:
    engine, journal = WatchedEngine(), ShakyJournal()
    written: list[bool] = []

    def look(event: Event) -> None:
        written.append(any(record.command == "Approve" for record in journal.about(event.id, 100)))

    engine.on_begin = look
    async with opened(journal=journal, engine=engine) as bench:
        await bench.reading("web")
        event_id = await bench.restart("web")
        assert engine.begun == []
        await bench.approve(event_id)
        await bench.plane.advance(NOON + SECOND)
        assert engine.begun == [(event_id, NOON)]
        assert written == [True]


async def test_events_born_started_are_begun_too_all_in_one_transaction() -> None:
    engine = WatchedEngine()
    rules = Rules(update_domains=1, fault_domains=1)
    async with opened(engine=engine, rules=rules) as bench:
        await bench.create("a", "b", "c")
        writes = bench.journal.writes
        await bench.do(c.FailHosts(("host-0",), "s"))
        await bench.plane.advance(NOON)
        assert len(engine.begun) == 3
        assert bench.journal.writes == writes + 3  # the failure, the three beginnings, the turn of the clock


async def test_very_many_impacts_are_begun_in_portions_each_of_them_once() -> None:
    engine = WatchedEngine()
    most: list[int] = []
    async with opened(engine=engine) as bench:
        await bench.create(*(f"vm-{number}" for number in range(6_000)))
        bench.plane.subscribe(lambda _, records: most.append(len(records)))
        await bench.do(c.FailHosts(tuple(f"host-{number}" for number in range(len(bench.plane.region.hosts))), "s"))
        await bench.plane.advance(NOON + 2 * MINUTE)
        assert len({event_id for event_id, _ in engine.begun}) == len(engine.begun) == 6_000
        assert max(most[1:]) <= 7_000  # the failure itself was one command
        assert len(bench.plane.region.events) == 0


async def test_an_engine_that_cannot_tell_the_end_says_so_later() -> None:
    engine = WatchedEngine()
    engine.knows = False
    async with opened(engine=engine) as bench:
        await bench.reading("web")
        event_id = await bench.restart("web")
        await bench.approve(event_id)
        await bench.plane.advance(NOON + 20 * MINUTE)
        assert bench.plane.region.vms["web"].power is Power.RESTARTING
        await bench.do(c.EndImpact(event_id))
        await bench.plane.advance(NOON + 21 * MINUTE)
        assert len(bench.plane.region.events) == 0


async def test_an_engine_that_fails_is_asked_again() -> None:
    engine = WatchedEngine()
    async with opened(engine=engine) as bench:
        began = bench.expect(f.ImpactBegan)
        await bench.reading("web")
        event_id = await bench.restart("web")
        engine.failures = 1
        await bench.approve(event_id)
        await began.wait()
        assert engine.begun == [(event_id, NOON)]
        await bench.plane.advance(NOON + MINUTE)
        assert len(bench.plane.region.events) == 0


@pytest.mark.parametrize("late", [False, True])
async def test_a_beginning_that_could_not_be_recorded_is_recorded_later(late: bool) -> None:
    async with opened() as bench:
        began = bench.expect(f.ImpactBegan)
        await bench.reading("web")
        event_id = await bench.restart("web")

        def fail_next() -> None:
            bench.journal.before_commit = lambda: None
            bench.journal.failures, bench.journal.late = 1, late

        bench.journal.before_commit = fail_next  # the approval is written, what follows from it is not
        await bench.approve(event_id)
        await began.wait()
        await bench.plane.advance(NOON + MINUTE)
        assert bench.plane.region.vms["web"].boots == 2
        assert len(bench.plane.region.events) == 0


async def test_after_a_restart_started_events_without_an_impact_get_theirs() -> None:
    first = WatchedEngine()
    first.failures = 1_000_000
    async with opened(engine=first) as bench:
        await bench.reading("web")
        event_id = await bench.restart("web")
        await bench.approve(event_id)
        left = crashed(bench.journal)
    second = WatchedEngine()
    async with opened(journal=left, clock=TurnableClock(NOON + MINUTE), engine=second) as again:
        assert second.begun == [(event_id, NOON + MINUTE)]
        assert again.plane.region.vms["web"].power is Power.RESTARTING
        await again.plane.advance(NOON + 2 * MINUTE)
        assert len(again.plane.region.events) == 0


async def test_after_a_restart_impacts_that_have_begun_are_not_begun_again() -> None:
    async with opened() as bench:
        await bench.reading("web")
        await bench.approve(await bench.restart("web"))
        await bench.plane.advance(NOON + SECOND)
        left = crashed(bench.journal)
    engine = WatchedEngine()
    async with opened(journal=left, clock=TurnableClock(NOON + SECOND), engine=engine) as again:
        assert engine.begun == []
        await again.plane.advance(NOON + MINUTE)
        assert again.plane.region.vms["web"].boots == 2
        assert len(again.plane.region.events) == 0


async def test_a_new_start_makes_up_for_what_fell_due_meanwhile() -> None:
    async with opened() as bench:
        await bench.reading("web")
        await bench.restart("web")
        left = crashed(bench.journal)
    async with opened(journal=left, clock=TurnableClock(NOON + 20 * MINUTE)) as again:
        (event,) = again.plane.region.events.values()
        assert (event.started_at, event.impact_began_at) == (NOON + 20 * MINUTE, NOON + 20 * MINUTE)


async def test_an_impact_is_still_owed_when_the_retry_cannot_be_written() -> None:
    journal, engine = ShakyJournal(), WatchedEngine()
    async with opened(journal, engine=engine) as bench:
        await bench.create("web")
        failed = bench.expect_failure()
        done = bench.expect(f.ImpactBegan)
        engine.failures = 1
        journal.before_commit = lambda: _break(journal, engine)
        await bench.restart("web")
        await failed.wait()
        await done.wait()
        assert len(engine.begun) == 1


def _break(journal: ShakyJournal, engine: WatchedEngine) -> None:
    """The write after the one in which the engine failed."""
    journal.failures = engine.failures
    journal.before_commit = lambda: None


async def test_many_impacts_left_over_cost_one_transaction() -> None:
    first = WatchedEngine()
    first.failures = 1_000_000
    async with opened(engine=first) as bench:
        await bench.create(*(f"vm-{number}" for number in range(200)))
        await bench.do(c.MaintainHosts((), Cause.REBOOT, "s"))
        left = crashed(bench.journal)
    writes = left.writes
    async with opened(journal=left) as again:
        assert {vm.power for vm in again.plane.region.vms.values()} == {Power.RESTARTING}
        assert left.writes == writes + 2


async def test_a_store_that_fails_while_impacts_are_recorded_is_told_in_one_sentence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened() as bench:
        began = bench.expect(f.ImpactBegan)
        await bench.reading("web")
        event_id = await bench.restart("web")

        def fail_next() -> None:
            bench.journal.failures, bench.journal.before_commit = 1, lambda: None

        bench.journal.before_commit = fail_next
        await bench.approve(event_id)
        await began.wait()

    assert "Impacts could not be recorded, trying again in a moment: The disk is full; make room" in caplog.text
    assert [record.exc_info for record in caplog.records] == [None] * len(caplog.records)


async def test_a_snapshot_that_cannot_be_kept_is_told_in_one_sentence(caplog: pytest.LogCaptureFixture) -> None:
    async with opened() as bench:
        await bench.create("web")
        bench.journal.snapshot_failures = 1

    assert "the next start will take longer: There is no room for a snapshot." in caplog.text
    assert [record.exc_info for record in caplog.records] == [None] * len(caplog.records)
