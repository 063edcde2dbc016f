"""The client for asyncio.

It shares all decisions with ``client`` (``exchange``, sans I/O); only I/O and sleep are its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar, cast

from forewarn.guest.endpoint import Endpoint
from forewarn.guest.exchange import Action, AskDhcp, Exchange, Give, Lost, Outcome, Send, Sleep, TellFault
from forewarn.guest.faults import Closed
from forewarn.guest.http1 import BadResponse, Response, ResponseReader
from forewarn.guest.instance import Instance
from forewarn.guest.reading import Reading
from forewarn.guest.sans_io import SansIoClient
from forewarn.guest.system.standard import keep_alive
from forewarn.guest.watch import Change, Watcher
from forewarn.terms import Document

_T = TypeVar("_T")
_RECEIVE_BYTES = 65_536  # asyncio's own default limit of a stream reader
_MOST_IDLE = 2  # one for the reader that polls or waits, one for an approval
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncClient(SansIoClient):
    """Scheduled Events from inside the VM, on one loop. Tasks may use it at the same time."""

    _closed: bool
    _idle: list[tuple[Endpoint, _Streams]]
    _calls: set[asyncio.Task[Outcome]]

    # What it can do

    async def document(self) -> Document | None:
        """As ``Client.document``."""
        return await self._run(self._session.document())

    async def approve(self, *event_ids: str) -> None:
        """As ``Client.approve``."""
        await self._run(self._session.approve(event_ids))

    async def instance(self) -> Instance:
        """As ``Client.instance``."""
        return await self._run(self._session.instance())

    def watch(self, watcher: Watcher | None = None) -> AsyncIterator[Change]:
        """As ``Client.watch``."""
        stream = self._stream(self._session.changes(watcher or Watcher()))
        return cast(AsyncIterator[Change], stream)

    def readings(self) -> AsyncIterator[Reading]:
        """As ``Client.readings``."""
        return cast(AsyncIterator[Reading], self._stream(self._session.readings()))

    async def close(self) -> None:
        """Hang up, for good. Streams end, and calls that are under way with ``Closed``."""
        self._closed = True
        for call in self._calls:
            call.cancel()
        idle, self._idle = self._idle, []
        for _, (_, writer) in idle:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        if self._calls:
            await asyncio.wait(self._calls)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # How it does it

    def _set_up(self) -> None:
        self._closed = False
        self._idle = []
        self._calls = set()

    async def _run(self, exchange: Exchange[_T]) -> _T:
        outcome: Outcome = None
        while True:
            try:
                action = exchange.send(outcome)
            except StopIteration as end:
                return cast(_T, end.value)
            outcome = await self._do(action)

    async def _stream(self, exchange: Exchange[None]) -> AsyncIterator[object]:
        outcome: Outcome = None
        while True:
            action = exchange.send(outcome)
            outcome = None
            if isinstance(action, Give):
                yield action.item
                continue
            try:
                outcome = await self._do(action)
            except Closed:
                return

    async def _do(self, action: Action) -> Outcome:
        match action:
            case Send():
                return await self._unless_closed(self._send(action))
            case Sleep(seconds):
                return await self._unless_closed(asyncio.sleep(seconds))
            case AskDhcp(transaction):
                return await self._unless_closed(asyncio.to_thread(self._ask_dhcp, transaction))
            case TellFault():
                self._report(action)
            case Give():
                raise AssertionError("a single call gives nothing but its end")
        return None

    async def _unless_closed(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """A task of its own, so that ``close`` can end it without ending the caller's."""
        if self._closed:
            work.close()
            raise Closed
        call = asyncio.ensure_future(work)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        try:
            return await call
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if self._closed and caller is not None and not caller.cancelling():
                raise Closed from None
            raise

    async def _send(self, send: Send) -> Response | Lost:
        kept = self._take(send.endpoint)
        try:
            streams = kept or await _connect(send)
        except OSError as problem:
            return Lost.by(problem, send.connect_seconds)
        reader, response = ResponseReader(), None
        try:
            async with asyncio.timeout(send.answer_seconds):
                response = await _converse(streams, send, reader)
        except (OSError, BadResponse) as problem:
            return Lost.by(problem, send.answer_seconds, kept=kept is not None and not reader.begun)
        finally:
            self._give_back(send.endpoint, streams, keep=response is not None and response.reusable)
        return response

    def _take(self, endpoint: Endpoint) -> _Streams | None:
        while self._idle:
            place, streams = self._idle.pop()
            if place == endpoint:
                return streams
            streams[1].close()
        return None

    def _give_back(self, endpoint: Endpoint, streams: _Streams, *, keep: bool) -> None:
        if keep and not self._closed and len(self._idle) < _MOST_IDLE:
            self._idle.append((endpoint, streams))
        else:
            streams[1].close()


async def _connect(send: Send) -> _Streams:
    async with asyncio.timeout(send.connect_seconds):
        streams = await asyncio.open_connection(send.endpoint.host, send.endpoint.port)
    connection = streams[1].get_extra_info("socket")
    if connection is not None:  # a loop of somebody's own may have none
        keep_alive(connection.setsockopt)
    return streams


async def _converse(streams: _Streams, send: Send, reader: ResponseReader) -> Response:
    incoming, outgoing = streams
    outgoing.write(send.request.encode(send.endpoint.authority, send.endpoint.prefix))
    await outgoing.drain()
    while True:
        response = reader.feed(await incoming.read(_RECEIVE_BYTES))
        if response is not None:
            return response
