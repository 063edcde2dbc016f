"""The table of an event's life, held against what the decisions allow."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import get_args

import pytest

from forewarn.core import facts as f
from forewarn.core.lifecycle import TRANSITIONS, EventFact, phase_after
from forewarn.core.phases import ENDED, PENDING, Phase

_KINDS = get_args(EventFact)
_ORDER = [Phase.SCHEDULED, Phase.APPROVED, Phase.STARTED, Phase.COMPLETED]


def impossible() -> Iterable[tuple[Phase | None, type[EventFact]]]:
    return sorted(set(product([None, *Phase], _KINDS)) - set(TRANSITIONS), key=str)


@pytest.mark.parametrize(("phase", "kind"), impossible())
def test_a_transition_that_is_not_in_the_table_raises(phase: Phase | None, kind: type[EventFact]) -> None:
    with pytest.raises(AssertionError, match=f"{kind.__name__} cannot follow"):
        phase_after(phase, kind)


@pytest.mark.parametrize(("phase", "kind"), TRANSITIONS)
def test_every_transition_in_the_table_happens(phase: Phase | None, kind: type[EventFact]) -> None:
    assert phase_after(phase, kind) is TRANSITIONS[phase, kind]


def test_a_life_never_goes_backwards_but_for_those_who_begin_to_read() -> None:
    for (before, fact), later in TRANSITIONS.items():
        if before is not None and later is not Phase.CANCELED and fact is not f.EventAnnounced:
            assert _ORDER.index(later) >= _ORDER.index(before)


def test_nothing_follows_an_end_and_only_what_is_pending_is_canceled() -> None:
    assert not {before for before, _ in TRANSITIONS} & ENDED
    assert {before for (before, fact) in TRANSITIONS if fact is f.EventCanceled} == PENDING


def test_a_life_begins_scheduled_or_started() -> None:
    assert {later for (before, _), later in TRANSITIONS.items() if before is None} == {Phase.SCHEDULED, Phase.STARTED}


def test_every_phase_can_be_reached_and_left_unless_it_is_an_end() -> None:
    assert set(TRANSITIONS.values()) == set(Phase)
    assert {before for before, _ in TRANSITIONS if before is not None} == set(Phase) - ENDED
