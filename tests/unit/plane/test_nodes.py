"""Several planes on one store: they hear of each other, and each knows when it is not current or may not decide."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from contextvars import Context
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.plane.agreement import Agreement
from forewarn.plane.clock import RealClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault, Node, Record, Uncertain
from forewarn.stores.memory import MemoryJournal
from forewarn.stores.shared_memory import SharedMemory
from tests.unit.plane.bench import HOUR, MINUTE, NOON, OPERATOR, SECOND, WatchedEngine
from tests.unit.plane.nodes_bench import House, create, journal_of, restart
from tests.waiting import until_in_loop

pytestmark = pytest.mark.anyio


# Following


async def test_what_one_node_writes_the_other_publishes_once() -> None:
    heard: list[int] = []

    def listen(_: Region, records: Sequence[Record]) -> None:
        heard.extend(record.seq for record in records)

    house = House()
    async with house.node() as one, house.node() as two:
        two.subscribe(listen)
        await create(one, "web-0")
        await create(one, "web-1")
        await until_in_loop(lambda: two.seq == one.seq)
        await create(two, "web-2")
        assert "web-1" in two.region.vms
        assert heard == list(range(1, two.seq + 1))


async def test_two_nodes_that_write_at_once_decide_on_the_same_region() -> None:
    house = House()
    async with house.node() as one, house.node() as two:
        await asyncio.gather(
            *(create(plane, f"web-{n}") for n in range(10) for plane in (one, two)), return_exceptions=True
        )
        await until_in_loop(lambda: one.seq == two.seq)
        assert set(one.region.vms) == set(two.region.vms) == {f"web-{n}" for n in range(10)}
        assert len(house.facts(f.VmCreated)) == 10


async def test_what_was_heard_in_a_write_that_failed_is_still_told() -> None:
    heard: list[str] = []

    def listen(_: Region, records: Sequence[Record]) -> None:
        heard.extend(record.fact.name for record in records if isinstance(record.fact, f.VmCreated))

    house = House()
    async with house.node() as one, house.node(staleness=HOUR) as two:
        two.subscribe(listen)
        journal = journal_of(two)
        real = journal.read
        journal.read = lambda after, limit: []  # type: ignore[method-assign]  # this one fails on demand
        await create(one, "web-0")
        journal.answers_lost = True
        with pytest.raises(Uncertain):
            await create(two, "web-1")
        journal.answers_lost, journal.read = False, real  # type: ignore[method-assign]  # this one fails on demand
        await create(two, "web-2")
        assert heard == ["web-0", "web-1", "web-2"]


async def test_a_write_whose_outcome_was_not_heard_is_taken_up_when_it_was_done() -> None:
    house = House()
    async with house.node() as only:
        journal_of(only).answers_lost = True
        with pytest.raises(Uncertain):
            await create(only, "web-0")
        journal_of(only).answers_lost = False
        await until_in_loop(lambda: "web-0" in only.region.vms)


# Being current


async def test_a_node_that_is_cut_off_says_so_in_time_and_is_current_again_afterwards() -> None:
    house = House()
    async with house.node() as one, house.node() as two:
        assert not two.standing.stale
        journal_of(two).cut_off = "The cable is out."
        await create(one, "web-0")
        await until_in_loop(lambda: bool(two.standing.stale))
        assert "not heard from its store for 0.2 s" in two.standing.stale
        assert "web-0" not in two.region.vms
        with pytest.raises(JournalFault, match="The cable is out"):
            await create(two, "web-1")
        journal_of(two).cut_off = ""
        await until_in_loop(lambda: not two.standing.stale)
        assert "web-0" in two.region.vms
        assert "web-1" not in one.region.vms


async def test_a_region_of_one_node_is_always_current(plane: Plane) -> None:
    assert plane.standing.stale == ""
    assert plane.standing.leads


async def test_a_refreshed_node_knows_what_was_written_before() -> None:
    house = House()
    async with house.node() as one, house.node(staleness=HOUR) as two:
        for number in range(20):
            await create(one, f"web-{number}")
            await two.refresh()
            assert f"web-{number}" in two.region.vms


async def test_a_node_that_cannot_be_refreshed_says_so_and_is_current_for_its_time() -> None:
    house = House()
    async with house.node() as one, house.node(staleness=HOUR) as two:
        journal_of(two).cut_off = "The cable is out."
        await create(one, "web-0")
        with pytest.raises(JournalFault, match="The cable is out"):
            await two.refresh()
        assert "web-0" not in two.region.vms
        assert two.standing.stale == ""


async def test_a_node_whose_store_has_gone_back_is_lost() -> None:
    house = House()
    async with house.node() as plane:
        await create(plane, "web-0")
        house.store.lose(1)
        await asyncio.wait_for(plane.standing.lost.wait(), 30)
        assert "has lost what this node has seen" in plane.standing.stale
        assert not plane.standing.leads


async def test_a_node_does_not_start_on_a_store_that_does_not_answer() -> None:
    journal = SharedMemory(lambda: NOON).join()
    plane = Plane.open(journal, RealClock, WatchedEngine(), Rules())
    journal.cut_off = "The cable is out."
    with pytest.raises(JournalFault, match="The cable is out"):
        await plane.start()
    await plane.close()


# Time


async def test_the_stores_clock_is_the_regions() -> None:
    house = House()
    async with house.node() as plane:
        await create(plane, "web-0")
        assert {fact.at for fact in house.facts(f.VmCreated)} == {NOON}
        assert NOON <= plane.now() < NOON + MINUTE
        house.now = NOON + HOUR
        await until_in_loop(lambda: plane.now() >= NOON + HOUR)


async def test_events_start_by_the_stores_clock() -> None:
    house = House()
    async with house.node() as plane:
        await create(plane, "web-0")
        await plane.enable(plane.region.vms["web-0"])
        await restart(plane, "web-0")
        house.now = NOON + 14 * MINUTE
        await until_in_loop(lambda: plane.now() >= NOON + 14 * MINUTE)
        assert not house.facts(f.EventStarted)
        house.now = NOON + 15 * MINUTE
        await until_in_loop(lambda: bool(house.facts(f.EventStarted)))
        assert [fact.at for fact in house.facts(f.EventStarted)] == [NOON + 15 * MINUTE]


async def test_reads_through_any_node_keep_a_scope_enabled() -> None:
    house = House()
    rules = Rules(disable_after=timedelta(seconds=4))  # so that a node looks twice a second
    async with house.node(rules) as one, house.node(rules) as two:
        await create(one, "web-0")
        await one.enable(one.region.vms["web-0"])
        await until_in_loop(lambda: two.seq == one.seq)
        house.now = NOON + timedelta(seconds=3.2)
        await until_in_loop(lambda: two.now() >= house.now)
        two.read_by("web-0")
        await until_in_loop(lambda: bool(house.facts(f.ScopeRead)))  # nobody has asked for it
        house.now = NOON + timedelta(seconds=5)
        await until_in_loop(lambda: one.now() >= house.now)
        await one.submit(c.Tick(), OPERATOR)
        assert not house.facts(f.ScopeDisabled)


# Editing


async def test_only_one_node_edits_at_a_time_and_it_sees_everything() -> None:
    house = House()
    async with house.node() as one, house.node(staleness=HOUR) as two:
        async with one.editing:
            with pytest.raises(JournalFault, match="Another node has been editing"):
                async with two.editing:
                    raise AssertionError
            await create(one, "web-0")
        async with two.editing:
            assert "web-0" in two.region.vms


async def test_an_editor_that_has_lost_the_lock_writes_nothing() -> None:
    house = House()
    async with house.node() as plane:
        async with plane.editing:
            journal_of(plane).holds = False
            with pytest.raises(JournalFault, match="kept other nodes from editing was lost"):
                await create(plane, "web-0")
            others = asyncio.create_task(create(plane, "web-1"), context=Context())
            await others  # who does not edit goes on
        journal_of(plane).holds = True
        assert set(plane.region.vms) == {"web-1"}


async def test_an_editor_that_gives_up_waiting_leaves_the_lock_to_others() -> None:
    house = House()
    house.store.patience_seconds = 30
    async with house.node() as one, house.node() as two:
        async with one.editing:
            waiting = asyncio.create_task(two.editing.__aenter__())
            await asyncio.sleep(0.05)
            waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with asyncio.timeout(10):
            for plane in (two, one):
                async with plane.editing:
                    pass


# Who is there


async def test_nodes_see_each_other_until_they_leave() -> None:
    house = House()
    async with house.node() as one:
        async with house.node() as two:
            one.membership.introduce("one", ("metadata",), ("http://one",))
            two.membership.introduce("two", ("control",), ())
            await until_in_loop(lambda: len(house.store.nodes) == 2)
            first, second = await one.membership.nodes()
            assert (first.name, first.faces, first.leads) == ("one", ("metadata",), True)
            assert (second.name, second.leads, second.rules) == ("two", False, first.rules)
            two.membership.drain()
            await until_in_loop(lambda: house.store.nodes[second.id].draining)
        assert [node.name for node in await one.membership.nodes()] == ["one"]


async def test_a_node_that_was_not_introduced_yet_is_not_announced_though_it_leads() -> None:
    house = House()
    async with house.node() as one:
        assert one.standing.leads
        async with house.node() as two:
            two.membership.introduce("two", ("control",), ())
            await until_in_loop(lambda: bool(house.store.nodes))
        assert [node.name for node in house.store.nodes.values()] == []
        assert one.membership.node.leads


# Rules


OTHER = Rules(update_domains=4)


async def test_a_node_with_other_rules_than_the_leaders_decides_nothing_and_both_say_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    house = House()
    async with house.node() as one:
        one.membership.introduce("one", (), ())
        await until_in_loop(lambda: bool(house.store.nodes))
        await create(one, "web")
        async with house.node(OTHER) as two:
            assert "other rules than one, which leads the region, and decides nothing" in two.standing.odds
            two.membership.introduce("two", (), ())
            await until_in_loop(lambda: "other rules than this one: two." in caplog.text)
            assert "other rules than this one: one." in caplog.text
            with pytest.raises(JournalFault, match=r"decides nothing\. .* Nothing was changed; ask another node"):
                await create(two, "lost")
            await create(one, "kept")
            await until_in_loop(lambda: "kept" in two.region.vms)
            assert (one.standing.odds, one.standing.leads, two.standing.leads, two.standing.willing) == (
                "",
                True,
                False,
                False,
            )
            assert sorted(two.region.vms) == ["kept", "web"]
        await until_in_loop(lambda: "All nodes go by the same rules again." in caplog.text)
        assert caplog.text.count("other rules than this one: two.") == 1


async def test_when_the_leader_has_gone_the_node_with_other_rules_takes_over() -> None:
    house = House()
    async with AsyncExitStack() as first:
        one = await first.enter_async_context(house.node())
        one.membership.introduce("one", (), ())
        await until_in_loop(lambda: bool(house.store.nodes))
        async with house.node(OTHER) as two:
            two.membership.introduce("two", (), ())
            assert two.standing.odds
            await first.aclose()
            await until_in_loop(lambda: two.standing.leads)
            await create(two, "web")


@pytest.mark.parametrize(
    ("what", "decides"),
    [
        ({}, False),
        ({"leads": False}, True),
        ({"version": "0.0.9"}, True),
        ({"rules": "ours"}, True),
        ({"seen_at": NOON - 11 * SECOND}, True),
        ({"id": "this"}, True),
    ],
)
def test_a_node_decides_nothing_while_a_leader_of_its_version_has_other_rules(
    what: dict[str, Any], decides: bool
) -> None:
    this = Node("this", "this", "1.0", (), (), "ours", NOON, NOON, 1, leads=False, draining=False)
    other = replace(this, id="other", name="other", rules="theirs", leads=True)
    odds = Agreement().look([this, replace(other, **what)], this)
    assert (odds == "") is decides


@pytest.fixture
async def plane() -> AsyncIterator[Plane]:
    made = Plane.open(MemoryJournal(), RealClock, WatchedEngine(), Rules())
    await made.start()
    yield made
    await made.close()
