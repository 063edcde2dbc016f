"""When something is next due: a persistent leftist heap.

Entries are never removed early. What made an entry stale shows in the region, and whoever takes the entry looks there.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from msgspec import Struct


class Due(NamedTuple):
    """Look at ``key`` at ``at``. Keys say what they are: ``event/ID``, ``scope/KEY``."""

    at: datetime
    key: str


class _Node(NamedTuple):
    rank: int
    due: Due
    left: _Node | None
    right: _Node | None


def _merge(a: _Node | None, b: _Node | None) -> _Node | None:
    if a is None:
        return b
    if b is None:
        return a
    if b.due < a.due:
        a, b = b, a
    left, right = a.left, _merge(a.right, b)
    left_rank = left.rank if left else 0
    right_rank = right.rank if right else 0
    if left_rank < right_rank:
        left, right, right_rank = right, left, left_rank
    return _Node(right_rank + 1, a.due, left, right)


class Agenda(Struct, frozen=True):
    """All that is due, soonest first; ties by key, so that the order never depends on history."""

    root: _Node | None = None

    def add(self, at: datetime, key: str) -> Agenda:
        return Agenda(_merge(self.root, _Node(1, Due(at, key), None, None)))

    def first(self) -> Due | None:
        return self.root.due if self.root else None

    def rest(self) -> Agenda:
        assert self.root is not None
        return Agenda(_merge(self.root.left, self.root.right))
