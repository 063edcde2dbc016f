"""Calls that block, each in a thread of its own and with a deadline.

A call into a hung hypervisor returns only when the hypervisor does. It cannot be ended from here, so its thread is
left, and counted. The threads are daemons: a process that ends does not wait for them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

_T = TypeVar("_T")
_P = ParamSpec("_P")


class CallHung(Exception):  # noqa: N818 - it says what happened
    """No answer within the deadline. Whether anything was done is not known."""


class LeftThreads(Executor):
    """Starts a thread of its own for each call, at once. The caller bounds how many there are."""

    def submit(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        done: Future[_T] = Future()
        threading.Thread(target=_run, args=(done, work, args, kwargs), name="forewarn-hand", daemon=True).start()
        return done


def _run(done: Future[_T], work: Callable[..., _T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        done.set_result(work(*args, **kwargs))
    except BaseException as fault:
        done.set_exception(fault)


class Calls:
    """Calls into one host. ``hung`` is how many have not come back since their deadline."""

    def __init__(self) -> None:
        self.hung = 0
        self._threads = LeftThreads()

    async def call(self, seconds: float, work: Callable[..., _T], *args: Any) -> _T:
        """What ``work`` returns or raises. ``CallHung`` after so many seconds; its thread is left then."""
        done = self.begin(work, *args)
        await asyncio.wait([done], timeout=seconds)
        if done.done():
            return done.result()
        self.hung += 1
        done.add_done_callback(self._came_back)
        raise CallHung(f"there was no answer within {seconds:g} s")

    def begin(self, work: Callable[..., _T], *args: Any) -> asyncio.Future[_T]:
        """A call that lasts as long as it likes."""
        return asyncio.get_running_loop().run_in_executor(self._threads, work, *args)

    def _came_back(self, done: asyncio.Future[Any]) -> None:
        self.hung -= 1
        if not done.cancelled():
            done.exception()  # nobody waits for it any more
