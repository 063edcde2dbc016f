"""An approval is sent, and sent again ever more rarely, until somebody sees that it was heard."""

from __future__ import annotations

import queue

import pytest

from forewarn.guest.agent.approval import Approvals, post
from forewarn.guest.agent.inbox import Inbox, Posted
from forewarn.guest.faults import Closed, Fault, Refused


def test_an_approval_that_nobody_saw_is_due_again_ever_more_rarely() -> None:
    approvals, tick, pauses = Approvals(), 0.0, []
    for _ in range(8):
        assert approvals.is_due("A", tick)
        approvals.begin("A")
        assert not approvals.is_due("A", tick + 1e6)
        approvals.ended("A", tick)
        pause = approvals.wake_seconds(tick)
        assert pause is not None
        assert not approvals.is_due("A", tick + pause - 0.01)
        pauses.append(pause)
        tick += pause
    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]


def test_approvals_of_several_events_do_not_wait_for_each_other() -> None:
    approvals = Approvals()
    approvals.begin("A")
    assert approvals.under_way
    assert approvals.is_due("B", 0)
    approvals.ended("A", 0)
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
    inbox: Inbox = queue.SimpleQueue()
    service = Service(problem)
    post(service, "A", "a", inbox)
    assert inbox.get(timeout=20) == Posted("A", fault)
    assert service.heard == ["a"]
