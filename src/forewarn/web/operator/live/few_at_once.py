"""Taking turns: what a thousand tasks do at the same moment is done by a few at once, and others come in between."""

from __future__ import annotations

import asyncio
from collections import deque


class FewAtOnce:
    """Lets at most ``at_once`` tasks go on in one turn of the loop; the rest wait for the next turns in their order.

    Tasks that come with ``first`` are taken before all that come without.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._left = at_once
        self._first: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()
        self._is_called = False

    async def come(self, *, first: bool = False) -> None:
        """Back when it is the caller's turn; at once, where not many have come in this one."""
        self._call()
        if self._left:
            self._left -= 1
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._first if first else self._others).append(waiting)
        await waiting

    def _call(self) -> None:
        if not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """A new turn of the loop. It goes on to the next one only while anybody waits."""
        self._is_called, self._left = False, self._at_once
        for line in (self._first, self._others):
            while line and self._left:
                waiting = line.popleft()
                if not waiting.done():  # else its task was canceled
                    waiting.set_result(None)
                    self._left -= 1
        if self._first or self._others:
            self._call()
