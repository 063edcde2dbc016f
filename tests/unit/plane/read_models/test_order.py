"""Orders against a sorted list: whatever is added and taken away, and wherever one begins."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forewarn.plane.read_models.order import Order, Sorting, cut

keys = st.text("ab0-", min_size=1, max_size=4)
names = st.builds("ab-1{}".format, st.text("ab-1", max_size=3))


def order_of(found: set[str]) -> Order[str]:
    return Order(cut(sorted(found)))


@given(start=st.sets(keys), changes=st.lists(st.tuples(st.sets(keys), st.sets(keys)), max_size=4), begin=keys)
def test_an_order_is_what_a_sorted_list_is(
    start: set[str], changes: list[tuple[set[str], set[str]]], begin: str
) -> None:
    order, model = order_of(start), set(start)
    for gone, new in changes:
        order, model = order.changed(gone, new), model - gone | new
        assert list(order) == sorted(model)
        assert len(order) == len(model)
        assert list(order.since(begin)) == sorted(key for key in model if key >= begin)
        assert list(order.after(begin)) == sorted(key for key in model if key > begin)
        assert list(order.before(begin)) == sorted((key for key in model if key < begin), reverse=True)
        assert list(order.before()) == sorted(model, reverse=True)
        assert (begin in order) == (begin in model)


@given(found=st.sets(keys), part=st.text("ab0-", min_size=1, max_size=3), after=keys)
def test_a_part_is_found_wherever_it_stands(found: set[str], part: str, after: str) -> None:
    assert list(order_of(found).having(part)) == sorted(key for key in found if part in key)
    assert list(order_of(found).having(part, after)) == sorted(key for key in found if part in key and key > after)
    between = sorted(key for key in found if part in key and "a" < key < after)
    assert list(order_of(found).having(part, "a", after)) == between
    backwards = sorted((key for key in found if part in key), reverse=True)
    assert list(order_of(found).having_before(part)) == backwards
    assert list(order_of(found).having_before(part, after)) == [key for key in backwards if key < after]


def test_an_order_of_many_blocks_is_changed_and_searched_like_one_of_few() -> None:
    some = {f"vm-{number}" for number in range(10_000)}
    order = order_of(some)
    before = list(order)
    gone, new = {f"vm-{number}" for number in range(0, 10_000, 7)}, {f"web-{number}" for number in range(5_000)}
    changed = order.changed(gone, new)
    assert list(changed) == sorted(some - gone | new)
    assert list(changed.having("99")) == sorted(key for key in some - gone | new if "99" in key)
    assert list(changed.before("vm-5")) == sorted((key for key in some - gone if key < "vm-5"), reverse=True)
    assert list(changed.having_before("99", "w")) == sorted((key for key in some - gone if "99" in key), reverse=True)
    assert list(order) == before, "whoever holds the first one sees it as it was"


@given(found=st.lists(names, unique=True, max_size=80), part=st.text("ab-1\n", min_size=1, max_size=4))
def test_a_part_is_found_also_where_it_begins_in_what_all_names_have_in_common(found: list[str], part: str) -> None:
    assert list(order_of(set(found)).having(part)) == sorted(key for key in found if part in key)


def test_keys_that_come_in_any_order_are_sorted_a_few_at_a_time() -> None:
    many = sorted((f"vm-{number}" for number in range(20_000)), key=hash)
    for arrived in (many, sorted(many), sorted(many, reverse=True)):
        order, portions = finished(added(arrived))
        assert list(order) == sorted(many)
        assert portions > 10


@given(found=st.lists(keys, unique=True))
def test_few_keys_are_sorted_too(found: list[str]) -> None:
    assert list(finished(added(found))[0]) == sorted(found)


def added(arrived: list[str]) -> Sorting[str]:
    sorting = Sorting[str]()
    for first in range(0, len(arrived), 500):
        sorting.add(arrived[first : first + 500])
    return sorting


def finished(sorting: Sorting[str]) -> tuple[Order[str], int]:
    """The order, and in how many steps it was made."""
    steps, portions = sorting.ordered(), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, portions
        portions += 1
