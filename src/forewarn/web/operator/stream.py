"""The journal as server-sent events.

A publication only wakes the stream; what it sends it reads from the journal by its own cursor. So nothing is missed or
sent twice, whatever happens between two reads, and for a slow client nothing is kept in memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Annotated, Any, TypeAlias

from fastapi import Header
from fastapi.responses import StreamingResponse
from starlette.types import Send

from forewarn.core.region import Region
from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault, Record
from forewarn.web.operator.records import record_fields

KEEP_ALIVE_SECONDS = 15.0  # as the HTML standard advises for server-sent events behind proxies
_AT_ONCE = 200  # ours: records made into text on the loop, where others wait

LastEventId: TypeAlias = Annotated[
    str, Header(max_length=20, description="What a browser sends when it comes back.", examples=["56"])
]

_log = logging.getLogger(__name__)


class Streams:
    """The open streams of one app. A server that stops waits for its connections, so it ends the streams first."""

    def __init__(self) -> None:
        self.closed = False
        self._wakers: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._wakers)

    def close(self) -> None:
        """Let each stream send the batch it is at, and end: a client that comes back goes on from its last id."""
        self.closed = True
        for wake in tuple(self._wakers):
            wake()

    def join(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._wakers.append(wake)
        return lambda: self._wakers.remove(wake)


async def follow(
    plane: Plane, after: int, streams: Streams, keep_alive_seconds: float = KEEP_ALIVE_SECONDS
) -> AsyncGenerator[Sequence[Record], None]:
    """The records after ``after`` in batches, as they are published; an empty batch is for a keep-alive comment."""
    woken = asyncio.Event()

    def wake(_region: Region, _records: Sequence[Record]) -> None:
        woken.set()

    leave = (plane.subscribe(wake), streams.join(woken.set))
    try:
        while True:
            woken.clear()
            if after < plane.seq:
                records = await asyncio.to_thread(plane.journal.read, after, min(_AT_ONCE, plane.seq - after))
                after = records[-1].seq
                yield records
            elif not streams.closed and not await happens(woken, keep_alive_seconds):
                yield ()
            if streams.closed:
                return
    finally:
        for each in leave:
            each()


async def happens(event: asyncio.Event, within_seconds: float) -> bool:
    """Whether the event is set within so many seconds."""
    try:
        async with asyncio.timeout(within_seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


async def server_sent(batches: AsyncGenerator[Sequence[Record], None]) -> AsyncGenerator[bytes, None]:
    """Batches as text. A journal that cannot be read ends the stream; the client comes back with its last id."""
    yield b": the journal of a forewarn region\n\n"
    async with aclosing(batches):
        try:
            async for batch in batches:
                lines = [f"id: {record.seq}\ndata: {record_fields(record).model_dump_json()}\n\n" for record in batch]
                yield "".join(lines or [": still here\n\n"]).encode()
        except JournalFault as fault:
            _log.warning("A stream of the journal ended early: %s", fault)


class EventStream(StreamingResponse):
    """A streaming response that closes its source itself, rather than leaving that to the garbage collector."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncGenerator[bytes, None]) -> None:
        super().__init__(content, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._content = content

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._content):
            await super().stream_response(send)


def stream_responses(example: str, told: str) -> dict[int | str, dict[str, Any]]:
    """A stream in the OpenAPI document."""
    return {
        200: {"content": {"text/event-stream": {"example": example}}, "description": told},
        "default": {
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}},
            "description": "Refused or failed; nothing has changed.",
        },
    }


def returned_from(last_event_id: str) -> int | None:
    """The number that a browser sends when it comes back; None where it sends nothing that is a number."""
    return int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else None
