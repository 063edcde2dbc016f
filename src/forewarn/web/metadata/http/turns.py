"""Fair turns: pipelined requests of one VM do not hold up other VMs.

A request that comes alone is answered at once. Of several that came together, the rest waits here, and in each turn of
the loop each party gets so many answers and no more, and all of them together no more than a few: who comes with one
request waits for no longer than those take. A party is a VM that is known by its network, with all its connections; on
loopback it is a single connection.
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

    def __init__(self, answers_each: int, answers_all: int) -> None:
        self._answers_each = answers_each
        self._answers_all = answers_all
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
        """Give this turn's answers. Connections that had none are the first in the next turn."""
        self._is_coming = False
        waiting, self._waiting = self._waiting, {}
        given = 0
        for party in tuple(waiting):
            if given >= self._answers_all:
                break
            workers, had = waiting.pop(party), 0
            while workers and had < self._answers_each:
                had += workers.popleft().take_turn(self._answers_each - had)
            given += had
            if workers:
                workers.extend(self._waiting.get(party, ()))
                self._waiting[party] = workers
        for party, workers in self._waiting.items():
            waiting.setdefault(party, deque()).extend(workers)
        self._waiting = waiting
        if self._waiting:
            self._come()
