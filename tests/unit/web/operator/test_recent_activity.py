"""The newest activity, of which every record is read once; beside a plain scan of the whole journal."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from forewarn.core import commands as c
from forewarn.plane.ports import Origin, Record
from forewarn.stores.memory import MemoryJournal
from forewarn.web.operator.history.activity import Book, Bounds, Wanted, activity_fields, runs_of
from forewarn.web.operator.history.recent import RecentRuns

if TYPE_CHECKING:
    from forewarn.web.operator.schema.answers import ActivityAnswer
    from tests.unit.web.operator.conftest import Bench, OpenBench

pytestmark = pytest.mark.anyio


class CountedJournal(MemoryJournal):
    """Knows how many records were read from it, but for what a plane reads."""

    def __init__(self) -> None:
        super().__init__()
        self.records_read = 0

    def read(self, after: int, limit: int) -> list[Record]:
        found = super().read(after, limit)
        self.records_read += len(found)
        return found


def scanned(bench: Bench, wanted: Wanted, limit: int) -> list[ActivityAnswer]:
    """Every record, from the first on."""
    plane = bench.plane
    book = Book(plane.region, plane.journal)
    runs = list(runs_of(plane.journal.read(0, plane.seq)))
    return [activity_fields([run], book) for run in runs if wanted.has(run, book)][-limit:]


def asked(bench: Bench, recent: RecentRuns, wanted: Wanted, limit: int) -> list[ActivityAnswer] | None:
    plane = bench.plane
    return recent.newest(plane.journal, Book(plane.region, plane.journal), wanted, plane.seq, limit)


QUESTIONS = [
    Wanted(),
    Wanted(door="operator"),
    Wanted(door="driver"),
    Wanted(about="WEB-3"),
    Wanted(about="vm/web-3"),
    Wanted(about="host-0"),
    Wanted(about="host/0"),
    Wanted(about="availability-set/front"),
    Wanted(door="operator", about="web-1"),
    Wanted(about="nobody"),
    Wanted(who="Web-0"),
    Wanted(who="nobody"),
]


@pytest.mark.parametrize("seed", range(3))
async def test_the_newest_lines_are_those_of_a_plain_scan_while_the_journal_grows(bench: Bench, seed: int) -> None:
    dice, recent = random.Random(seed), RecentRuns()
    await bench.create("web", count=8, availability_set="front")
    await bench.create("many", count=120)
    await bench.read("web-0")
    for step in range(25):
        match dice.randrange(4):
            case 0:
                await bench.create(f"more{step}", count=dice.randint(1, 5))
            case 1:
                await bench.client.post("/v1/vms/restart", json={"names": [f"web-{dice.randrange(8)}"]})
            case 2:
                await bench.post("/v1/clock/next", {})
            case _:
                await bench.read(f"web-{dice.randrange(8)}")
        for wanted in dice.sample(QUESTIONS, 3):
            limit = dice.choice([1, 3, 40])
            assert asked(bench, recent, wanted, limit) == scanned(bench, wanted, limit)


async def test_a_request_that_goes_on_after_it_was_shown_stays_one_line(bench: Bench) -> None:
    recent, origin = RecentRuns(), Origin("resource-manager", "az", "one-request")
    await bench.create("web", count=3)
    for name in ("web-0", "web-1", "web-2"):
        await bench.plane.submit(c.StopVms((name,)), origin)
        found = asked(bench, recent, Wanted(), 5)
        assert found == scanned(bench, Wanted(), 5)
    assert found is not None
    assert [line.about_total for line in found] == [3, 3]


async def test_a_page_reads_what_is_new_and_nothing_twice(open_bench: OpenBench) -> None:
    journal = CountedJournal()
    async with open_bench(journal=journal) as bench:
        await bench.create("web", count=500)
        for number in range(300):
            await bench.create(f"lone{number}")

        async def records_for(**query: Any) -> int:
            before = journal.records_read
            await bench.get("/v1/activity", **query)
            return journal.records_read - before

        await bench.create("last")
        each = bench.plane.seq - (await bench.get("/v1/activity", limit=1))["activity"][0]["first_seq"] + 1
        assert await records_for(limit=10) <= 6 * 10 * each  # a portion for ten lines, and the lines
        assert await records_for(limit=10) == 0
        await records_for(about="web-7")
        assert await records_for(about="web-7") == 0
        assert await records_for(about="web-8") == 0  # who has read of one has read of all

        before = bench.plane.seq
        await bench.create("another")
        assert await records_for(limit=10) <= 2 * (bench.plane.seq - before)


async def test_where_little_is_found_a_bounded_part_of_the_journal_is_read(open_bench: OpenBench) -> None:
    journal = CountedJournal()
    async with open_bench(journal=journal) as bench:
        for number in range(60):
            await bench.create(f"vm{number}")
        recent, before = RecentRuns(Bounds(most=30)), journal.records_read

        assert asked(bench, recent, Wanted(about="vm0"), 5) == []
        assert journal.records_read - before <= 2 * 30
        assert asked(bench, recent, Wanted(about="vm59"), 5) == scanned(bench, Wanted(about="vm59"), 5) != []


async def test_of_a_request_that_goes_on_and_on_a_bounded_part_is_read(open_bench: OpenBench) -> None:
    journal = CountedJournal()
    async with open_bench(journal=journal) as bench:
        recent, origin = RecentRuns(Bounds(most=30)), Origin("resource-manager", "az", "one-request")
        await bench.create("web", count=60)
        for number in range(60):
            await bench.plane.submit(c.StopVms((f"web-{number}",)), origin)
            before = journal.records_read
            found = asked(bench, recent, Wanted(), 1)
            assert journal.records_read - before <= 3 * 30
        assert found is not None
        assert [line.text for line in found] == ["stop VMs"]


async def test_like_requests_and_an_older_look_are_left_to_the_scan(bench: Bench) -> None:
    recent = RecentRuns()
    await bench.create("web")
    plane, book, before = bench.plane, Book(bench.plane.region, bench.plane.journal), bench.plane.seq
    await bench.create("app")

    assert asked(bench, recent, Wanted(), 5) is not None
    assert asked(bench, recent, Wanted(fold=True), 5) is None
    assert recent.newest(plane.journal, book, Wanted(), before, 5) is None
