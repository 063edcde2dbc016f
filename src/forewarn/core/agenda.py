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


class _Node(Struct, frozen=True):
    """Left branches may grow as long as the agenda; the collector's bookkeeping is what lets them be freed safely."""

    rank: int
    at: datetime
    key: str
    left: _Node | None = None
    right: _Node | None = None


def _merge(a: _Node | None, b: _Node | None) -> _Node | None:
    if a is None:
        return b
    if b is None:
        return a
    if b.at < a.at or (b.at == a.at and b.key < a.key):
        a, b = b, a
    left, right = a.left, _merge(a.right, b)
    left_rank = left.rank if left else 0
    right_rank = right.rank if right else 0
    if left_rank < right_rank:
        left, right, right_rank = right, left, left_rank
    return _Node(right_rank + 1, a.at, a.key, left, right)


def _merge_all(roots: list[_Node]) -> _Node | None:
    """In pairs, and the pairs in pairs: one after the other would walk the growing heap again for each."""
    heaps: list[_Node | None] = [*roots]
    while len(heaps) > 1:
        odd = heaps[-1:] if len(heaps) % 2 else []
        heaps = [_merge(a, b) for a, b in zip(heaps[::2], heaps[1::2], strict=False)] + odd
    return heaps[0] if heaps else None


class Agenda(Struct, frozen=True, gc=False):
    """All that is due, soonest first; ties by key, so that the order never depends on history."""

    root: _Node | None = None

    def add(self, at: datetime, key: str) -> Agenda:
        return Agenda(_merge(self.root, _Node(1, at, key)))

    def first(self) -> Due | None:
        return Due(self.root.at, self.root.key) if self.root else None

    def rest(self) -> Agenda:
        assert self.root is not None
        return Agenda(_merge(self.root.left, self.root.right))

    def due_by(self, now: datetime) -> list[Due]:
        """What is due by ``now``, soonest first."""
        return sorted(self._walk(now)[0])

    def split(self, now: datetime) -> tuple[list[Due], Agenda]:
        """What is due by ``now``, soonest first, and the agenda without it. Costs what is due."""
        due, later = self._walk(now)
        return (sorted(due), Agenda(_merge_all(later))) if due else ([], self)

    def _walk(self, now: datetime) -> tuple[list[Due], list[_Node]]:
        """What is due by ``now``, and the branches on which nothing is."""
        due: list[Due] = []
        later: list[_Node] = []
        ahead = [self.root]
        while ahead:
            node = ahead.pop()
            if node is None:
                continue
            if node.at > now:
                later.append(node)
            else:
                due.append(Due(node.at, node.key))
                ahead.append(node.left)
                ahead.append(node.right)
        return due, later
