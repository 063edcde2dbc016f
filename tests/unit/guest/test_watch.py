from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.watch import Appeared, Change, Changed, Ended, Ending, Started, Watcher, judge
from forewarn.terms import Document, ScheduledEvent
from tests.unit.guest.stage import ID, NOON, an_event

OTHER = "11111111-2222-3333-4444-555555555555"
LATER = NOON + timedelta(minutes=1)
AFTER = NOON + timedelta(minutes=20)
scheduled, started = an_event(), an_event(status="Started")


def ending(*documents: Document, at: object = LATER) -> Ended:
    """The end that the last of these documents shows."""
    watcher = Watcher()
    for document in documents[:-1]:
        watcher.see(document, NOON)
    assert at in (LATER, AFTER)
    (change,) = watcher.see(documents[-1], LATER if at == LATER else AFTER)
    assert isinstance(change, Ended)
    return change


# A life


def test_the_life_of_an_event_as_documents_tell_it() -> None:
    watcher = Watcher()
    assert watcher.see(Document(1), NOON) == ()
    assert watcher.see(Document(2, (scheduled,)), NOON) == (Appeared(scheduled, NOON),)
    assert watcher.see(Document(2, (scheduled,)), LATER) == ()
    assert watcher.see(Document(3, (started,)), LATER) == (Started(started, LATER),)
    (end,) = watcher.see(Document(4), AFTER)
    assert isinstance(end, Ended)
    assert (end.event, end.at, end.how) == (started, AFTER, Ending.COMPLETED)
    assert watcher.events == ()


def test_an_answer_that_tells_nothing_changes_nothing() -> None:
    watcher = Watcher()
    watcher.see(Document(2, (scheduled,)), NOON)
    assert watcher.see(None, LATER) == ()
    assert watcher.events == (scheduled,)
    assert watcher.see(Document(2, (scheduled,)), LATER) == ()


def test_a_failure_of_hardware_appears_already_started() -> None:
    assert Watcher().see(Document(1, (started,)), NOON) == (Appeared(started, NOON), Started(started, NOON))


def test_a_start_that_fell_between_two_looks_is_not_made_up() -> None:
    end = ending(Document(2, (scheduled,)), Document(4))
    assert end.how == Ending.UNKNOWN
    assert end.why


def test_what_is_new_comes_before_what_has_ended() -> None:
    watcher = Watcher()
    watcher.see(Document(1, (started,)), NOON)
    changes = watcher.see(Document(3, (an_event(OTHER),)), LATER)
    assert [type(change) for change in changes] == [Appeared, Ended]


def test_ids_are_the_same_whatever_their_case() -> None:
    watcher = Watcher()
    watcher.see(Document(1, (scheduled,)), NOON)
    assert watcher.see(Document(1, (replace(scheduled, event_id=ID.lower()),)), LATER) == ()


def test_the_state_is_understood_in_any_case() -> None:
    watcher = Watcher()
    watcher.see(Document(1, (scheduled,)), NOON)
    (change,) = watcher.see(Document(2, (replace(started, status="started"),)), LATER)
    assert isinstance(change, Started)


def test_unknown_states_and_types_are_passed_on() -> None:
    strange = replace(scheduled, status="Pondered", type="Levitate")
    watcher = Watcher()
    assert watcher.see(Document(1, (strange,)), NOON) == (Appeared(strange, NOON),)
    assert ending(Document(1, (strange,)), Document(2), at=AFTER).how == Ending.UNKNOWN


def test_a_state_that_becomes_an_unknown_one_is_a_change() -> None:
    strange = replace(scheduled, status="Pondered")
    watcher = Watcher()
    watcher.see(Document(1, (scheduled,)), NOON)
    assert watcher.see(Document(2, (strange,)), LATER) == (Changed(strange, LATER, scheduled),)


# What does not happen, and does


def test_a_moved_not_before_is_told() -> None:
    moved = an_event(minutes=30)
    watcher = Watcher()
    watcher.see(Document(1, (scheduled,)), NOON)
    assert watcher.see(Document(2, (moved,)), LATER) == (Changed(moved, LATER, scheduled),)


def test_a_start_with_other_names_tells_both() -> None:
    wider = replace(started, resources=("web-0", "web-1"))
    watcher = Watcher()
    watcher.see(Document(1, (scheduled,)), NOON)
    changes = watcher.see(Document(2, (wider,)), LATER)
    assert [type(change) for change in changes] == [Changed, Started]


def test_a_started_event_never_goes_back() -> None:
    watcher = Watcher()
    watcher.see(Document(3, (started,)), NOON)
    assert watcher.see(Document(2, (scheduled,)), LATER) == ()
    assert watcher.see(Document(3, (started,)), LATER) == ()
    (end,) = watcher.see(Document(4), AFTER)
    assert isinstance(end, Ended)
    assert end.how == Ending.COMPLETED


def test_an_older_api_version_that_tells_less_changes_nothing() -> None:
    less = replace(scheduled, description=None, source=None, duration_seconds=None)
    watcher = Watcher()
    watcher.see(Document(1, (scheduled,)), NOON)
    assert watcher.see(Document(1, (less,)), LATER) == ()
    assert watcher.events == (scheduled,)
    assert watcher.see(Document(1, (scheduled,)), LATER) == ()


def test_a_not_before_that_cannot_be_read_any_more_is_remembered() -> None:
    watcher = Watcher()
    watcher.see(Document(1, (scheduled,)), NOON)
    assert watcher.see(Document(1, (an_event(minutes=None),)), LATER) == ()
    assert watcher.events == (scheduled,)


# How it ended


def test_gone_in_one_change_before_its_time_is_canceled() -> None:
    assert ending(Document(2, (scheduled,)), Document(3)).how == Ending.CANCELED


def test_gone_in_one_change_after_its_time_cannot_be_known() -> None:
    assert ending(Document(2, (scheduled,)), Document(3), at=AFTER).how == Ending.UNKNOWN


def test_gone_when_the_count_has_started_over_cannot_be_known() -> None:
    assert ending(Document(7, (scheduled,)), Document(1)).how == Ending.UNKNOWN
    assert ending(Document(0, (scheduled,)), Document(1)).how == Ending.UNKNOWN


def test_gone_without_a_time_cannot_be_known() -> None:
    assert ending(Document(2, (an_event(minutes=None),)), Document(3)).how == Ending.UNKNOWN


def test_the_incarnation_counts_from_the_last_document_that_told_something() -> None:
    assert ending(Document(2, (scheduled,)), Document(2, (scheduled,)), Document(3)).how == Ending.CANCELED


def test_an_event_remembered_from_an_earlier_process_ends() -> None:
    watcher = Watcher()
    watcher.remember(scheduled)
    watcher.remember(replace(started, event_id=OTHER))
    ends = watcher.see(Document(3), LATER)
    assert [(end.event.event_id, end.how) for end in ends if isinstance(end, Ended)] == [
        (ID, Ending.UNKNOWN),
        (OTHER, Ending.COMPLETED),
    ]


def test_an_event_remembered_from_an_earlier_process_does_not_appear_again() -> None:
    watcher = Watcher()
    watcher.remember(scheduled)
    assert watcher.see(Document(3, (started,)), LATER) == (Started(started, LATER),)


@pytest.mark.parametrize("step", [-5, 0, 1, 2, 9])
@pytest.mark.parametrize("at", [LATER, AFTER])
def test_what_had_started_was_completed_whatever_else_is_known(step: int, at: object) -> None:
    how, why = judge(started, started=True, step=step, at=LATER if at == LATER else AFTER)
    assert how == Ending.COMPLETED
    assert why


# Any story at all

events = st.builds(
    an_event,
    st.sampled_from([ID, OTHER, ID.lower(), "33333333-2222-3333-4444-555555555555"]),
    st.sampled_from(["Scheduled", "Started", "", "Nonsense"]),
    st.sampled_from([15.0, 30.0, None]),
)
documents = st.none() | st.builds(Document, st.integers(0, 5), st.lists(events, max_size=4).map(tuple))


@given(st.lists(documents, max_size=12))
def test_whatever_documents_come_every_life_is_whole_and_in_order(story: list[Document | None]) -> None:
    watcher = Watcher()
    alive: dict[str, list[type[Change]]] = {}
    for document in story:
        for change in watcher.see(document, LATER):
            key = change.event.event_id.upper()
            if isinstance(change, Appeared):
                assert key not in alive
                alive[key] = []
            assert key in alive
            assert Started not in alive[key] or not isinstance(change, Started)
            alive[key].append(type(change))
            if isinstance(change, Ended):
                assert (change.how == Ending.COMPLETED) == (Started in alive.pop(key))
        if document is not None:
            shown: set[str] = {event.event_id.upper() for event in document.events}
            assert alive.keys() == shown == {event.event_id.upper() for event in watcher.events}


@given(st.lists(documents, max_size=6), documents)
def test_the_same_document_twice_tells_nothing_new(story: list[Document | None], last: Document | None) -> None:
    watcher = Watcher()
    for document in (*story, last):
        watcher.see(document, NOON)
    assert watcher.see(last, LATER) == ()


def test_the_first_of_two_entries_with_one_id_counts() -> None:
    twin: ScheduledEvent = replace(scheduled, type="Freeze")
    assert Watcher().see(Document(1, (scheduled, twin)), NOON) == (Appeared(scheduled, NOON),)
