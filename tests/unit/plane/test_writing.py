"""Commands in, facts on disk, and only then a new region for readers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import cast

import pytest

from forewarn.core import commands as c
from forewarn.core.facts import EventBornStarted
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Region
from forewarn.core.specs import VmSpec
from forewarn.plane.ports import JournalFault, Record
from tests.unit.plane.bench import MINUTE, NOON, OPERATOR, Bench, opened

pytestmark = pytest.mark.anyio


async def test_what_submit_returns_is_in_the_journal_and_published() -> None:
    async with opened() as bench:
        facts = await bench.do(c.CreateVms(("web",), VmSpec(), "s"))
        assert [record.fact for record in bench.journal.read(0, 10)] == list(facts)
        assert bench.plane.seq == bench.journal.head() == len(facts)
        assert "web" in bench.plane.region.vms


async def test_readers_see_nothing_that_is_not_on_disk() -> None:
    async with opened() as bench:
        seen: list[tuple[int, int]] = []
        bench.journal.before_commit = lambda: seen.append((len(bench.plane.region.vms), bench.plane.seq))
        await bench.create("web")
        assert seen == [(0, 0)]
        bench.journal.before_commit = lambda: None


async def test_a_command_that_comes_while_the_head_is_waited_for_joins_the_transaction() -> None:
    async with opened() as bench:
        waits, go_on = threading.Event(), threading.Event()

        def wait() -> None:
            waits.set()
            assert go_on.wait(30)

        bench.journal.before_head = wait
        writes = bench.journal.writes
        asked = [asyncio.ensure_future(bench.create("a"))]
        assert await asyncio.to_thread(waits.wait, 30)
        asked += [asyncio.ensure_future(bench.create(name)) for name in "bcd"]
        await asyncio.sleep(0)  # they are in line now
        go_on.set()
        await asyncio.gather(*asked)
        assert bench.journal.writes == writes + 1
        assert sorted(bench.plane.region.vms) == list("abcd")


async def test_a_journal_that_fails_is_the_answer_to_waiting_commands_and_not_to_later_ones() -> None:
    async with opened() as bench:
        late: list[asyncio.Future[None]] = []
        loop = asyncio.get_running_loop()
        asking = threading.Event()

        def ask() -> None:
            late.append(asyncio.ensure_future(bench.create("b")))
            loop.call_soon(asking.set)

        def fail() -> None:
            loop.call_soon_threadsafe(ask)
            assert asking.wait(30)

        bench.journal.failures, bench.journal.on_failure = 1, fail
        with pytest.raises(JournalFault):
            await bench.create("a")
        await late[0]
        assert list(bench.plane.region.vms) == ["b"]


async def test_records_say_who_asked_for_what() -> None:
    async with opened() as bench:
        await bench.create("web")
        (record, *_) = bench.journal.read(0, 1)
        assert (record.seq, record.command, record.origin) == (1, "CreateVms", OPERATOR)


async def test_listeners_hear_of_each_publication_with_what_was_written() -> None:
    async with opened() as bench:
        heard: list[tuple[int, list[int]]] = []

        def listen(region: Region, records: Sequence[Record]) -> None:
            assert bench.journal.head() >= (records[-1].seq if records else 0)
            assert region is bench.plane.region
            heard.append((len(region.vms), [record.seq for record in records]))

        stop = bench.plane.subscribe(listen)
        await bench.create("a")
        await bench.create("b")
        stop()
        await bench.create("c")
        assert heard == [(1, [1, 2]), (2, [3, 4])]


async def test_a_listener_that_raises_does_not_disturb_the_others() -> None:
    async with opened() as bench:
        heard: list[int] = []

        def fail(region: Region, records: Sequence[Record]) -> None:
            raise RuntimeError("a reader's own trouble")

        bench.plane.subscribe(fail)
        bench.plane.subscribe(lambda region, records: heard.append(len(records)))
        await bench.create("web")
        assert heard == [2]
        assert "web" in bench.plane.region.vms


async def test_a_refused_command_changes_nothing() -> None:
    async with opened() as bench:
        await bench.create("web")
        before = bench.plane.region, bench.plane.seq, bench.journal.head()
        with pytest.raises(Refused) as caught:
            await bench.create("web")
        assert caught.value.hint is Hint.CONFLICT
        assert (bench.plane.region.vms, bench.plane.seq, bench.journal.head()) == (before[0].vms, *before[1:])


async def test_commands_that_come_together_are_written_together() -> None:
    async with opened() as bench:
        writes = bench.journal.writes
        await asyncio.gather(*(bench.create(f"vm-{number}") for number in range(50)))
        assert bench.journal.writes == writes + 1
        assert len(bench.plane.region.vms) == 50


async def test_each_command_of_a_batch_sees_what_those_before_it_did() -> None:
    async with opened() as bench:
        await asyncio.gather(
            bench.create("web"),
            bench.do(c.RestartVms(("web",), "s")),
            bench.do(c.DeallocateVms(("web",))),
        )
        assert bench.plane.region.vms["web"].host is None


async def test_a_refused_command_of_a_batch_does_not_refuse_the_others() -> None:
    async with opened() as bench:
        answers = await asyncio.gather(
            bench.create("a"),
            bench.do(c.RestartVms(("nobody",), "s")),
            bench.create("b"),
            return_exceptions=True,
        )
        assert [isinstance(answer, Refused) for answer in answers] == [False, True, False]
        assert sorted(bench.plane.region.vms) == ["a", "b"]


async def test_a_command_that_raises_does_not_fail_the_others_of_its_batch() -> None:
    async with opened() as bench:
        nonsense = cast(c.Command, "no command at all")
        answers = await asyncio.gather(bench.create("a"), bench.do(nonsense), bench.create("b"), return_exceptions=True)
        assert isinstance(answers[1], AssertionError)
        assert sorted(bench.plane.region.vms) == ["a", "b"]


async def test_a_caller_who_gives_up_does_not_take_the_command_back() -> None:
    async with opened() as bench:
        asking = asyncio.create_task(bench.create("web"))
        await asyncio.sleep(0)
        asking.cancel()
        await bench.create("other")
        assert sorted(bench.plane.region.vms) == ["other", "web"]


# A journal that fails


async def fails_whole(bench: Bench, *, late: bool) -> None:
    await bench.create("web")
    before = bench.plane.region, bench.plane.seq, bench.journal.head()
    bench.journal.failures, bench.journal.late = 1, late
    answers = await asyncio.gather(bench.create("a"), bench.create("b"), return_exceptions=True)
    assert all(isinstance(answer, JournalFault) for answer in answers)
    assert (bench.plane.region, bench.plane.seq, bench.journal.head()) == before
    await bench.create("a")
    assert sorted(bench.plane.region.vms) == ["a", "web"]
    assert bench.plane.seq == bench.journal.head()


@pytest.mark.parametrize("late", [False, True])
async def test_when_the_journal_fails_nothing_has_changed_and_the_plane_goes_on(late: bool) -> None:
    async with opened() as bench:
        await fails_whole(bench, late=late)


async def test_an_event_id_survives_a_failed_attempt_and_comes_only_once() -> None:
    async with opened() as bench:
        await bench.reading("web")
        bench.journal.failures, bench.journal.late = 1, True
        command = c.RestartVms(("web",), "the same request")
        with pytest.raises(JournalFault):
            await bench.do(command)
        assert bench.plane.region.vms["web"].events == ()
        await bench.do(command)
        assert len(bench.plane.region.events) == 1


async def test_after_the_close_nothing_is_taken_any_more() -> None:
    async with opened() as bench:
        pass
    with pytest.raises(JournalFault, match="shutting down"):
        await bench.create("web")


async def test_what_was_asked_before_the_close_is_answered() -> None:
    async with opened() as bench:
        asked = [asyncio.create_task(bench.create(f"vm-{number}")) for number in range(20)]
        await asyncio.sleep(0)
    await asyncio.gather(*asked)
    assert bench.journal.head() == bench.plane.seq > 20


async def test_what_is_asked_during_the_close_is_answered_one_way_or_the_other() -> None:
    async with opened() as bench:
        asked = [asyncio.create_task(bench.create(f"vm-{number}")) for number in range(5)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    made = sum(not isinstance(answer, JournalFault) for answer in answers)
    assert len(bench.plane.region.vms) == made


async def test_a_command_has_one_now_and_time_never_goes_back() -> None:
    async with opened() as bench:
        await bench.create("web")
        await bench.plane.advance(NOON + MINUTE)
    async with opened(journal=bench.journal) as again:  # a clock that was set back to noon
        facts = await again.do(c.RestartVms(("web",), "s"))
        assert {fact.at for fact in facts} == {NOON + MINUTE}
        assert isinstance(facts[0], EventBornStarted)
