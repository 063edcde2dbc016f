"""A loop in a thread, for tests that know nothing of loops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")

_PATIENCE_SECONDS = 60.0  # ours, of real time: what is asked here takes milliseconds


class LoopThread:
    """Runs coroutines for callers in other threads, one answer at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="forewarn region", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Wait for a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE_SECONDS)

    def call(self, work: Callable[[], _T]) -> _T:
        """The same for a plain call, for what may be touched on the loop only."""

        async def called() -> _T:
            return work()

        return self.run(called())

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
