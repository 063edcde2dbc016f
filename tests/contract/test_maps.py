"""Maps that share their structure: the one of ``immutables`` and ours do the same, beside a dict that is copied."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from forewarn.core.maps import plain
from forewarn.core.maps.plain import PlainMap

Make = Callable[..., Any]
MAPS = [pytest.param(Map, id="immutables"), pytest.param(PlainMap, id="ours")]
# Many of one hash, so that leaves grow and branches are used up; and -1 and -2, whose hashes Python makes the same
HASHES = st.integers(-3, 3) | st.integers(-(2**63), 2**63) | st.integers(0, 200).map(lambda number: number << 55)


class Key:
    """With a hash that is chosen."""

    def __init__(self, name: int, number: int) -> None:
        self.name, self.number = name, number

    def __hash__(self) -> int:
        return hash(self.number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and (self.name, self.number) == (other.name, other.number)


KEYS = st.builds(Key, st.integers(0, 5), HASHES) | st.text(max_size=2) | st.integers(0, 300)
CHANGES = st.lists(st.tuples(st.sampled_from(["set", "set", "delete"]), KEYS, st.integers(0, 3)), max_size=250)


def _same(found: Any, wanted: Mapping[Any, int]) -> None:
    assert len(found) == len(wanted)
    assert dict(found.items()) == wanted
    assert set(found) == set(found.keys()) == wanted.keys()
    assert sorted(found.values()) == sorted(wanted.values())
    assert bool(found) is bool(wanted)


@pytest.mark.parametrize("make", MAPS)
@given(begun=st.dictionaries(KEYS, st.integers(0, 3), max_size=120), changes=CHANGES)
def test_a_map_does_what_a_copied_dict_does_and_no_older_one_changes(
    make: Make, begun: dict[Any, int], changes: list[tuple[str, Any, int]]
) -> None:
    steps = [(make(begun), dict(begun))]
    for kind, key, value in changes:
        found, wanted = steps[-1][0], dict(steps[-1][1])
        assert found.get(key) == wanted.get(key)
        assert (key in found) is (key in wanted)
        if kind == "set":
            wanted[key] = value
            steps.append((found.set(key, value), wanted))
        elif key in wanted:
            assert found[key] == wanted.pop(key)
            steps.append((found.delete(key), wanted))
        else:
            with pytest.raises(KeyError):
                found.delete(key)
            with pytest.raises(KeyError):
                found[key]
    for found, wanted in (steps[0], steps[len(steps) // 2], steps[-1]):
        _same(found, wanted)


@pytest.mark.parametrize("make", MAPS)
@given(begun=st.dictionaries(KEYS, st.integers(0, 3), max_size=90), changes=CHANGES)
def test_several_changes_at_once_are_one_new_map(
    make: Make, begun: dict[Any, int], changes: list[tuple[str, Any, int]]
) -> None:
    first, wanted = make(begun), dict(begun)
    changed = first.mutate()
    for kind, key, value in changes:
        assert (key in changed) is (key in wanted)
        assert changed.get(key, -1) == wanted.get(key, -1)
        if kind == "set":
            changed[key] = wanted[key] = value
        elif value:
            assert changed.pop(key, None) == wanted.pop(key, None)
        elif key in wanted:
            del changed[key], wanted[key]

    _same(changed.finish(), wanted)
    _same(first, begun)


@pytest.mark.parametrize("make", MAPS)
@given(entries=st.dictionaries(st.integers(0, 400), st.integers(0, 1), max_size=150), order=st.randoms())
def test_maps_are_the_same_whichever_way_they_were_made(make: Make, entries: dict[int, int], order: Any) -> None:
    one, other = make(entries), make()
    shuffled = list(entries)
    order.shuffle(shuffled)
    for key in [*range(500, 560), *shuffled]:
        other = other.set(key, entries.get(key, 0))
    for key in range(500, 560):
        other = other.delete(key)

    assert one == other
    assert list(one.items()) == list(other.items())
    assert hash(one) == hash(other)
    assert one != other.set(-1, 0)
    assert one != entries
    assert not entries or one != one.set(min(entries), 2)
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_map_that_has_shrunk_keeps_no_branches() -> None:
    """Else a region that once had a million VMs would for ever be walked through as if it had."""
    grown = PlainMap(dict.fromkeys(range(20_000)))
    assert isinstance(grown._root, list)
    for key in range(19_990):
        grown = grown.delete(key)

    assert isinstance(grown._root, dict)
    assert sorted(grown) == list(range(19_990, 20_000))


def test_a_change_shares_all_leaves_but_one() -> None:
    before = PlainMap(dict.fromkeys(range(5_000)))
    after = before.set(17, None)
    changed = [
        old for old, new in zip(plain._leaves(before._root), plain._leaves(after._root), strict=True) if old is not new
    ]

    assert len(changed) == 1
