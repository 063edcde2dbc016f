"""Keys in order, by the million: found from any key on, changed a few at a time, searched by a part of a text.

An order is a value. Its keys lie in blocks, and a change makes anew the blocks that it touches and no other. So a
thread that holds an order can go on reading it while the next one is made.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Any)

_BLOCK = 1_000  # ours: keys of a block, about; one change copies a block, and a million keys make a thousand
_BLOCK_MOST = 2 * _BLOCK  # a block is cut in halves, so all but one hold at least half of it, as in a B-tree
_SAMPLE = 4  # ours: keys of the sample for each block
_PAIRS = 1_024  # ours: bits that note which pairs of letters a block has; 128 bytes a block


class Block(Generic[K]):
    """Some keys in order. Where they are texts, they can be searched together, which is noted on first use."""

    __slots__ = ("_pairs", "_text", "keys")

    def __init__(self, keys: Sequence[K]) -> None:
        self.keys = tuple(keys)
        self._text = ""
        self._pairs = 0

    def prepare(self: Block[str]) -> None:
        """Build the search index of this block, which is most of the cost of a first search."""
        if not self._text:
            self._text = "\n".join(self.keys)
            self._pairs = pairs_of(self._text)

    def having(self: Block[str], part: str, pairs: int) -> Iterator[str]:
        """The keys with this part in them; ``pairs`` are those of the part. Most blocks have not even these."""
        self.prepare()
        if self._pairs & pairs != pairs:
            return
        text, at = self._text, self._text.find(part)
        while at >= 0:
            begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            end = len(text) if end < 0 else end
            yield text[begin:end]
            at = text.find(part, end)


def pairs_of(text: str) -> int:
    """Which pairs of letters stand beside each other in a text, as bits; several pairs share a bit."""
    found = 0
    for pair in set(pairwise(text)):
        found |= 1 << (hash(pair) % _PAIRS)
    return found


class Order(Generic[K]):
    """Keys, each once, in their order."""

    __slots__ = ("_blocks", "_lasts", "_size")

    def __init__(self, blocks: Sequence[Block[K]] = ()) -> None:
        self._blocks = blocks
        self._lasts = [block.keys[-1] for block in blocks]
        self._size = sum(len(block.keys) for block in blocks)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        return (key for block in self._blocks for key in block.keys)

    def __contains__(self, key: K) -> bool:
        return next(self.since(key), None) == key

    def since(self, key: K) -> Iterator[K]:
        """This key, if it is there, and all after it."""
        first = bisect_left(self._lasts, key)
        for block in self._blocks[first : first + 1]:
            yield from block.keys[bisect_left(block.keys, key) :]
        for block in islice(self._blocks, first + 1, None):
            yield from block.keys

    def after(self, key: K) -> Iterator[K]:
        """All after this key."""
        return (each for each in self.since(key) if each != key)

    def having(self: Order[str], part: str, after: str = "") -> Iterator[str]:
        """The keys after ``after`` with this part in them, in order."""
        pairs = pairs_of(part)
        for block in islice(self._blocks, bisect_right(self._lasts, after), None):
            yield from (key for key in block.having(part, pairs) if key > after)

    def prepared(self: Order[str]) -> Generator[None, None, Order[str]]:
        """The same, ready to be searched, block by block."""
        for block in self._blocks:
            block.prepare()
            yield
        return self

    def changed(self, gone: Collection[K], new: Collection[K]) -> Order[K]:
        """With the ``new`` ones, and without those of the ``gone`` that are not new; either may be so already."""
        touched: dict[int, list[K]] = {}
        for key in (*gone, *new):
            touched.setdefault(min(bisect_left(self._lasts, key), max(len(self._lasts) - 1, 0)), []).append(key)
        if not touched:
            return self
        blocks = list(self._blocks) or [Block[K](())]
        wanted = set(new)
        for place, keys in sorted(touched.items(), reverse=True):
            blocks[place : place + 1] = cut(_with(blocks[place].keys, keys, wanted))
        return Order(blocks)


def _with(block: Sequence[K], keys: Iterable[K], wanted: Collection[K]) -> list[K]:
    found = list(block)
    for key in keys:
        place = bisect_left(found, key)
        there = place < len(found) and found[place] == key
        if there and key not in wanted:
            del found[place]
        elif not there and key in wanted:
            insort(found, key)
    return found


def cut(keys: Sequence[K]) -> list[Block[K]]:
    """Keys in order, as blocks."""
    if len(keys) <= _BLOCK_MOST:
        return [Block(keys)] if keys else []
    return [Block(keys[first : first + _BLOCK]) for first in range(0, len(keys), _BLOCK)]


class Sorting(Generic[K]):
    """Sorts very many keys a few at a time, because sorting them at once would block the loop.

    ``begins`` says where heaps begin. Each key is put on its heap, and at the end each heap is sorted by itself.
    """

    def __init__(self, begins: Sequence[K]) -> None:
        self._begins = begins
        self._heaps: list[list[K]] = [[] for _ in range(len(self._begins) + 1)]

    def add(self, keys: Iterable[K]) -> None:
        begins, heaps = self._begins, self._heaps
        for key in keys:
            heaps[bisect_right(begins, key)].append(key)

    def ordered(self) -> Generator[None, None, Order[K]]:
        """Sort the heaps, one at a time."""
        blocks: list[Block[K]] = []
        keys: list[K] = []
        while self._heaps:
            heap = self._heaps.pop()
            heap.sort()
            keys = heap + keys
            if len(keys) >= _BLOCK or not self._heaps:
                blocks += reversed(cut(keys))
                keys = []
            yield
        return Order(blocks[::-1])


def begins_of(sample: Iterable[K], total: int) -> Sequence[K]:
    """Where heaps begin, by a sample that must stand for all: a hash map gives its keys in no order."""
    return sorted(islice(sample, total // _BLOCK * _SAMPLE))[_SAMPLE::_SAMPLE]
