"""An event loop with no machine under it: time jumps to the next timer, and what asks for a thread gets a strand."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forewarn.sim.fabric.network import Network
    from forewarn.sim.fabric.strands import Strands

_BEGIN = 1_000.0  # seconds; programs may take an instant of zero for none at all

PLACE: contextvars.ContextVar[str] = contextvars.ContextVar("place")  # whose work this is: a node's, a VM's, a person's


class Stuck(Exception):  # noqa: N818 - it says what is wrong
    """Every task and strand waits, and no timer is left to wake one of them."""


class SimLoop(asyncio.BaseEventLoop):
    """Deterministic: what is ready runs in the order in which it became so, and timers in the order of their time."""

    strands: Strands
    network: Network

    def __init__(self) -> None:
        super().__init__()
        self._at = _BEGIN
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbered = 0
        self._tasks_of: dict[str, dict[asyncio.Task[Any], None]] = {}
        self.set_task_factory(self._make_task)

    def time(self) -> float:
        return self._at

    def call_at(  # type: ignore[override]  # asyncio's own is generic in its arguments; here they are only passed on
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._numbered += 1
        heappush(self._timers, (when, self._numbered, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Does nothing: a canceled timer is passed over when its time comes."""

    def _run_once(self) -> None:
        """Run everything that is ready; where nothing is, jump to the next timer."""
        ready, timers = self._ready, self._timers
        if not ready:
            while timers and timers[0][2].cancelled():
                heappop(timers)
            if not timers:
                raise Stuck("Every task waits, and no timer is left to wake one of them.")
            self._at = max(self._at, timers[0][0])
        while timers and timers[0][0] <= self._at:
            ready.append(heappop(timers)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()

    # Tasks are known by the place they work for, so that a place can be killed

    def _make_task(self, loop: Any, work: Any, **more: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **more)
        context = more.get("context")
        place = PLACE.get("") if context is None else context.get(PLACE, "")
        if place:
            known = self._tasks_of.setdefault(place, {})
            known[task] = None
            task.add_done_callback(lambda done: known.pop(done, None))
        return task

    def abandon(self, place: str) -> None:
        """Cancel every task of a place."""
        for task in [*self._tasks_of.pop(place, {})]:
            task.cancel()

    def end(self) -> None:
        """Cancel every task that is left, and close the loop."""
        rest = asyncio.all_tasks(self)
        for task in rest:
            task.cancel()
        if rest:
            self.run_until_complete(asyncio.wait(rest))
        self.run_until_complete(self.shutdown_asyncgens())
        self.close()

    # What a machine would give

    # Asyncio's own is generic in its arguments; here they are only passed on
    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        return self.strands.in_strand(func, *args)

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        return self.network.listen(PLACE.get(), protocol_factory, host, port)

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        return await self.network.connect(PLACE.get(), protocol_factory, host, port)

    def _write_to_self(self) -> None:
        """Does nothing: there is no other thread that could wake this loop."""
