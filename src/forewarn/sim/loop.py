"""An event loop with no machine under it: time jumps to the next timer, and what asks for a thread gets a strand."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forewarn.sim.network import Network
    from forewarn.sim.strands import Strands

_BEGIN = 1_000.0  # seconds; programs may take an instant of zero for none at all

PLACE: contextvars.ContextVar[str] = contextvars.ContextVar("place")  # whose work this is: a node's, a VM's, a person's


class Stuck(Exception):  # noqa: N818 - it says what is wrong
    """Everybody waits, and no timer will wake anybody."""


class _Jump:
    """Stands where a selector would wait for sockets."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        self._loop.jump(timeout)
        return []

    def close(self) -> None:
        """Nothing was opened."""


class SimLoop(asyncio.BaseEventLoop):
    """Deterministic: what is ready runs in the order in which it became so, and timers in the order of their time."""

    strands: Strands
    network: Network

    def __init__(self) -> None:
        super().__init__()
        self._at = _BEGIN
        self._selector = _Jump(self)
        self._tasks_of: dict[str, dict[asyncio.Task[Any], None]] = {}
        self.set_task_factory(self._make_task)

    def time(self) -> float:
        return self._at

    def jump(self, timeout: float | None) -> None:
        """Nothing is ready for so long: be there already."""
        if timeout is None:
            raise Stuck("Everybody waits, and no timer is left to wake anybody.")
        if timeout > 0:
            self._at = max(self._at, self._scheduled[0].when())  # type: ignore[attr-defined]

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
        """Whatever the place was doing is not done any more."""
        for task in [*self._tasks_of.pop(place, {})]:
            task.cancel()

    # What a machine would give

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        return self.strands.in_strand(func, *args)

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        return self.network.listen(PLACE.get(), protocol_factory, host, port)

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        return await self.network.connect(PLACE.get(), protocol_factory, host, port)

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody else is there to wake us."""
