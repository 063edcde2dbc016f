"""Programs that block, in one thread: each of their threads is a strand, and one that waits lets the others run.

The agent is such a program. It runs here as it is: its system's threads are the ``SimThreads`` at the end of this
module, whose time is the loop's.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

from greenlet import GreenletExit, getcurrent, greenlet

from forewarn.sim.fabric.loop import SimLoop

_T = TypeVar("_T")
_OVER = object()  # what a strand is woken with when its time is over


class Killed(GreenletExit):  # type: ignore[misc]  # greenlet publishes no types
    """The process is gone. Like a SIGKILL it cannot be caught by ``except Exception``, nor outlived by ``finally``."""


class Process:
    """Strands that live, freeze and die together."""

    def __init__(self, name: str, place: str = "") -> None:
        self.name = name
        self.place = place or name
        self.alive = True
        self.frozen = False
        self.strands: dict[Strand, None] = {}
        self.late: list[Callable[[], None]] = []  # what came while it was frozen
        self.at_exit: dict[object, Callable[[], None]] = {}  # what the kernel lets go of

    def check(self) -> None:
        if not self.alive:
            raise Killed

    def kill(self) -> None:
        """From outside of it. Its files and sockets are let go of, as the kernel would."""
        self.alive = False
        for strand in [*self.strands]:
            strand.kill()
        self.strands.clear()
        self.late.clear()
        held, self.at_exit = [*self.at_exit.values()], {}
        for release in held:
            release()

    def freeze(self) -> None:
        self.frozen = True

    def thaw(self) -> None:
        self.frozen = False
        late, self.late = self.late, []
        for wake in late:
            wake()


class Strand:
    """One thread of a process."""

    __slots__ = ("_green", "_hub", "done", "name", "over", "process", "turn")

    def __init__(self, hub: Strands, process: Process, name: str, work: Callable[[], None]) -> None:
        self._hub = hub
        self.process = process
        self.name = name
        self.turn = 0  # grows with each wake, so that a wake that comes too late is known as such
        self.done = False
        self.over: list[Callable[[], None]] = []
        self._green = greenlet(self._run(work), hub.green)
        self._green.strand = self
        process.strands[self] = None

    def _run(self, work: Callable[[], None]) -> Callable[..., None]:
        def run(_: object = None) -> None:
            try:
                work()
            except Exception as problem:
                self._hub.broke(self, problem)
            finally:
                self.done = True
                self.process.strands.pop(self, None)
                for tell in self.over:
                    tell()

        return run

    def go_on(self, turn: int, value: object) -> None:
        """Let it run until it waits again, unless what woke it is not what it waits for any more."""
        if turn != self.turn or self.done:
            return
        if self.process.frozen:
            self.process.late.append(lambda: self._hub.soon(self, turn, value))
            return
        self.turn += 1
        self._green.switch(value)

    def kill(self) -> None:
        if not self.done:
            self.turn += 1
            self._green.throw(Killed)


class Strands:
    """The scheduler: the loop's own greenlet, to which every strand switches back when it waits."""

    def __init__(self, loop: SimLoop) -> None:
        self.loop = loop
        self.green = getcurrent()
        self.broken: list[tuple[Strand, Exception]] = []
        self.kernel = Process("kernel")

    def broke(self, strand: Strand, problem: Exception) -> None:
        self.broken.append((strand, problem))

    def start(self, process: Process, name: str, work: Callable[[], None]) -> Strand:
        strand = Strand(self, process, name, work)
        self.soon(strand, 0, None)
        return strand

    def soon(self, strand: Strand, turn: int, value: object) -> None:
        self.loop.call_soon(strand.go_on, turn, value)

    def current(self) -> Strand:
        found: Strand = getcurrent().strand
        return found

    def in_strand(self, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """A call that may block, for a task that awaits it. Most do not, and are over when this returns."""
        done: asyncio.Future[Any] = self.loop.create_future()

        def work() -> None:
            try:
                value = func(*args)
            except Exception as problem:
                if not done.done():
                    done.set_exception(problem)
            else:
                if not done.done():
                    done.set_result(value)

        strand = Strand(self, self.kernel, "call", work)
        strand._green.gr_context = contextvars.copy_context()
        strand.turn += 1
        strand._green.switch()
        return done

    # Waiting

    def park(self, seconds: float | None = None) -> object:
        """Wait to be woken by ``wake``; ``OVER`` when that took longer than ``seconds``."""
        me = self.current()
        me.process.check()
        if seconds is None:
            value = self.green.switch()
        else:
            timer = self.loop.call_later(max(seconds, 0.0), me.go_on, me.turn, _OVER)
            value = self.green.switch()
            timer.cancel()
        me.process.check()
        return value

    def sleep(self, seconds: float) -> None:
        self.park(seconds)


OVER = _OVER


class Ticket:
    """A strand that waits for something, in the hands of the code that will wake it."""

    __slots__ = ("strand", "turn")

    def __init__(self, hub: Strands) -> None:
        self.strand = hub.current()
        self.turn = self.strand.turn

    def wake(self, hub: Strands, value: object = None) -> None:
        hub.soon(self.strand, self.turn, value)


# What a program takes for its threads


class SimpleQueue(Generic[_T]):
    """As ``queue.SimpleQueue``, with a limit where one is given."""

    def __init__(self, hub: Strands, most: int = 0) -> None:
        self._hub = hub
        self._most = most
        self._items: deque[_T] = deque()
        self._waiting: deque[Ticket] = deque()

    def put(self, item: _T) -> None:
        if self._most and len(self._items) >= self._most:
            raise queue.Full
        self._items.append(item)
        while self._waiting:
            self._waiting.popleft().wake(self._hub)

    def get(self, block: bool = True, timeout: float | None = None) -> _T:
        if not self._items and block:
            ticket = Ticket(self._hub)
            self._waiting.append(ticket)
            self._hub.park(timeout)
            if ticket in self._waiting:
                self._waiting.remove(ticket)
        if not self._items:
            raise queue.Empty
        return self._items.popleft()

    def get_nowait(self) -> _T:
        return self.get(block=False)

    def empty(self) -> bool:
        return not self._items


class StrandFlag:
    """As ``threading.Event``."""

    def __init__(self, hub: Strands) -> None:
        self._hub = hub
        self._set = False
        self._waiting: list[Ticket] = []

    def set(self) -> None:
        self._set = True
        waiting, self._waiting = self._waiting, []
        for ticket in waiting:
            ticket.wake(self._hub)

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            self._waiting.append(Ticket(self._hub))
            self._hub.park(timeout)
        return self._set


class Lock:
    """As ``threading.Lock``, for code that never waits for anything else while it holds one."""

    def __init__(self) -> None:
        self._held = False

    def __enter__(self) -> bool:
        assert not self._held, "a strand waited while it held a lock"
        self._held = True
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held = False


class Condition:
    """As ``threading.Condition``; its lock is never contended, because no strand is interrupted."""

    def __init__(self, hub: Strands) -> None:
        self._hub = hub
        self._waiting: list[Ticket] = []

    def __enter__(self) -> bool:
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Does nothing: no lock was taken."""

    def wait(self, timeout: float | None = None) -> bool:
        self._waiting.append(Ticket(self._hub))
        return self._hub.park(timeout) is not OVER

    def notify_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for ticket in waiting:
            ticket.wake(self._hub)


class Semaphore:
    """As ``threading.BoundedSemaphore``, without waiting: guests only ever try to acquire."""

    def __init__(self, value: int = 1) -> None:
        self._left = value

    def acquire(self, blocking: bool = True) -> bool:
        assert not blocking, "the product takes semaphores without waiting"
        if self._left:
            self._left -= 1
            return True
        return False

    def release(self) -> None:
        self._left += 1


class Thread:
    """As ``threading.Thread``, once it was started."""

    def __init__(self, hub: Strands, strand: Strand) -> None:
        self._hub, self._strand = hub, strand

    def join(self, timeout: float | None = None) -> None:
        if not self._strand.done:
            ticket = Ticket(self._hub)
            self._strand.over.append(lambda: ticket.wake(self._hub))
            self._hub.park(timeout)


class SimThreads:
    """The threads of a guest's system: strands of the process that starts them."""

    def __init__(self, hub: Strands) -> None:
        self._hub = hub

    def start(self, work: Callable[[], None], name: str) -> Thread:
        process = self._hub.current().process
        process.check()
        return Thread(self._hub, self._hub.start(process, name, work))

    def lock(self) -> Lock:
        return Lock()

    def event(self) -> StrandFlag:
        return StrandFlag(self._hub)

    def condition(self) -> Condition:
        return Condition(self._hub)

    def places(self, count: int) -> Semaphore:
        return Semaphore(count)

    def queue(self, most: int = 0) -> SimpleQueue[_T]:
        return SimpleQueue(self._hub, most)
