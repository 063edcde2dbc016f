"""The journal as server-sent events: nothing missed, nothing doubled, and a clean end."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from forewarn.plane.ports import JournalFault, Record
from forewarn.stores.memory import MemoryJournal
from forewarn.web.operator.app import end_streams
from forewarn.web.operator.stream import Streams, follow

if TYPE_CHECKING:
    from fastapi import FastAPI

    from tests.unit.web.operator.conftest import Bench, OpenBench

pytestmark = pytest.mark.anyio


class Listening:
    """A client of the stream, seen from the server's side of the socket."""

    def __init__(self, app: FastAPI, query: str = "", path: str = "/v1/journal/stream", **headers: str) -> None:
        self._sent: asyncio.Queue[Any] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._asked = False
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(b"host", b"localhost"), *((k.encode(), v.encode()) for k, v in headers.items())],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 16926),
        }
        self.done = asyncio.create_task(app(scope, self._receive, self._sent.put))

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def opened(self) -> dict[str, Any]:
        """The head of the answer; when the first comment has come, the stream is listening."""
        head: dict[str, Any] = await self._sent.get()
        assert (await self._sent.get())["body"].startswith(b":")
        return head

    async def records(self, count: int) -> list[dict[str, Any]]:
        """At least ``count`` records."""
        found: list[dict[str, Any]] = []
        while len(found) < count:
            found += self._read((await self._sent.get())["body"].decode())
        return found

    @staticmethod
    def _read(text: str) -> list[dict[str, Any]]:
        found = []
        for part in text.split("\n\n"):
            if part.startswith("id: "):
                number, data = part.split("\n")
                found.append(json.loads(data.removeprefix("data: ")))
                assert number == f"id: {found[-1]['seq']}"
        return found

    def leave(self) -> None:
        self._gone.set()


async def test_the_stream_catches_up_and_then_follows(bench: Bench) -> None:
    await bench.create("web", count=3)
    head = bench.plane.seq
    listening = Listening(bench.app, "after=1")

    answer = await listening.opened()
    old = await listening.records(head - 1)
    await bench.create("later")
    new = await listening.records(bench.plane.seq - head)

    headers = dict(answer["headers"])
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assert [record["seq"] for record in old + new] == list(range(2, bench.plane.seq + 1))
    assert old + new == (await bench.get("/v1/journal", after=1))["records"]
    listening.leave()
    await listening.done


async def test_without_a_cursor_the_stream_begins_now_and_a_returning_client_goes_on(bench: Bench) -> None:
    await bench.create("before")
    now, returning = Listening(bench.app), Listening(bench.app, "after=0", **{"last-event-id": "1"})
    await now.opened()
    await returning.opened()
    head = bench.plane.seq

    await bench.create("after")

    assert (await now.records(1))[0]["seq"] == head + 1
    assert (await returning.records(1))[0]["seq"] == 2
    for each in (now, returning):
        each.leave()
        await each.done


async def test_a_client_that_leaves_is_forgotten(bench: Bench) -> None:
    streams: Streams = bench.app.state.desk.streams
    listening = Listening(bench.app)
    await listening.opened()
    await bench.create("seen")
    await listening.records(1)
    assert len(streams) == 1

    listening.leave()
    await listening.done

    assert len(streams) == 0
    await bench.create("unseen")


async def test_a_server_that_stops_ends_its_streams_after_the_last_record(bench: Bench) -> None:
    await bench.create("web", count=3)
    end_streams(bench.app)
    answer = await bench.client.get("/v1/journal/stream", params={"after": 0})
    assert answer.text.count("\nid: ") + answer.text.startswith("id: ") == bench.plane.seq


async def test_a_server_that_stops_does_not_wait_for_a_client_to_catch_up(bench: Bench) -> None:
    await bench.create("web", count=500)
    end_streams(bench.app)
    answer = await bench.client.get("/v1/journal/stream", params={"after": 0})
    assert 0 < answer.text.count("id: ") < bench.plane.seq


async def test_an_open_stream_ends_when_the_server_stops(bench: Bench) -> None:
    listening = Listening(bench.app)
    await listening.opened()
    await bench.create("last")

    end_streams(bench.app)
    await listening.done

    assert (await listening.records(1))[-1]["seq"] == bench.plane.seq


async def test_a_slow_reader_misses_nothing_and_sees_nothing_twice(bench: Bench) -> None:
    streams = Streams()
    batches = follow(bench.plane, 0, streams)
    seen: list[int] = []
    await bench.create("first")
    seen += [record.seq for record in await anext(batches)]
    for number in range(20):
        await bench.create(f"vm-{number}")
        if number % 7 == 0:
            seen += [record.seq for record in await anext(batches)]
    while seen[-1] < bench.plane.seq:
        seen += [record.seq for record in await anext(batches)]
    streams.close()

    assert [batch async for batch in batches] == []
    assert seen == list(range(1, bench.plane.seq + 1))


async def test_a_silent_stream_shows_that_it_lives(bench: Bench) -> None:
    batches = follow(bench.plane, bench.plane.seq, Streams(), keep_alive_seconds=0)
    assert await anext(batches) == ()
    assert await anext(batches) == ()
    await batches.aclose()


async def test_a_cursor_beyond_the_end_is_refused(bench: Bench) -> None:
    await bench.create("lone")
    path = "/v1/journal/stream"
    await bench.refused(400, "GET", path, params={"after": 10**6})
    await bench.refused(400, "GET", path, headers={"Last-Event-ID": "99999"})
    await bench.refused(400, "GET", path, params={"after": -1})
    await bench.refused(400, "GET", path, params={"form": 1})


class Unreadable(MemoryJournal):
    """A journal that fails while it is read."""

    def read(self, after: int, limit: int) -> list[Record]:
        if after:
            raise JournalFault("the disk is gone")
        return super().read(after, limit)


async def test_a_journal_that_cannot_be_read_ends_the_stream(
    open_bench: OpenBench, anyio_backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bench(journal=Unreadable()) as bench:
        await bench.create("web", count=3)
        listening = Listening(bench.app, "after=1")
        await listening.opened()
        await listening.done
    assert "the disk is gone" in caplog.text
