"""The heap of deadlines against a sorted list."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from forewarn.core.agenda import Agenda, Due
from forewarn.core.keys import Key
from tests.unit.core.world import NOON

_DUES = st.lists(st.tuples(st.integers(0, 50), st.sampled_from("abcdef")), max_size=60)


def filled(dues: list[tuple[int, str]]) -> Agenda:
    agenda = Agenda()
    for seconds, key in dues:
        agenda = agenda.add(NOON + timedelta(seconds=seconds), Key(key))
    return agenda


def drained(agenda: Agenda) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    while (due := agenda.first()) is not None:
        found.append((int((due.at - NOON).total_seconds()), due.key))
        agenda = agenda.rest()
    return found


@given(_DUES)
def test_what_goes_in_comes_out_soonest_first_and_by_key_among_equals(dues: list[tuple[int, str]]) -> None:
    assert drained(filled(dues)) == sorted(dues)


@given(_DUES, st.randoms(use_true_random=False))
def test_the_order_of_adding_does_not_matter(dues: list[tuple[int, str]], random: object) -> None:
    assert hasattr(random, "sample")
    assert drained(filled(random.sample(dues, len(dues)))) == drained(filled(dues))


@given(_DUES)
def test_an_old_agenda_is_not_changed_by_what_comes_after(dues: list[tuple[int, str]]) -> None:
    before = filled(dues)
    before.add(NOON, Key("x"))
    if dues:
        before.rest()
    assert drained(before) == sorted(dues)


def test_nothing_is_due_in_an_empty_agenda() -> None:
    assert Agenda().first() is None


def test_the_first_is_looked_at_and_not_taken() -> None:
    agenda = Agenda().add(NOON, Key("a"))
    assert agenda.first() == agenda.first() == Due(NOON, Key("a"))


@given(_DUES, st.integers(-1, 51))
def test_what_is_due_by_an_instant_is_split_off_and_the_rest_stays(dues: list[tuple[int, str]], until: int) -> None:
    agenda = filled(dues)
    due, later = agenda.split(NOON + timedelta(seconds=until), 100)
    assert due == [*takewhile(lambda due: due.at <= NOON + timedelta(seconds=until), agenda.soonest(100))]
    assert [(int((each.at - NOON).total_seconds()), each.key) for each in due] == sorted(
        each for each in dues if each[0] <= until
    )
    assert drained(later) == sorted(each for each in dues if each[0] > until)


def test_where_nothing_is_due_the_agenda_is_the_same() -> None:
    agenda = filled([(5, "a")])
    assert agenda.split(NOON, 1) == ([], agenda)


def test_many_entries_in_rising_and_falling_order_do_not_go_deep() -> None:
    rising = filled([(number, "a") for number in range(5_000)])
    falling = filled([(-number, "a") for number in range(5_000)])
    assert len(drained(rising)) == len(drained(falling)) == 5_000


def test_freeing_a_long_agenda_does_not_exhaust_the_stack() -> None:
    falling = filled([(-number, "a") for number in range(100_000)])
    assert falling.first() is not None
    del falling


@given(
    st.dictionaries(st.integers(0, 999).map("key-{:03}".format), st.integers(0, 2), max_size=150),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 999).map("key-{:03}".format)), max_size=20),
    st.integers(0, 150),
)
def test_many_of_one_instant_that_share_a_node_come_out_in_order_with_those_added_later(
    at_once: dict[str, int], later: list[tuple[int, str]], most: int
) -> None:
    by_instant: dict[datetime, list[Key]] = defaultdict(list)
    for key, seconds in at_once.items():
        by_instant[NOON + timedelta(seconds=seconds)].append(Key(key))
    agenda = Agenda.of(by_instant)
    for seconds, key in later:
        agenda = agenda.add(NOON + timedelta(seconds=seconds), Key(key))
    expected = sorted([*((seconds, key) for key, seconds in at_once.items()), *later])

    due, rest = agenda.split(NOON + timedelta(seconds=1), most)

    taken = [each for each in expected if each[0] <= 1][:most]
    assert [(int((each.at - NOON).total_seconds()), each.key) for each in due] == taken
    assert drained(rest) == expected[len(taken) :]
    assert drained(agenda) == expected


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 999).map("key-{:03}".format)), min_size=70, max_size=200),
    st.integers(0, 3),
    st.integers(0, 250),
)
def test_entries_that_were_added_one_by_one_come_out_in_order_wherever_they_are_kept(
    dues: list[tuple[int, str]], until: int, most: int
) -> None:
    """More than are kept beside the heap, so that some of them have gone into it and some have not."""
    agenda = filled(dues)
    assert [(int((due.at - NOON).total_seconds()), due.key) for due in agenda.soonest(most)] == sorted(dues)[:most]

    due, rest = agenda.split(NOON + timedelta(seconds=until), most)

    taken = [each for each in sorted(dues) if each[0] <= until][:most]
    assert [(int((each.at - NOON).total_seconds()), each.key) for each in due] == taken
    assert drained(rest.add(NOON, Key("a"))) == sorted([(0, "a"), *sorted(dues)[len(taken) :]])
    assert drained(agenda) == sorted(dues)
