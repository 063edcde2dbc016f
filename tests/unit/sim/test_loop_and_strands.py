"""Time that jumps, and threads that take turns."""

from __future__ import annotations

import asyncio
import contextvars
import queue
from datetime import UTC, datetime

import pytest

from forewarn.guest.system.parts import Queue
from forewarn.sim.fabric.loop import PLACE, SimLoop, Stuck
from forewarn.sim.fabric.strands import Process, SimThreads
from forewarn.sim.fabric.system import StrandClock

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_simulated_sleep_moves_the_simulated_clock_and_takes_no_real_time(loop: SimLoop) -> None:
    before = loop.time()
    loop.run_until_complete(asyncio.sleep(86_400))
    assert loop.time() == before + 86_400


def test_timers_come_in_the_order_of_their_time_and_then_of_their_making(loop: SimLoop) -> None:
    came: list[str] = []
    for seconds, name in ((2, "late"), (1, "first"), (1, "second")):
        loop.call_later(seconds, came.append, name)
    loop.run_until_complete(asyncio.sleep(3))
    assert came == ["first", "second", "late"]


def test_a_loop_in_which_nothing_can_happen_any_more_says_so(loop: SimLoop) -> None:
    with pytest.raises(Stuck):
        loop.run_until_complete(loop.create_future())


def test_the_tasks_of_a_place_can_be_abandoned(loop: SimLoop) -> None:
    ended: list[str] = []

    async def work(name: str) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append(name)

    for place in ("a", "b"):
        context = contextvars.copy_context()
        context.run(PLACE.set, place)
        loop.create_task(work(place), context=context)
    loop.run_until_complete(asyncio.sleep(1))
    loop.abandon("a")
    loop.run_until_complete(asyncio.sleep(1))
    assert ended == ["a"]


def test_what_blocks_in_an_executor_lets_the_others_run(loop: SimLoop) -> None:
    came: list[str] = []

    def block() -> str:
        loop.strands.sleep(10)
        came.append("blocked")
        return "done"

    async def both() -> object:
        loop.call_later(5, came.append, "other")
        return await loop.run_in_executor(None, block)

    assert loop.run_until_complete(both()) == "done"
    assert came == ["other", "blocked"]


def test_a_queue_wakes_who_waits_and_gives_up_in_time(loop: SimLoop) -> None:
    hub, heard = loop.strands, list[object]()
    inbox: Queue[str] = SimThreads(hub).queue()

    def work() -> None:
        heard.append(inbox.get(timeout=5))
        try:
            inbox.get(timeout=5)
        except queue.Empty:
            heard.append(hub.loop.time())

    before = loop.time()
    hub.start(Process("p"), "reader", work)
    loop.call_later(2, inbox.put, "news")
    loop.run_until_complete(asyncio.sleep(20))
    assert heard == ["news", before + 7]


def test_a_killed_process_does_nothing_more_not_even_in_its_finally(loop: SimLoop) -> None:
    hub, did = loop.strands, list[str]()
    process, clock = Process("p"), StrandClock(hub, lambda: NOON)

    def work() -> None:
        try:
            hub.sleep(100)
        finally:
            clock.monotonic()
            did.append("something")

    hub.start(process, "worker", work)
    loop.run_until_complete(asyncio.sleep(1))
    process.kill()
    loop.run_until_complete(asyncio.sleep(200))
    assert did == []
    assert hub.broken == []
    assert process.strands == {}


def test_a_frozen_process_goes_on_where_it_was_when_it_thaws(loop: SimLoop) -> None:
    hub, woke = loop.strands, list[float]()
    process = Process("p")

    def work() -> None:
        hub.sleep(10)
        woke.append(hub.loop.time())

    before = loop.time()
    hub.start(process, "worker", work)
    loop.run_until_complete(asyncio.sleep(5))
    process.freeze()
    loop.run_until_complete(asyncio.sleep(50))
    assert woke == []
    process.thaw()
    loop.run_until_complete(asyncio.sleep(1))
    assert woke == [before + 55]


def test_a_thread_that_breaks_is_noted(loop: SimLoop) -> None:
    hub = loop.strands

    def begin() -> None:
        def breaks() -> None:
            raise ValueError("broken")

        SimThreads(hub).start(breaks, "bad").join()

    hub.start(Process("p"), "main", begin)
    loop.run_until_complete(asyncio.sleep(1))
    assert [(strand.name, str(problem)) for strand, problem in hub.broken] == [("bad", "broken")]


def test_an_event_and_a_condition_tell_whether_they_came_in_time(loop: SimLoop) -> None:
    hub, told = loop.strands, list[object]()
    threads = SimThreads(hub)
    event, condition = threads.event(), threads.condition()

    def work() -> None:
        told.append(event.wait(1))
        told.append(event.wait(10))
        with condition:
            told.append(condition.wait(1))
            told.append(condition.wait(10))

    hub.start(Process("p"), "worker", work)
    loop.call_later(3, event.set)
    loop.call_later(6, condition.notify_all)
    loop.run_until_complete(asyncio.sleep(30))
    assert told == [False, True, False, True]
