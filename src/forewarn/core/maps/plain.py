"""A map that shares its structure, in plain Python: as much of ``immutables.Map`` as we use."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import Any, Generic, Self, TypeAlias, TypeVar, overload

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
Leaf: TypeAlias = dict[Any, Any]
Node: TypeAlias = Leaf | list[Any]  # a leaf, or 32 nodes

# Measured for 16 to 64: an update costs least here, while a look at a million entries takes three steps.
_LEAF_MOST = 48
# As many bits of a hash choose a branch: 32 of them, as in most tries of hashes.
_BITS = 5
_BRANCHES = 1 << _BITS
_MASK = _BRANCHES - 1
# Then a hash of 64 bits is used up, and a leaf grows: all of its keys have the same one.
_DEPTH_MOST = 12
_MISSING = object()


class PlainMap(Mapping[K, V]):
    """A tree, branched by the keys' hashes, whose leaves are plain dicts: Python copies and searches these fast.

    Its shape and its order follow from its keys alone, not from how it came about: what is below a branch is one leaf
    as long as it has no more than 48 entries, and a leaf has them in the order of their hashes.
    """

    __slots__ = ("_count", "_root")
    _root: Node
    _count: int

    def __init__(self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        whole = dict(entries)
        self._count = len(whole)
        self._root = _grown(whole, 0)

    def _with(self, root: Node, count: int) -> Self:
        made = self.__class__.__new__(self.__class__)
        made._root, made._count = root, count
        return made

    def __getitem__(self, key: K) -> V:
        node = self._root
        if type(node) is not dict:
            number = hash(key)
            while type(node) is not dict:
                node = node[number & _MASK]
                number >>= _BITS
        found: V = node[key]
        return found

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, /, default: V | T) -> V | T: ...
    def get(self, key: K, /, default: V | T | None = None) -> V | T | None:
        node = self._root  # the same lines as above: a call would double what this costs
        if type(node) is not dict:
            number = hash(key)
            while type(node) is not dict:
                node = node[number & _MASK]
                number >>= _BITS
        found: V | T | None = node.get(key, default)
        return found

    def __contains__(self, key: object) -> bool:
        return self.get(key, _MISSING) is not _MISSING  # type: ignore[arg-type]  # whatever is asked for

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(_leaves(self._root))

    def keys(self) -> KeysView[K]:
        return _Keys(self)

    def values(self) -> ValuesView[V]:
        return _Values(self)

    def items(self) -> ItemsView[K, V]:
        return _Items(self)

    def set(self, key: K, value: V) -> Self:
        """The same map with this entry."""
        path, leaf = self._way_to(key)
        if key in leaf:
            changed = leaf.copy()
            changed[key] = value
        else:
            entries = list(leaf.items())
            entries.insert(bisect_right(list(leaf), hash(key), key=hash), (key, value))
            changed = dict(entries)
        root: Node = changed if len(changed) <= _LEAF_MOST else _grown(changed, len(path))
        for branches, place in reversed(path):
            copied = branches.copy()
            copied[place] = root
            root = copied
        return self._with(root, self._count + len(changed) - len(leaf))

    def delete(self, key: K) -> Self:
        """The same map without that key, which is there."""
        path, leaf = self._way_to(key)
        changed = leaf.copy()
        del changed[key]
        root: Node = changed
        merging = True
        for branches, place in reversed(path):
            copied = branches.copy()
            copied[place] = root
            merged = _merged(copied) if merging else None
            merging = merged is not None
            root = copied if merged is None else merged
        return self._with(root, self._count - 1)

    def _way_to(self, key: K) -> tuple[list[tuple[list[Node], int]], dict[K, V]]:
        """The branches from the root down, with the place taken in each, and the leaf where the key belongs."""
        path, node, number = [], self._root, hash(key)
        while isinstance(node, list):
            place = number & _MASK
            path.append((node, place))
            node = node[place]
            number >>= _BITS
        return path, node

    def mutate(self) -> Mutation[K, V]:
        """To make several changes, as one does to a dict; ``finish`` is the new map."""
        return Mutation(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PlainMap):
            return NotImplemented
        if self._root is other._root:
            return True
        return self._count == other._count and all(other.get(key, _MISSING) == value for key, value in self.items())

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return f"Map({dict(self.items())!r})"

    def __reduce__(self) -> tuple[type[Self], tuple[dict[K, V]]]:
        return type(self), (dict(self.items()),)


class Mutation(Generic[K, V]):
    """Changes on the way from one map to the next."""

    __slots__ = ("_map",)

    def __init__(self, begun: PlainMap[K, V]) -> None:
        self._map = begun

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: V | T) -> V | T: ...
    def get(self, key: K, default: V | T | None = None) -> V | T | None:
        return self._map.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._map

    def __setitem__(self, key: K, value: V) -> None:
        self._map = self._map.set(key, value)

    def __delitem__(self, key: K) -> None:
        self._map = self._map.delete(key)

    def pop(self, key: K, default: T) -> V | T:
        found = self._map.get(key, default)
        if key in self._map:
            self._map = self._map.delete(key)
        return found

    def finish(self) -> PlainMap[K, V]:
        return self._map


class _Keys(KeysView[K]):
    def __init__(self, whole: PlainMap[K, Any]) -> None:
        super().__init__(whole)
        self._whole = whole

    def __iter__(self) -> Iterator[K]:
        return iter(self._whole)


class _Values(ValuesView[V]):
    def __init__(self, whole: PlainMap[Any, V]) -> None:
        super().__init__(whole)
        self._whole = whole

    def __iter__(self) -> Iterator[V]:
        return chain.from_iterable(map(dict.values, _leaves(self._whole._root)))


class _Items(ItemsView[K, V]):
    def __init__(self, whole: PlainMap[K, V]) -> None:
        super().__init__(whole)
        self._whole = whole

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return chain.from_iterable(map(dict.items, _leaves(self._whole._root)))


def _leaves(node: Node) -> Iterator[Leaf]:
    if isinstance(node, list):
        for branch in node:
            yield from _leaves(branch)
    else:
        yield node


def _grown(entries: Leaf, depth: int) -> Node:
    """A leaf, or branches where these are too many entries for one."""
    if len(entries) <= _LEAF_MOST or depth >= _DEPTH_MOST:
        return dict(sorted(entries.items(), key=_number))
    parts: list[Leaf] = [{} for _ in range(_BRANCHES)]
    shift = depth * _BITS
    for key, value in entries.items():
        parts[(hash(key) >> shift) & _MASK][key] = value
    return [_grown(part, depth + 1) for part in parts]


def _merged(branches: list[Any]) -> Node | None:
    """One leaf, where what is left below fits into one; else None."""
    if sum(map(len, branches)) > _LEAF_MOST or any(isinstance(branch, list) for branch in branches):
        return None
    return _grown({key: value for leaf in branches for key, value in leaf.items()}, _DEPTH_MOST)


def _number(entry: tuple[Hashable, Any]) -> int:
    return hash(entry[0])
