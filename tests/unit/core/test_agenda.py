"""The heap of deadlines against a sorted list."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from forewarn.core.agenda import Agenda, Due
from tests.unit.core.world import NOON

_DUES = st.lists(st.tuples(st.integers(0, 50), st.sampled_from("abcdef")), max_size=60)


def filled(dues: list[tuple[int, str]]) -> Agenda:
    agenda = Agenda()
    for seconds, key in dues:
        agenda = agenda.add(NOON + timedelta(seconds=seconds), key)
    return agenda


def drained(agenda: Agenda) -> list[tuple[int, str]]:
    found = []
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
    before.add(NOON, "x")
    if dues:
        before.rest()
    assert drained(before) == sorted(dues)


def test_nothing_is_due_in_an_empty_agenda() -> None:
    assert Agenda().first() is None


def test_the_first_is_looked_at_and_not_taken() -> None:
    agenda = Agenda().add(NOON, "a")
    assert agenda.first() == agenda.first() == Due(NOON, "a")


def test_many_entries_in_rising_and_falling_order_do_not_go_deep() -> None:
    rising = filled([(number, "a") for number in range(5_000)])
    falling = filled([(-number, "a") for number in range(5_000)])
    assert len(drained(rising)) == len(drained(falling)) == 5_000


@given(_DUES, st.integers(-1, 51))
def test_a_split_takes_all_that_is_due_in_order_and_leaves_the_rest(dues: list[tuple[int, str]], seconds: int) -> None:
    agenda, now = filled(dues), NOON + timedelta(seconds=seconds)
    due, later = agenda.split(now)
    assert [(int((at - NOON).total_seconds()), key) for at, key in due] == sorted(d for d in dues if d[0] <= seconds)
    assert drained(later) == sorted(d for d in dues if d[0] > seconds)
    assert agenda.due_by(now) == due
    assert drained(agenda) == sorted(dues)


def test_an_agenda_that_grew_towards_the_past_can_be_let_go() -> None:
    """Each new first entry hangs the others below it; freeing such a chain must not exhaust the stack."""
    agenda = filled([(-number, "a") for number in range(200_000)])
    assert agenda.first() == Due(NOON - timedelta(seconds=199_999), "a")
    del agenda
