"""A node among others: it takes up what they append, knows whether it is current, and leads when it holds the lease."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial

from forewarn.plane.ports import Diverged, Journal, JournalFault, News, Shared
from forewarn.plane.standing import Standing
from forewarn.plane.system import Pace, ServerSystem
from forewarn.plane.writing import Writing

_log = logging.getLogger(__name__)


class Follower:
    """Waits for news in a thread of its own.

    Each answer of the store proves that the node was current when it asked.
    """

    def __init__(
        self,
        journal: Journal,
        shared: Shared,
        writing: Writing,
        standing: Standing,
        agree: Callable[[datetime], None],
        system: ServerSystem,
        pace: Pace,
    ) -> None:
        self._journal = journal
        self._shared = shared
        self._writing = writing
        self._standing = standing
        self._agree = agree  # told what the store's clock says
        self._elapsed = system.elapsed
        self._retry_seconds = pace.retry_seconds
        self._refresh_seconds = pace.refresh_seconds
        self._glance_seconds = min(pace.glance_seconds, pace.staleness.total_seconds() / 4)
        self._thread = ThreadPoolExecutor(1, "forewarn-follower")
        self._eyes = ThreadPoolExecutor(1, "forewarn-glance")  # a thread of its own: no long work delays a short look
        self._glancing: asyncio.Task[None] | None = None
        self._next_glance: asyncio.Task[None] | None = None
        self._heard = True  # and understood: a node that cannot keep up must not lead
        self._warned = False

    async def start(self) -> None:
        """Hear the store once; a node that cannot do that does not start."""
        await self._hear(0)

    async def follow(self) -> None:
        while True:
            try:
                await self._hear(self._glance_seconds)
            except Diverged as fault:
                self._standing.lose(fault)
                return
            except Exception as fault:
                self._standing.unheard()
                self._complain(fault)
                await asyncio.sleep(self._retry_seconds)

    def close(self) -> None:
        self._thread.shutdown(wait=False)
        self._eyes.shutdown(wait=False)

    async def _hear(self, seconds: float) -> None:
        asked_at, after = self._elapsed(), self._writing.seq
        loop = asyncio.get_running_loop()
        listen = partial(self._shared.await_news, after, seconds, willing=self._standing.willing and self._heard)
        news: News = await loop.run_in_executor(self._thread, listen)
        if news.head < after:
            raise Diverged(
                f"The store ends at record {news.head}, and this node has seen record {after}: history was lost there."
            )
        self._agree(news.now)
        self._standing.head = news.head
        await self._reach(news.head)
        self._standing.heard(asked_at, leads=news.leads)
        if not self._heard:
            _log.info("The store answers again.")
        self._heard, self._warned = True, False

    async def _reach(self, head: int) -> None:
        while (before := self._writing.seq) < head:
            await self._writing.catch_up()
            if self._writing.seq == before:
                raise JournalFault(f"The store ends at record {head} and has nothing after record {before}.")

    def _complain(self, fault: Exception) -> None:
        """Log the silence of the store once, not at each attempt."""
        if isinstance(fault, JournalFault):
            if self._heard:
                _log.warning("The store cannot be followed: %s", fault)
        else:
            _log.error("Following the store failed; going on in a moment.", exc_info=fault)
        self._heard = False
        if self._standing.stale and not self._warned:
            _log.warning("Readers are turned away: %s", self._standing.stale)
            self._warned = True

    # Reading what others have just written

    async def refresh(self) -> None:
        """Know everything that was written before this call. Calls at the same time share one glance at the head."""
        if self._next_glance is None:
            self._next_glance = asyncio.create_task(self._glance_after(self._glancing))
            self._next_glance.add_done_callback(_overheard)
        try:
            async with asyncio.timeout(self._refresh_seconds):
                await asyncio.shield(self._next_glance)
        except TimeoutError:
            raise JournalFault(f"The store did not answer within {self._refresh_seconds:g} s.") from None

    async def _glance_after(self, before: asyncio.Task[None] | None) -> None:
        """A glance that begins after this call. One that is under way may miss what was written since."""
        if before is not None:
            await asyncio.wait([before])
        self._glancing, self._next_glance = self._next_glance, None
        head = await asyncio.get_running_loop().run_in_executor(self._eyes, self._journal.head)
        await self._reach(head)


def _overheard(glance: asyncio.Task[None]) -> None:
    """Mark the exception as seen: callers that still wait get it, and without any it needs no line in the log."""
    if not glance.cancelled():
        glance.exception()
