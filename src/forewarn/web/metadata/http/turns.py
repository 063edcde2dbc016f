"""Fair turns: pipelined requests of one VM do not hold up other VMs.

A request that comes alone is answered at once. Of several that came together, the rest waits here, and in each turn of
the loop each party gets so many answers and no more. A party is a VM that is known by its network, with all its
connections; on loopback it is a single connection.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Protocol


class TurnTaker(Protocol):
    """A connection that owes answers."""

    @property
    def party(self) -> Hashable: ...

    def take_turn(self, at_most: int) -> int:
        """Give so many answers at most, and wait for another turn if more are owed. How many were given."""


class Turns:
    """Runs once in each turn of the loop for as long as a connection waits."""

    def __init__(self, answers_each: int) -> None:
        self._answers_each = answers_each
        self._waiting: dict[Hashable, deque[TurnTaker]] = {}
        self._is_coming = False

    def wait(self, worker: TurnTaker) -> None:
        """Be called again in the next turn. A connection waits at most once at a time."""
        self._waiting.setdefault(worker.party, deque()).append(worker)
        self._come()

    def _come(self) -> None:
        if not self._is_coming:
            self._is_coming = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._is_coming = False
        waiting, self._waiting = self._waiting, {}
        for party, workers in waiting.items():
            left = self._answers_each
            while workers and left > 0:
                left -= workers.popleft().take_turn(left)
            if workers:
                workers.extend(self._waiting.get(party, ()))
                self._waiting[party] = workers
        if self._waiting:
            self._come()
