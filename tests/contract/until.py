"""Waiting for something that comes by itself."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep

_PATIENCE_SECONDS = 60.0


def until(holds: Callable[[], bool]) -> None:
    deadline = monotonic() + _PATIENCE_SECONDS
    while not holds():
        assert monotonic() < deadline, "it did not come"
        sleep(0.02)
