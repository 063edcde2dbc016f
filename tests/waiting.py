"""Waiting for what comes by itself, in another thread, process or machine. A test that waits in vain fails and says
for what.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_SECONDS = 60.0  # far more than anything takes: a busy machine must not fail a test

_LOOK_SECONDS = 0.02  # between two looks: often enough to cost a test nothing, rare enough to leave the work the core

T = TypeVar("T")


def until(
    look: Callable[[], T],
    what: str = "",
    story: Callable[[], str] = str,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
) -> T:
    """What ``look`` returns as soon as it is truthy. ``story`` is called only for the message of a failure."""
    deadline = time.monotonic() + patience_seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {patience_seconds:g} s: {what or look}\n{story()}"
        time.sleep(_LOOK_SECONDS)
    return found


async def until_in_loop(holds: Callable[[], object], *, patience_seconds: float = PATIENCE_SECONDS) -> None:
    """The same inside an event loop, which goes on meanwhile. Looks more often: nothing here leaves the process."""
    async with asyncio.timeout(patience_seconds):
        while not holds():  # noqa: ASYNC110 - conditions of several planes and threads
            await asyncio.sleep(0.005)
