"""When something is next due: a persistent leftist heap.

Entries are never removed early. What made an entry stale shows in the region, so code that takes an entry looks there
first. Where very many fall due at one instant, as the scopes do whose reads one fact tells of, a node holds several of
them: a million scopes then take a tenth of the memory that a node for each would.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from forewarn.core.keys import Key


class Due(NamedTuple):
    """Look at ``key`` at ``at``."""

    at: datetime
    key: Key


_TOGETHER = 32  # ours: a node's own size is little beside so many keys, and taking one of them copies few


class _Node(Struct, frozen=True):
    """Left branches may grow as long as the agenda; the collector's bookkeeping is what lets them be freed safely."""

    rank: int
    at: datetime
    key: Key
    left: _Node | None = None
    right: _Node | None = None
    more: tuple[Key, ...] = ()  # due at the same instant, after ``key``, in order

    def others(self) -> _Node | None:
        """What is left of this node without its first key and without its branches."""
        return _Node(1, self.at, self.more[0], more=self.more[1:]) if self.more else None


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
    return _Node(right_rank + 1, a.at, a.key, left, right, a.more)


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

    @classmethod
    def of(cls, dues: Mapping[Key, datetime]) -> Agenda:
        """An agenda of many keys at once, each with its instant. In order they are a heap already, in rows that double.

        Sorted twice rather than in pairs: a million pairs would leave their holes in memory.
        """
        keys = sorted(dues)
        keys.sort(key=dues.__getitem__)
        groups = list(_together(keys, dues))
        nodes: list[_Node | None] = [None] * (2 * len(groups) + 2)
        for place in range(len(groups) - 1, -1, -1):
            left, right = nodes[2 * place + 1], nodes[2 * place + 2]
            rank = right.rank + 1 if right else 1
            first, *more = groups[place]
            nodes[place] = _Node(rank, dues[first], first, left, right, tuple(more))
        return cls(nodes[0])

    def add(self, at: datetime, key: Key) -> Agenda:
        return Agenda(_merge(self.root, _Node(1, at, key)))

    def first(self) -> Due | None:
        return Due(self.root.at, self.root.key) if self.root else None

    def rest(self) -> Agenda:
        assert self.root is not None
        return Agenda(_merge(_merge(self.root.left, self.root.right), self.root.others()))

    def soonest(self, most: int) -> Iterator[Due]:
        """The first entries, soonest first. Costs what is looked at."""
        return islice(_walk(_ahead(self.root)), most)

    def split(self, now: datetime, most: int) -> tuple[list[Due], Agenda]:
        """The soonest of what is due by ``now``, and the agenda without it. Costs what is taken, not what is due."""
        ahead, due = _ahead(self.root), list[Due]()
        walk = _walk(ahead)
        while len(due) < most and ahead and ahead[0][0] <= now:
            due.append(next(walk))
        return (due, Agenda(_merge_all([node for _, _, _, node in ahead]))) if due else ([], self)


def _together(keys: list[Key], dues: Mapping[Key, datetime]) -> Iterator[list[Key]]:
    """Runs of keys that are due at one instant, none of them too long; ``keys`` are in order already."""
    start = 0
    while start < len(keys):
        at, end = dues[keys[start]], min(start + _TOGETHER, len(keys))
        while dues[keys[end - 1]] != at:
            end -= 1
        yield keys[start:end]
        start = end


_Ahead: TypeAlias = list[tuple[datetime, Key, int, _Node]]  # a heap; numbered, for nodes cannot be compared


def _ahead(root: _Node | None) -> _Ahead:
    return [(root.at, root.key, 0, root)] if root else []


def _walk(ahead: _Ahead) -> Iterator[Due]:
    """Take the soonest of ``ahead`` and put its branches there: below a node there is nothing sooner than itself."""
    numbered = 0
    while ahead:
        at, key, _, node = heapq.heappop(ahead)
        for branch in (node.left, node.right, node.others()):
            if branch is not None:
                numbered += 1
                heapq.heappush(ahead, (branch.at, branch.key, numbered, branch))
        yield Due(at, key)
