"""Hints that something has changed: bounded, made once for all, summed up for whoever comes back."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Any, get_args

import pytest

from forewarn.core.facts import EventCompleted, Fact
from forewarn.plane.ports import Origin, Record
from forewarn.web.operator.app import end_streams
from forewarn.web.operator.live.changes import MOST_SUMMED, Changes, hints
from forewarn.web.operator.live.subjects import MOST_SUBJECTS, NAMERS, Subjects
from forewarn.web.operator.stream import Streams
from tests.unit.web.operator.test_stream import Listening, Unreadable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.unit.web.operator.conftest import Bench, OpenBench

pytestmark = pytest.mark.anyio
_PATH = "/v1/changes/stream"


def _changes(bench: Bench) -> Changes:
    found: Changes = bench.app.state.desk.changes
    return found


async def _line(stream: AsyncGenerator[bytes, None]) -> bytes:
    """The next hint as it is sent; comments are passed over."""
    while (line := await anext(stream)).startswith(b":"):
        pass
    return line


def _data(line: bytes) -> dict[str, Any]:
    number, data = line.decode().rstrip("\n").split("\n")
    found: dict[str, Any] = json.loads(data.removeprefix("data: "))
    assert number == f"id: {found['seq']}"
    return found


async def _next(stream: AsyncGenerator[bytes, None]) -> dict[str, Any]:
    return _data(await _line(stream))


async def _hints_until(stream: AsyncGenerator[bytes, None], seq: int) -> list[dict[str, Any]]:
    found = [await _next(stream)]
    while found[-1]["seq"] < seq:
        found.append(await _next(stream))
    return found


async def test_a_hint_names_what_a_request_changed_and_tells_the_clock(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")
    await bench.read("web-0")
    async with aclosing(hints(_changes(bench), bench.plane.seq, Streams())) as stream:
        first = await _next(stream)
        (event,) = (await bench.post("/v1/vms/restart", {"names": ["web-1"]}, 202))["events"]
        told = (await _hints_until(stream, bench.plane.seq))[-1]

    assert (first["subjects"], first["more"], first["events"]) == (["clock", "faults"], False, 0)
    assert set(told) == {"seq", "at", "clock", "subjects", "more", "faults", "events", "portal"}
    assert {f"event/{event['id']}", "availability-set/front", "vm/web-1"} <= set(told["subjects"])
    assert "vm/web-0" not in told["subjects"]
    assert (told["more"], told["events"], told["at"]) == (False, 1, "2026-01-01T12:00:00Z")
    assert told["clock"] == await bench.get("/v1/clock")


async def test_the_stream_is_server_sent_events_over_http(bench: Bench) -> None:
    listening = Listening(bench.app, path=_PATH)
    head = await listening.opened()
    await bench.create("lone")
    found = await listening.records(2)

    headers = dict(head["headers"])
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assert headers[b"cache-control"] == b"no-store"
    assert set(found[-1]["subjects"]) == {"vm/lone", "host/host-0"}
    listening.leave()
    await listening.done
    assert len(_changes(bench)) == 0


async def test_everything_that_shows_a_change_is_named(bench: Bench) -> None:
    await bench.post("/v1/scale-sets", {"name": "pool", "capacity": 2}, 201)
    await bench.create("web", availability_set="front")
    await bench.read("web")
    async with aclosing(hints(_changes(bench), bench.plane.seq, Streams())) as stream:
        await _next(stream)

        async def after(path: str, body: Any, status: int) -> set[str]:
            before = bench.plane.seq
            await bench.post(path, body, status)
            await bench.settled()
            assert bench.plane.seq > before
            told = await _hints_until(stream, bench.plane.seq)
            assert not any(hint["more"] for hint in told)
            return {name for hint in told for name in hint["subjects"]}

        named = await after("/v1/vms/stop", {"names": ["pool_1"]}, 202)
        assert {"vm/pool_1", "placement-group/pool~0", "scale-set/pool"} <= named
        named = await after("/v1/hosts/maintain", {"hosts": ["host-0"], "kind": "freeze"}, 202)
        assert "host/host-0" in named
        assert any(name.startswith("event/") for name in named)
        named = await after("/v1/campaigns", {"kind": "freeze", "hosts": ["host-0"], "hosts_at_once": 1}, 201)
        assert any(name.startswith("campaign/") for name in named)
        named = await after("/v1/clock/advance", {"seconds": 3600}, 200)
        assert {"clock", "availability-set/front", "vm/web"} <= named
        await after("/v1/vms/redeploy", {"names": ["pool_0"]}, 202)
        named = await after("/v1/clock/advance", {"seconds": 3600}, 200)
        assert len([name for name in named if name.startswith("host/")]) == 2


async def test_fault_rules_and_the_speed_of_the_clock_are_told_though_no_journal_knows(bench: Bench) -> None:
    await bench.create("web")
    async with aclosing(hints(_changes(bench), bench.plane.seq, Streams())) as stream:
        await _next(stream)
        await bench.post("/v1/faults", {"kind": "gone", "times": 3}, 201)
        ruled = await _next(stream)
        await bench.post("/v1/clock/speed", {"speed": 60})
        turned = await _next(stream)
        await bench.post("/v1/clock/speed", {"speed": 0})

    assert (ruled["subjects"], ruled["faults"]) == (["faults"], 1)
    assert (turned["subjects"], turned["clock"]["speed"]) == (["clock"], 60)
    assert ruled["seq"] == turned["seq"] == bench.plane.seq


async def test_thousands_of_facts_are_few_short_lines_and_the_last_one_reaches_the_end(bench: Bench) -> None:
    changes, loop = _changes(bench), asyncio.get_running_loop()
    long = "n" * 70
    async with aclosing(hints(changes, bench.plane.seq, Streams())) as stream:
        await _next(stream)
        began = loop.time()
        creating = asyncio.gather(*(bench.create(f"{long}{number}-", count=200) for number in range(20)))
        lines = [await _line(stream)]
        while _data(lines[-1])["seq"] < 4000:
            lines.append(await _line(stream))
        await creating
        await bench.create("last")
        while _data(lines[-1])["seq"] < bench.plane.seq:
            lines.append(await _line(stream))
        took = loop.time() - began

    assert bench.plane.seq >= 4000
    assert all(len(line) <= 4096 for line in lines)
    assert len(lines) <= took / 0.25 + 1
    told = [_data(line) for line in lines]
    assert any(hint["more"] for hint in told)
    assert all(len(hint["subjects"]) <= MOST_SUBJECTS for hint in told)


async def test_a_hint_is_made_once_for_all_who_listen(bench: Bench) -> None:
    changes, streams = _changes(bench), Streams()
    listening = [hints(changes, bench.plane.seq, streams) for _ in range(5)]
    for stream in listening:
        await _next(stream)
    await bench.create("web")

    lines = [await _line(stream) for stream in listening]

    assert {id(line) for line in lines} == {id(changes.latest.line)}
    for stream in listening:
        await stream.aclose()


async def test_where_nobody_listens_nothing_is_subscribed_and_nothing_made(bench: Bench) -> None:
    changes = _changes(bench)
    stream = hints(changes, bench.plane.seq, Streams())
    await _next(stream)
    await stream.aclose()
    before = changes.latest

    await bench.create("web", count=3)
    await bench.post("/v1/faults", {"kind": "gone"}, 201)

    assert len(changes) == 0
    assert changes.latest is before
    assert not changes._subjects


async def test_a_slow_reader_keeps_nothing_waiting_and_is_told_the_sum(bench: Bench) -> None:
    changes = Changes(bench.plane, bench.app.state.desk.faults, seconds_between=0)
    quick, slow = hints(changes, bench.plane.seq, Streams()), hints(changes, bench.plane.seq, Streams())
    await _next(slow)
    await _next(quick)
    for number in range(20):
        await bench.create(f"vm-{number}")
        await _hints_until(quick, bench.plane.seq)

    missed = await _next(slow)

    assert missed["seq"] == bench.plane.seq
    assert {f"vm/vm-{number}" for number in range(20)} <= set(missed["subjects"])
    for stream in (quick, slow):
        await stream.aclose()


async def test_a_browser_that_comes_back_is_told_what_changed_since(bench: Bench) -> None:
    await bench.create("before")
    known = bench.plane.seq
    await bench.create("after")

    listening = Listening(bench.app, path=_PATH, **{"last-event-id": str(known)})
    await listening.opened()
    (told,) = await listening.records(1)

    assert (told["seq"], told["more"]) == (bench.plane.seq, False)
    assert "vm/after" in told["subjects"]
    assert "vm/before" not in told["subjects"]
    listening.leave()
    await listening.done


async def test_a_page_says_by_which_record_it_was_made(bench: Bench) -> None:
    await bench.create("before")
    known = bench.plane.seq
    await bench.create("after")

    listening = Listening(bench.app, f"after={known}", path=_PATH)
    await listening.opened()
    (told,) = await listening.records(1)

    assert "vm/after" in told["subjects"]
    listening.leave()
    await listening.done


@pytest.mark.parametrize("after", [10**6, 0])
async def test_after_too_much_or_at_another_journal_anything_may_have_changed(bench: Bench, after: int) -> None:
    await bench.create("web", count=MOST_SUMMED)
    assert (await _sum(bench, after))["more"]


async def _sum(bench: Bench, after: int) -> dict[str, Any]:
    async with aclosing(hints(_changes(bench), after, Streams())) as stream:
        return await _next(stream)


async def test_where_the_journal_cannot_be_read_anything_may_have_changed(open_bench: OpenBench) -> None:
    async with open_bench(journal=Unreadable()) as bench:
        await bench.create("web", count=2)
        assert (await _sum(bench, 1))["more"]


async def test_an_event_that_is_gone_leaves_open_whom_it_touched(bench: Bench) -> None:
    region = bench.plane.region
    fact = EventCompleted(bench.plane.now(), "C3D1")
    subjects = Subjects()
    subjects.note([Record(1, fact, "Tick", Origin("clock"))], region, region)
    assert (list(subjects.names), subjects.more) == ([], True)


async def test_a_server_that_stops_ends_its_streams(bench: Bench) -> None:
    listening = Listening(bench.app, path=_PATH)
    await listening.opened()
    await listening.records(1)

    end_streams(bench.app)
    async with asyncio.timeout(timedelta(seconds=30).total_seconds()):
        await listening.done


async def test_a_silent_stream_shows_that_it_lives(bench: Bench) -> None:
    stream = hints(_changes(bench), bench.plane.seq, Streams(), keep_alive_seconds=0)
    await _next(stream)
    assert await anext(stream) == b": still here\n\n"
    await stream.aclose()


async def test_a_number_that_cannot_be_one_is_refused(bench: Bench) -> None:
    await bench.refused(400, "GET", _PATH, params={"after": -1})
    await bench.refused(400, "GET", _PATH, params={"form": 1})


async def test_a_new_kind_of_fact_says_whom_it_concerns() -> None:
    """A relay is told at once only of what concerns one of its VMs; a fact that names nothing comes to it late.

    Those that name nothing: operations and tokens stand in no document. Relays are told of every kept resource.
    """
    silent = {kind.__name__ for kind in get_args(Fact)} - {kind.__name__ for kind in NAMERS}
    assert silent == {
        "OperationStarted",
        "OperationEnded",
        "ResourceKept",
        "ResourceForgotten",
        "TokenMade",
        "TokenRevoked",
    }
