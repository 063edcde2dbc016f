"""What one node knows of its own place: current or not, leading or not, and for how long."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.plane.ports import LEASE_SECONDS, Diverged, JournalFault
from forewarn.plane.standing import Standing


class Watch:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def among_others(watch: Watch, staleness_seconds: float = 30.0) -> Standing:
    staleness = timedelta(seconds=staleness_seconds)
    return Standing(shared=True, staleness=staleness, lease_seconds=LEASE_SECONDS, elapsed=watch)


def test_a_node_that_has_heard_nothing_yet_is_neither_current_nor_the_leader() -> None:
    standing = among_others(Watch())
    assert standing.stale
    assert not standing.leads


def test_an_answer_is_good_from_when_it_was_asked_for_not_from_when_it_came() -> None:
    watch = Watch()
    standing = among_others(watch)
    watch.seconds += LEASE_SECONDS - 1  # so long was the answer on its way
    standing.heard(100.0, leads=True)
    assert standing.leads
    watch.seconds += 1
    assert (standing.leads, standing.stale) == (False, "")
    watch.seconds = 130.0
    assert "not heard from its store for 30 s" in standing.stale


def test_a_change_of_lead_is_told_once_also_when_a_lease_had_run_out_in_between() -> None:
    watch, told = Watch(), list[bool]()
    standing = among_others(watch)
    standing.on_lead(told.append)
    for _ in range(3):
        standing.heard(watch(), leads=True)
    assert told == [True]
    watch.seconds += LEASE_SECONDS
    standing.heard(watch(), leads=True)  # others may have led meanwhile: what they left is taken up
    standing.unheard()
    standing.unheard()
    assert told == [True, True, False]


def test_a_node_that_is_lost_never_becomes_current_or_leads_again() -> None:
    watch = Watch()
    standing = among_others(watch)
    standing.lose(Diverged("History was lost there."))
    standing.heard(watch(), leads=True)
    assert "has lost what this node has seen" in standing.stale
    assert not standing.leads
    assert standing.lost.is_set()


@pytest.mark.parametrize("why", ["closing", "odds"])
def test_a_node_that_takes_no_commands_says_so_before_anything_is_done(why: str) -> None:
    standing = among_others(Watch())
    standing.check()
    setattr(standing, why, "Its rules differ.")
    with pytest.raises(JournalFault, match=r"nothing was written|Nothing was changed"):
        standing.check()
    assert not standing.willing
