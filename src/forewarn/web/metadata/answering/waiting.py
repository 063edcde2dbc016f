"""Readers that wait for news of their scope."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, KeysView, Sequence

from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.plane.ports import Record

WOKEN_AT_ONCE = 100  # ours: answers before others have their turn


class Patience:
    """How long one reader waits. It ends by itself, or by ``end``."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.over = seconds <= 0
        self._seconds = seconds
        self._ends_at: float | None = None  # fixed when the waiting begins: news about nothing does not prolong it
        self._news: asyncio.Future[None] | None = None

    async def until_news(self, waiters: Waiters, scope: str) -> None:
        """Come back when the scope may have changed, or when patience is over."""
        loop = asyncio.get_running_loop()
        self._news = loop.create_future()
        if self._ends_at is None:
            self._ends_at = loop.time() + self._seconds
        timer = loop.call_at(self._ends_at, self.end)
        waiters.add(scope, self)
        try:
            await self._news
        finally:
            timer.cancel()
            waiters.remove(scope, self)

    @property
    def ends_at(self) -> float | None:
        """By the loop's time; None before the waiting has begun."""
        return self._ends_at

    def wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def end(self) -> None:
        """Wait no longer: the time has passed, the reader has hung up, or the server closes."""
        self.over = True
        self.wake()


class Waiters:
    """Readers that wait, by scope: waking costs the readers of the scopes that changed, not all that wait.

    They are woken in the order in which they came, so that a simulation repeats itself.
    """

    def __init__(self) -> None:
        self._by_scope: dict[str, dict[Patience, None]] = {}
        self._to_wake: deque[Patience] = deque()
        self._waking = False

    def add(self, scope: str, patience: Patience) -> None:
        self._by_scope.setdefault(scope, {})[patience] = None

    def remove(self, scope: str, patience: Patience) -> None:
        waiting = self._by_scope.get(scope, {})
        waiting.pop(patience, None)
        if not waiting:
            self._by_scope.pop(scope, None)

    def wake(self, scopes: Iterable[str]) -> None:
        """Let the readers of these scopes look again, some at a time, so that other requests are served in between."""
        self._to_wake.extend(patience for scope in scopes for patience in self._by_scope.get(scope, ()))
        if not self._waking:
            self._wake_some()

    def _wake_some(self) -> None:
        for _ in range(min(WOKEN_AT_ONCE, len(self._to_wake))):
            self._to_wake.popleft().wake()
        self._waking = bool(self._to_wake)
        if self._waking:
            asyncio.get_running_loop().call_soon(self._wake_some)

    @property
    def anybody(self) -> bool:
        return bool(self._by_scope)

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._by_scope.values())


def changed_scopes(before: Region, after: Region, records: Sequence[Record]) -> KeysView[str]:
    """The scopes that facts may have given a new document, or a reader fewer."""
    changed: dict[str, None] = {}
    for record in records:
        match record.fact:
            case f.EventScheduled(event=event) | f.EventBornStarted(event=event):
                changed[event.scope] = None
            case (
                f.EventStarted(event_id=key)
                | f.EventCanceled(event_id=key)
                | f.EventCompleted(event_id=key)
                | f.VmSpared(event_id=key)
            ):
                found = after.events.get(key) or before.events.get(key)
                if found is not None:
                    changed[found.scope] = None
            case f.VmDeleted(vm=key) if key in before.vms:
                changed[before.vms[key].scope] = None
            case f.ScopeEnabled(scope=scope) | f.ScopeDisabled(scope=scope):
                changed[scope] = None
    return changed.keys()
