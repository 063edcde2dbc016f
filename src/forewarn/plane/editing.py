"""A lock for read-modify-write, one for the whole region: changes that are laid over what was read before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import TracebackType
from typing import TypeVar, TypeVarTuple

from forewarn.plane.ports import JournalFault, Shared

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")
_Held = AbstractContextManager[Callable[[], bool]]

_holds: ContextVar[Callable[[], bool] | None] = ContextVar("holds", default=None)  # of the task that edits


class Editing:
    """The lock, held from the read to the write. Its holder sees everything that was written before it got the lock."""

    def __init__(self, shared: Shared | None, refresh: Callable[[], Awaitable[None]]) -> None:
        self._shared = shared
        self._refresh = refresh
        self._here = asyncio.Lock()
        self._everywhere: _Held | None = None
        self._thread: ThreadPoolExecutor | None = None

    async def __aenter__(self) -> None:
        await self._here.acquire()
        try:
            if self._shared is not None:
                self._everywhere = held = self._shared.editing()
                _holds.set(await self._enter(held))
                await self._refresh()
        except BaseException:
            await self._leave()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave()

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=False)

    def check(self) -> None:
        """Refuse the write of an editor that has lost its lock: another may be editing by now."""
        holds = _holds.get()
        if holds is not None and not holds():
            raise JournalFault("The connection that kept other nodes from editing was lost. Nothing was changed.")

    async def _leave(self) -> None:
        held, self._everywhere = self._everywhere, None
        _holds.set(None)
        try:
            if held is not None:
                await self._to_its_end(held.__exit__, None, None, None)
        finally:
            self._here.release()

    async def _enter(self, held: _Held) -> Callable[[], bool]:
        """Acquire the store's lock. A caller that fails, or is canceled while it waits, holds nothing."""
        try:
            return await self._to_its_end(held.__enter__)
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._everywhere = None
            raise

    async def _to_its_end(self, work: Callable[[*_Ts], _T], *args: *_Ts) -> _T:
        """Run in a thread. A caller that is canceled still waits for the end: the lock must not be left half taken."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "forewarn-editing")
        working = asyncio.get_running_loop().run_in_executor(self._thread, work, *args)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            await asyncio.wait([working])
            if working.exception() is not None:
                self._everywhere = None
            raise
