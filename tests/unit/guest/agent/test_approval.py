"""An approval is sent, and sent again ever more rarely, until somebody sees that it was heard."""

from __future__ import annotations

import pytest

from forewarn.guest.agent.doing.approval import Approvals, post
from forewarn.guest.agent.inbox import Inbox, Posted
from forewarn.guest.faults import Closed, Fault, Refused
from forewarn.guest.system import this_machine

MACHINE = this_machine()


def pauses(approvals: Approvals, count: int, *, taken: bool) -> list[float]:
    """How long each of so many approvals in a row is behind the one before."""
    tick, found = 0.0, []
    for _ in range(count):
        assert approvals.is_due("A", tick)
        approvals.begin("A")
        assert not approvals.is_due("A", tick + 1e9)
        approvals.ended("A", tick, taken=taken)
        pause = approvals.wake_seconds(tick)
        assert pause is not None
        assert not approvals.is_due("A", tick + pause - 0.01)
        found.append(pause)
        tick += pause
    return found


def test_an_approval_that_did_not_get_through_is_tried_again_within_a_minute() -> None:
    assert pauses(Approvals(), 8, taken=False) == [2, 4, 8, 16, 32, 60, 60, 60]


def test_an_approval_that_was_taken_is_repeated_a_few_times_in_a_whole_notice() -> None:
    found = pauses(Approvals(), 6, taken=True)
    assert found == [30, 60, 120, 240, 480, 960]
    assert sum(found[:5]) > 15 * 60, "five approvals are all that a notice of fifteen minutes sees"


@pytest.mark.parametrize(("taken", "ago", "pause"), [(1, 10, 20), (3, 10, 110), (1, 3600, 0), (1, -5, None)])
def test_a_restarted_agent_continues_the_pauses_between_approvals(taken: int, ago: float, pause: float | None) -> None:
    approvals = Approvals()
    approvals.resume("A", taken, ago, 1000.0)
    if pause:
        assert not approvals.is_due("A", 1000.0 + pause - 0.01)
    assert approvals.is_due("A", 1000.0 + (pause or 0))


def test_approvals_of_several_events_do_not_wait_for_each_other() -> None:
    approvals = Approvals()
    approvals.begin("A")
    assert approvals.under_way
    assert approvals.is_due("B", 0)
    approvals.ended("A", 0, taken=True)
    assert not approvals.under_way
    approvals.forget("A")
    assert approvals.wake_seconds(0) is None


class Service:
    """Stands where the client stands, and does what it was told."""

    def __init__(self, problem: Exception | None) -> None:
        self.problem = problem
        self.heard: list[str] = []

    def approve(self, *event_ids: str) -> None:
        self.heard += event_ids
        if self.problem is not None:
            raise self.problem


REFUSED = Fault("no such event", 400, lasting=True)


@pytest.mark.parametrize(
    ("problem", "fault"),
    [
        (None, None),
        (Refused(REFUSED), REFUSED),
        (Closed(), Fault("the agent is ending")),
        (RuntimeError("oh"), Fault("RuntimeError: oh")),
    ],
)
def test_the_inbox_hears_what_came_of_an_approval(problem: Exception | None, fault: Fault | None) -> None:
    inbox: Inbox = MACHINE.threads.queue()
    service = Service(problem)
    post(MACHINE.threads, service, "A", "a", inbox)
    assert inbox.get(timeout=20) == Posted("A", fault)
    assert service.heard == ["a"]
