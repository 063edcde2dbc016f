"""Changes that are laid over what is seen: one at a time, in the whole region."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType

from forewarn.plane.ports import Shared


class Editing:
    """Held from the look to the write. Whoever holds it sees everything that was written before."""

    def __init__(self, shared: Shared | None, refresh: Callable[[], Awaitable[None]]) -> None:
        self._shared = shared
        self._refresh = refresh
        self._here = asyncio.Lock()
        self._everywhere: AbstractContextManager[None] | None = None

    async def __aenter__(self) -> None:
        await self._here.acquire()
        try:
            if self._shared is not None:
                self._everywhere = await _enter(self._shared.editing())
                await self._refresh()
        except BaseException:
            await self._leave()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave()

    async def _leave(self) -> None:
        held, self._everywhere = self._everywhere, None
        try:
            if held is not None:
                await _to_its_end(asyncio.to_thread(held.__exit__, None, None, None))
        finally:
            self._here.release()


async def _enter(held: AbstractContextManager[None]) -> AbstractContextManager[None]:
    """Take it, and give it back where nobody waits for it any more."""
    entering = asyncio.ensure_future(asyncio.to_thread(held.__enter__))
    try:
        await asyncio.shield(entering)
    except asyncio.CancelledError:
        await asyncio.wait([entering])
        if not entering.cancelled() and entering.exception() is None:
            await asyncio.to_thread(held.__exit__, None, None, None)
        raise
    return held


async def _to_its_end(work: Awaitable[object]) -> None:
    """A caller that is canceled still waits for what must not be left half done."""
    working = asyncio.ensure_future(work)
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise
