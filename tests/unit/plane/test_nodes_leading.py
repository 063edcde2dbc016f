"""Of several planes on one store one leads: it begins each impact once, and another leads when it goes or freezes."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.plane.clock import elapsed
from forewarn.plane.ports import LEASE_SECONDS, JournalFault, News, Transaction
from forewarn.plane.system import ServerSystem
from tests.unit.plane.bench import NOON, OPERATOR
from tests.unit.plane.nodes_bench import House, create, journal_of, restart
from tests.waiting import until_in_loop

pytestmark = pytest.mark.anyio


async def test_one_node_leads_and_begins_each_impact_once() -> None:
    house = House()
    async with house.node() as one, house.node() as two, house.node() as three:
        assert [one.standing.leads, two.standing.leads, three.standing.leads] == [True, False, False]
        await create(three, "web-0", "web-1")
        events = {await restart(three, "web-0"), await restart(two, "web-1")}
        await until_in_loop(lambda: len(house.facts(f.ImpactBegan)) == 2)
        assert sorted(house.begun) == sorted(events)
        assert house.engines[1].begun == house.engines[2].begun == []


async def test_the_next_leader_takes_up_what_the_last_one_left() -> None:
    house = House()
    async with house.node() as one, house.node() as two:
        house.engines[0].failures = 1_000_000
        await create(two, "web-0")
        event_id = await restart(two, "web-0")
        journal_of(one).cut_off = "The cable is out."
        house.store.depose()
        await until_in_loop(lambda: two.standing.leads and not one.standing.leads)
        await until_in_loop(lambda: bool(house.facts(f.ImpactBegan)))
        assert house.engines[1].begun[0][0] == event_id
        journal_of(one).cut_off = ""


async def test_a_frozen_leader_is_replaced_and_steps_back_when_it_wakes() -> None:
    house = House()
    async with house.node() as one, house.node() as two:
        real = journal_of(one).await_news
        awake = threading.Event()

        def sleep(after: int, seconds: float, *, willing: bool) -> News:
            awake.wait(30)
            return real(after, seconds, willing=willing)

        journal_of(one).await_news = sleep  # type: ignore[method-assign]  # this one fails on demand
        house.now = NOON + timedelta(seconds=11)
        await until_in_loop(lambda: two.standing.leads)
        await until_in_loop(lambda: bool(one.standing.stale))
        awake.set()
        await until_in_loop(lambda: not one.standing.stale)
        assert (one.standing.leads, two.standing.leads) == (False, True)


async def test_a_leader_that_hears_nothing_stops_leading_before_the_next_one_begins() -> None:
    house, passed = House(), [0.0]
    async with house.node(system=ServerSystem(elapsed=lambda: elapsed() + passed[0])) as only:
        assert only.standing.leads
        journal_of(only).cut_off = "The cable is out."
        passed[0] = LEASE_SECONDS
        assert not only.standing.leads


async def test_an_impact_whose_record_may_have_been_kept_is_begun_once() -> None:
    house = House()
    async with house.node() as only:
        journal = journal_of(only)
        await create(only, "web-0")
        house.engines[0].on_begin = lambda _: setattr(journal, "answers_lost", True)
        event_id = await restart(only, "web-0")
        await until_in_loop(lambda: bool(house.facts(f.ImpactBegan)))
        journal.answers_lost = False
        await until_in_loop(lambda: only.region.events[event_id].impact_began_at is not None)
        await only.submit(c.Tick(), OPERATOR)
        assert house.begun == [event_id]


async def test_a_write_that_fails_does_not_keep_a_node_from_hearing() -> None:
    house = House()
    async with house.node() as one, house.node() as two:
        journal = journal_of(two)
        journal.write = _full  # type: ignore[method-assign, assignment]  # this one fails on demand
        failing = [asyncio.ensure_future(create(two, f"no-{n}")) for n in range(50)]
        await create(one, "web-0")
        await two.refresh()
        assert "web-0" in two.region.vms
        assert {type(each) for each in await asyncio.gather(*failing, return_exceptions=True)} == {JournalFault}


def _full() -> AbstractContextManager[Transaction]:
    raise JournalFault("The disk is full.")


async def test_a_node_that_drains_hands_the_lead_on_and_works_on() -> None:
    house = House()
    async with house.node() as one, house.node() as two:
        one.membership.drain()
        await until_in_loop(lambda: two.standing.leads and not one.standing.leads)
        await create(one, "web-0")
        await until_in_loop(lambda: "web-0" in two.region.vms)


async def test_a_node_that_closes_hands_the_lead_on() -> None:
    house = House()
    async with house.node() as two_later:
        async with house.node() as one:
            assert two_later.standing.leads
            assert not one.standing.leads
        assert two_later.standing.leads
    async with house.node() as three:
        await until_in_loop(lambda: three.standing.leads)
