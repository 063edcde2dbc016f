"""When something is next due: a persistent leftist heap, and a few entries beside it that were added last.

Entries are never removed early. What made an entry stale shows in the region, so code that takes an entry looks there
first. Where very many fall due at one instant, as the scopes do whose reads one fact tells of, a node holds several of
them: a million scopes then take a tenth of the memory that a node for each would. Entries come into the heap some at a
time and in order, so that those of one instant, as the events of a host's maintenance have, share nodes too.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from msgspec import Struct

from forewarn.core.keys import Key


class Due(Struct, frozen=True, order=True, gc=False):
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

    def behind(self, place: int) -> _Node:
        """This node without its branches, from the key at this place of ``more`` on."""
        return _Node(1, self.at, self.more[place], more=self.more[place + 1 :])


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
    """Merge heaps in pairs, then the pairs in pairs. One after the other would walk the growing heap again for each."""
    heaps: list[_Node | None] = [*roots]
    while len(heaps) > 1:
        odd = heaps[-1:] if len(heaps) % 2 else []
        heaps = [_merge(a, b) for a, b in zip(heaps[::2], heaps[1::2], strict=False)] + odd
    return heaps[0] if heaps else None


class Agenda(Struct, frozen=True, gc=False):
    """All that is due, soonest first; ties by key, so that the order never depends on history."""

    root: _Node | None = None
    latest: tuple[Due, ...] = ()  # added since the heap was last made, in order; fewer than _TOGETHER

    @classmethod
    def of(cls, dues: Mapping[datetime, Sequence[Key]]) -> Agenda:
        """An agenda of what is due at each instant. In order it is a heap already, in rows that double.

        By instant rather than in pairs: of a million there are few, and a million pairs would leave holes in memory.
        """
        groups = [run for at in sorted(dues) for run in _runs(at, sorted(dues[at]))]
        nodes: list[_Node | None] = [None] * (2 * len(groups) + 2)
        for place in range(len(groups) - 1, -1, -1):
            left, right = nodes[2 * place + 1], nodes[2 * place + 2]
            rank = right.rank + 1 if right else 1
            at, (first, *more) = groups[place]
            nodes[place] = _Node(rank, at, first, left, right, tuple(more))
        return cls(nodes[0])

    def add(self, at: datetime, key: Key) -> Agenda:
        due, latest = Due(at, key), self.latest
        place = bisect_right(latest, due)
        latest = (*latest[:place], due, *latest[place:])
        if len(latest) < _TOGETHER:
            return Agenda(self.root, latest)
        return Agenda(_merge(self.root, _merge_all(_nodes_of(latest))))

    def first(self) -> Due | None:
        if self.root is None:
            return self.latest[0] if self.latest else None
        first = Due(self.root.at, self.root.key)
        return min(first, self.latest[0]) if self.latest else first

    def rest(self) -> Agenda:
        """The agenda without its first entry."""
        walk = _Walk(self)
        taken = walk.take(None, 1)
        assert taken, "nothing is due"
        return walk.left()

    def soonest(self, most: int) -> Iterator[Due]:
        """The first entries, soonest first. Costs what is looked at."""
        walk, at_once = _Walk(self), 1
        while most > 0 and (taken := walk.take(None, min(at_once, most))):
            yield from taken
            most, at_once = most - len(taken), min(2 * at_once, _TOGETHER)  # most looks are at one or two

    def split(self, now: datetime, most: int) -> tuple[list[Due], Agenda]:
        """The soonest of what is due by ``now``, and the agenda without it. Costs what is taken, not what is due."""
        first = self.first()
        if first is None or first.at > now:
            return [], self
        walk = _Walk(self)
        return walk.take(now, most), walk.left()


class _Walk:
    """Through an agenda, soonest first: a heap of what comes next, of each node one key.

    Below a node there is nothing sooner than itself, so its branches are looked at once its first key was taken.
    """

    __slots__ = ("_ahead", "_numbered")

    def __init__(self, agenda: Agenda) -> None:
        self._ahead: list[_Ahead] = [(due.at, due.key, number, None, 0) for number, due in enumerate(agenda.latest)]
        self._numbered = len(self._ahead)
        self._put(agenda.root)

    def take(self, now: datetime | None, most: int) -> list[Due]:
        """The next entries, at most so many, and only those that are due by ``now`` where that is said."""
        ahead, taken = self._ahead, list[Due]()
        while ahead and len(taken) < most:
            at, key, number, node, place = ahead[0]
            if now is not None and at > now:
                break
            taken.append(Due(at, key))
            if node is None or place == len(node.more):
                heapq.heappop(ahead)
            else:
                heapq.heapreplace(ahead, (at, node.more[place], number, node, place + 1))
            if node is not None and place == 0:
                self._put(node.left)
                self._put(node.right)
        return taken

    def left(self) -> Agenda:
        """All that was not taken."""
        latest = sorted(Due(at, key) for at, key, _, node, _ in self._ahead if node is None)
        nodes = [(node, place) for _, _, _, node, place in self._ahead if node is not None]
        root = _merge_all([node.behind(place - 1) if place else node for node, place in nodes])
        return Agenda(root, tuple(latest))

    def _put(self, node: _Node | None) -> None:
        if node is not None:
            self._numbered += 1
            heapq.heappush(self._ahead, (node.at, node.key, self._numbered, node, 0))


# An instant and a key that is due then; a number, for nodes cannot be compared; the node, where it stands in one; and
# how many keys of that come before it.
_Ahead: TypeAlias = tuple[datetime, Key, int, _Node | None, int]


def _nodes_of(latest: Sequence[Due]) -> list[_Node]:
    """Nodes without branches, of entries that are in order."""
    together = groupby(latest, key=attrgetter("at"))
    runs = (run for at, dues in together for run in _runs(at, [due.key for due in dues]))
    return [_Node(1, at, first, more=tuple(more)) for at, (first, *more) in runs]


def _runs(at: datetime, keys: Sequence[Key]) -> Iterator[tuple[datetime, Sequence[Key]]]:
    """Keys of one instant, which are in order already, in runs of which none is too long for a node."""
    for start in range(0, len(keys), _TOGETHER):
        yield at, keys[start : start + _TOGETHER]
