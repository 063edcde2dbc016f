"""People are told of what the policy calls their business."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from forewarn.guest.agent.deciding.state import AgentState, Care
from forewarn.guest.agent.telling.health import AgentHealth
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.telling.reporting import Reporter
from forewarn.guest.agent.values import AgentConfig, Rule, Verdict
from forewarn.guest.system import this_machine
from forewarn.guest.watch import Watcher
from forewarn.terms import Document, ScheduledEvent

MACHINE = this_machine()

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = ScheduledEvent("A", "Scheduled", "Reboot", ("web-0",), NOON)


class Listening(Reporter):
    """Keeps what it would tell."""

    def __init__(self, config: AgentConfig) -> None:
        threads = MACHINE.threads
        health = AgentHealth(threads, lambda: 0.0, unhealthy_after_seconds=60.0, first_read_seconds=150.0)
        super().__init__(MACHINE, config, Metrics(threads), health, lambda: NOON)
        self.heard: list[str] = []

    def tell(self, occasion: str, event: ScheduledEvent, text: str, *, level: int = 0) -> None:
        self.heard.append(occasion)


@pytest.mark.parametrize(("verdict", "heard"), [(Verdict.IGNORE, []), (Verdict.NOTIFY, ["scheduled"])])
def test_nobody_is_notified_of_an_ignored_event(verdict: Verdict, heard: list[str]) -> None:
    reporter = Listening(AgentConfig(rules=(Rule("all", verdict),)))
    reporter.named("web-0")
    for change in Watcher().see(Document(2, (EVENT,)), NOON):
        reporter.changed(change)
    assert reporter.heard == heard


def test_why_a_vm_is_out_of_service_is_said_as_it_is() -> None:
    reporter = Listening(AgentConfig())
    reporter.health.good_read()
    for status, why in (("Scheduled", "Reboot is ahead"), ("Started", "Reboot is under way")):
        care = Care(replace(EVENT, status=status), NOON, Verdict.PREPARE_THEN_APPROVE)
        reporter.in_service(AgentState({"A": care}))
        assert reporter.health.why_not_ready() == why
    reporter.in_service(AgentState())
    assert reporter.health.why_not_ready() == ""


def test_that_an_event_names_the_vm_no_more_is_told_once() -> None:
    reporter, watcher = Listening(AgentConfig()), Watcher()
    reporter.named("web-0")
    shared = replace(EVENT, resources=("web-0", "web-1"))
    for document in (Document(1, (shared,)), Document(2, (replace(EVENT, resources=("web-1",)),)), Document(3)):
        for change in watcher.see(document, NOON):
            reporter.changed(change)
    assert reporter.heard == ["scheduled", "canceled"]
