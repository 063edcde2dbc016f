"""A node among others: it hears what they append, knows whether it is current, and leads when it is its turn."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from forewarn.plane.clock import elapsed
from forewarn.plane.ports import LEASE_SECONDS, Diverged, Journal, JournalFault, News, Shared

_log = logging.getLogger(__name__)
_GLANCE_SECONDS = 1.0  # how long a notification that got lost can delay what it would have told
_REFRESH_SECONDS = 2.0  # how long a reader waits to be told that nothing is new


class Followed(Protocol):
    """What follows."""

    retry_seconds: float

    @property
    def seq(self) -> int: ...

    async def catch_up(self) -> None: ...

    @property
    def willing(self) -> bool:
        """Whether it would lead."""

    @property
    def stale(self) -> str: ...

    def agree(self, now: datetime) -> None: ...

    def vouch(self, until: float) -> None: ...

    def take_lead(self, leads: bool, until: float) -> None: ...

    def lose(self, fault: Diverged) -> None: ...


class Follower:
    """Listens in a thread of its own. Every answer of the store proves that the node was current when it asked."""

    def __init__(self, journal: Journal, shared: Shared, node: Followed, staleness: timedelta) -> None:
        self._journal = journal
        self._shared = shared
        self._node = node
        self._staleness = staleness
        self._glance_seconds = min(_GLANCE_SECONDS, staleness.total_seconds() / 4)
        self._thread = ThreadPoolExecutor(1, "forewarn-follower")
        self._eyes = ThreadPoolExecutor(1, "forewarn-glance")  # nobody's long work stands before a short look
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
                self._node.lose(fault)
                return
            except Exception as fault:
                self._node.take_lead(False, elapsed())
                self._complain(fault)
                await asyncio.sleep(self._node.retry_seconds)

    def close(self) -> None:
        self._thread.shutdown(wait=False)
        self._eyes.shutdown(wait=False)

    async def _hear(self, seconds: float) -> None:
        asked, after = elapsed(), self._node.seq
        loop = asyncio.get_running_loop()
        listen = partial(self._shared.await_news, after, seconds, willing=self._node.willing and self._heard)
        news: News = await loop.run_in_executor(self._thread, listen)
        if news.head < after:
            raise Diverged(
                f"The store ends at record {news.head}, and this node has seen record {after}: history was lost there."
            )
        self._node.agree(news.now)
        await self._reach(news.head)
        self._node.vouch(asked + self._staleness.total_seconds())
        self._node.take_lead(news.leads, asked + LEASE_SECONDS)
        if not self._heard:
            _log.info("The store answers again.")
        self._heard, self._warned = True, False

    async def _reach(self, head: int) -> None:
        while (before := self._node.seq) < head:
            await self._node.catch_up()
            if self._node.seq == before:
                raise JournalFault(f"The store ends at record {head} and has nothing after record {before}.")

    def _complain(self, fault: Exception) -> None:
        """Once for each silence, not once for each attempt."""
        if isinstance(fault, JournalFault):
            if self._heard:
                _log.warning("The store cannot be followed: %s", fault)
        else:
            _log.error("Following the store failed; going on in a moment.", exc_info=fault)
        self._heard = False
        if self._node.stale and not self._warned:
            _log.warning("Readers are turned away: %s", self._node.stale)
            self._warned = True

    # Reading what others have just written

    async def refresh(self) -> None:
        """Know everything that was written before this call. Calls at the same time share one glance at the head."""
        if self._next_glance is None:
            self._next_glance = asyncio.create_task(self._glance_after(self._glancing))
            self._next_glance.add_done_callback(_overheard)
        try:
            async with asyncio.timeout(_REFRESH_SECONDS):
                await asyncio.shield(self._next_glance)
        except TimeoutError:
            raise JournalFault(f"The store did not answer within {_REFRESH_SECONDS:g} s.") from None

    async def _glance_after(self, before: asyncio.Task[None] | None) -> None:
        """A glance that is under way may miss what was written since: whoever comes meanwhile waits for the next."""
        if before is not None:
            await asyncio.wait([before])
        self._glancing, self._next_glance = self._next_glance, None
        head = await asyncio.get_running_loop().run_in_executor(self._eyes, self._journal.head)
        await self._reach(head)


def _overheard(glance: asyncio.Task[None]) -> None:
    """Whoever still waits hears of a failure; where nobody does, it is not worth a complaint."""
    if not glance.cancelled():
        glance.exception()
