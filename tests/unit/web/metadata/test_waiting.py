"""Which scopes have news, and how a reader waits for it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from forewarn.core.commands import CancelEvents, DeleteVms, Tick
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.web.metadata.answering.waiting import WOKEN_AT_ONCE, Patience, Waiters, changed_scopes
from tests.unit.web.metadata.story import Story, records


def test_only_the_scopes_of_what_happened_have_news() -> None:
    story = Story()
    story.create("a", "b")
    story.create("c", spec=VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="s"))
    for name in ("a", "b", "c"):
        story.enable(name)
    first, second = story.restart("a"), story.restart("c")
    news = []
    for command in (
        CancelEvents((first,), "no"),
        CancelEvents((second,), "no"),
        DeleteVms(("b",), "seed"),
        Tick(),
    ):
        before = story.region
        facts = story.tell(command)
        news.append(changed_scopes(before, story.region, records(facts)))
    assert news == [{"vm/a"}, {"availability-set/s"}, {"vm/b"}, set()]


def test_starting_and_lapsing_are_news() -> None:
    story = Story()
    story.create("a")
    story.enable("a")
    event = story.restart("a")
    before = story.region
    facts = story.approve(event)
    assert changed_scopes(before, story.region, records(facts)) == {"vm/a"}
    story.wait(timedelta(days=3))
    before = story.region
    facts = story.tell(Tick())
    assert changed_scopes(before, story.region, records(facts)) == {"vm/a"}


def test_news_wakes_those_who_wait_for_it() -> None:
    async def story() -> list[bool]:
        waiters, patiences = Waiters(), [Patience(100), Patience(100)]
        tasks = [
            asyncio.create_task(patience.until_news(waiters, scope))
            for patience, scope in zip(patiences, ("a", "b"), strict=True)
        ]
        await asyncio.sleep(0)
        assert len(waiters) == 2
        waiters.wake({"a", "c"})
        await tasks[0]
        woken = [task.done() for task in tasks]
        patiences[1].end()
        await tasks[1]
        assert len(waiters) == 0
        return [*woken, *(patience.over for patience in patiences)]

    assert asyncio.run(story()) == [True, False, False, True]


def test_a_crowd_is_woken_some_at_a_time_and_others_have_their_turn_in_between() -> None:
    async def story() -> list[int]:
        waiters, count = Waiters(), 3 * WOKEN_AT_ONCE + 1
        tasks = [asyncio.create_task(Patience(100).until_news(waiters, f"s{number % 7}")) for number in range(count)]
        await asyncio.sleep(0)
        waiters.wake({f"s{number}" for number in range(7)})
        woken = []
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            woken.append(sum(task.done() for task in tasks))
        return [later - sooner for sooner, later in zip([0, *woken], woken, strict=False)]

    steps = asyncio.run(story())
    assert max(steps) == WOKEN_AT_ONCE
    assert sum(steps) == 3 * WOKEN_AT_ONCE + 1


def test_a_wait_ends_when_its_time_is_over() -> None:
    async def story() -> bool:
        patience = Patience(0.001)
        await patience.until_news(Waiters(), "a")
        return patience.over

    assert asyncio.run(story())
    assert Patience().over


def test_a_reader_that_goes_is_forgotten() -> None:
    async def story() -> int:
        waiters = Waiters()
        task = asyncio.create_task(Patience(100).until_news(waiters, "a"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return len(waiters)

    assert asyncio.run(story()) == 0
