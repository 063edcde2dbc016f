"""Both clients behind one face, so that every story is told with both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, Protocol, TypeVar

from forewarn.guest import AsyncClient, Change, Client, Instance, Reading, Watcher
from forewarn.terms import Document

_T = TypeVar("_T")


class Guest(Protocol):
    """What a test does with either."""

    @property
    def client(self) -> Client | AsyncClient: ...

    def document(self) -> Document | None: ...

    def approve(self, *event_ids: str) -> None: ...

    def instance(self) -> Instance: ...

    def watch(self, watcher: Watcher | None = None) -> Iterator[Change]: ...

    def readings(self) -> Iterator[Reading]: ...

    def close(self) -> None: ...


class Waiting:
    """The one with sockets."""

    def __init__(self, endpoint: str | None, **options: Any) -> None:
        self.client = Client(endpoint, **options)
        self.document = self.client.document
        self.approve = self.client.approve
        self.instance = self.client.instance
        self.watch = self.client.watch
        self.readings = self.client.readings
        self.close = self.client.close


class OnLoop:
    """The one with asyncio, on a loop that runs while it is asked something."""

    def __init__(self, endpoint: str | None, **options: Any) -> None:
        self._runner = asyncio.Runner()
        self.client = AsyncClient(endpoint, **options)

    def document(self) -> Document | None:
        return self._runner.run(self.client.document())

    def approve(self, *event_ids: str) -> None:
        self._runner.run(self.client.approve(*event_ids))

    def instance(self) -> Instance:
        return self._runner.run(self.client.instance())

    def watch(self, watcher: Watcher | None = None) -> Iterator[Change]:
        return self._items(self.client.watch(watcher))

    def readings(self) -> Iterator[Reading]:
        return self._items(self.client.readings())

    def close(self) -> None:
        self._runner.run(self.client.close())
        self._runner.close()

    def _items(self, stream: AsyncIterator[_T]) -> Iterator[_T]:
        async def following() -> _T | None:
            return await anext(stream, None)

        while (item := self._runner.run(following())) is not None:
            yield item
