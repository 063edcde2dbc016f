"""Keys in order, by the million: found from any key on, changed a few at a time, searched by a part of a text.

An order is a value. Its keys lie in blocks, and a change makes anew the blocks that it touches and no other. So a
thread that holds an order can go on reading it while the next one is made.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Any)

_BLOCK = 1_000  # ours: keys of a block, about; one change copies a block, and a million keys make a thousand
_BLOCK_MOST = 2 * _BLOCK  # a block is cut in halves, so all but one hold at least half of it, as in a B-tree
_RUN = 4_000  # ours: keys that are sorted at once, which takes two milliseconds
_SAMPLE = 4  # ours: keys of the sample for each block
_SHIFT = 97  # prime, from run to run: samples at the same place of each would all be of the same few keys
_END = "\n"  # of a key in a text of many; no key has it
_NOTHING: frozenset[str] = frozenset()


class Block(Generic[K]):
    """Some keys in order. Where they are texts, they can be searched together, which is noted on first use.

    Neighbours begin alike (``web-123001``, ``web-123002``), so what all begin with is kept once and the rest of them
    is the text that a search goes through.
    """

    __slots__ = ("_beginning", "_letters", "_text", "keys")

    def __init__(self, keys: Sequence[K]) -> None:
        self.keys = tuple(keys)
        self._beginning = self._text = ""
        self._letters = _NOTHING

    def prepare(self: Block[str]) -> None:
        """Build the search index of this block, which is most of the cost of a first search."""
        if not self._text:
            self._beginning = _common(self.keys[0], self.keys[-1])
            common = f"{_END}{self._beginning}"
            self._text = f"{_END}{_END.join(self.keys)}{_END}".replace(common, _END)
            self._letters = frozenset(self._text)

    def having(self: Block[str], part: str, letters: frozenset[str]) -> Iterator[str]:
        """The keys with this part in them; ``letters`` are those of the part. Many blocks have not even these."""
        self.prepare()
        beginning, text = self._beginning, self._text
        if part in beginning:
            yield from self.keys
            return
        found = set(_places(text, part)) if letters <= self._letters else set()
        for size in range(1, len(part)):
            if beginning.endswith(part[:size]):  # it may begin there and end in the rest
                found.update(_places(text, _END + part[size:]))
        yield from (beginning + text[at : text.index(_END, at)] for at in sorted(found))


def _common(first: str, last: str) -> str:
    """The beginning that both texts share."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return first[: sum(1 for _ in alike)]


def _places(text: str, part: str) -> Iterator[int]:
    """Where the keys begin that have this part in them."""
    at = text.find(part)
    while at >= 0:
        begin = text.rfind(_END, 0, at + 1) + 1
        yield begin
        at = text.find(part, text.index(_END, begin))


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

    @property
    def last(self) -> K:
        """The greatest key. There must be one."""
        return self._lasts[-1]

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

    def before(self, key: K | None = None) -> Iterator[K]:
        """All before this key, or all there are: from the last one to the first."""
        end = len(self._blocks)
        if key is not None:
            end = bisect_left(self._lasts, key)
            for block in self._blocks[end : end + 1]:
                yield from reversed(block.keys[: bisect_left(block.keys, key)])
        for number in range(end - 1, -1, -1):
            yield from reversed(self._blocks[number].keys)

    def having_before(self: Order[str], part: str, key: str = "") -> Iterator[str]:
        """The keys with this part in them, before ``key`` where that is given: from the last one to the first."""
        letters = frozenset(part)
        end = bisect_left(self._lasts, key) if key else len(self._blocks) - 1
        for number in range(min(end, len(self._blocks) - 1), -1, -1):
            found = [] if _END in part else list(self._blocks[number].having(part, letters))
            yield from (each for each in reversed(found) if not key or each < key)

    def having(self: Order[str], part: str, after: str = "", before: str = "") -> Iterator[str]:
        """The keys after ``after``, and before ``before`` where that is given, with this part in them, in order."""
        if _END in part:
            return
        letters = frozenset(part)
        for block in islice(self._blocks, bisect_right(self._lasts, after), None):
            if before and block.keys[0] >= before:
                return
            yield from (key for key in block.having(part, letters) if key > after and not (before and key >= before))

    def prepared(self: Order[str]) -> Generator[None, None, Order[str]]:
        """The same, ready to be searched, block by block."""
        for block in self._blocks:
            block.prepare()
            yield
        return self

    def changed(self, gone: Collection[K], new: Collection[K]) -> Order[K]:
        """The order with the keys ``new`` and without those of ``gone`` that are not new; either may be so already."""
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

    Keys are sorted in runs as they come. At the end a sample of all runs says where blocks begin, and each block is
    sorted from the pieces that the runs have of it.
    """

    def __init__(self) -> None:
        self._keys: list[K] = []
        self._runs: list[list[K]] = []

    def add(self, keys: Iterable[K]) -> None:
        """Some hundreds at once."""
        self._keys += keys
        if len(self._keys) >= _RUN:
            self._close_run()

    def ordered(self) -> Generator[None, None, Order[K]]:
        """The order of all of them, a block at a time, from the last one on."""
        self._close_run()
        yield
        blocks: list[Block[K]] = []
        for begin in reversed(self._begins()):
            blocks += reversed(cut(self._taken_from(begin)))
            yield
        first = sorted(key for run in self._runs for key in run)
        return Order([*cut(first), *reversed(blocks)])

    def _close_run(self) -> None:
        self._keys.sort()
        self._runs.append(self._keys)
        self._keys = []

    def _begins(self) -> Sequence[K]:
        """Where blocks begin, but for the first: so that none becomes much longer than others, however keys came."""
        each = _BLOCK // _SAMPLE
        sample = [key for number, run in enumerate(self._runs) for key in run[number * _SHIFT % each :: each]]
        return sorted(sample)[_SAMPLE::_SAMPLE]

    def _taken_from(self, begin: K) -> list[K]:
        """The keys from this one on, taken out of the runs."""
        keys: list[K] = []
        for run in self._runs:
            at = bisect_left(run, begin)
            keys += run[at:]
            del run[at:]
        keys.sort()
        return keys
