"""People are told of what the policy calls their business."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from forewarn.guest.agent.config import AgentConfig, Rule, Verdict
from forewarn.guest.agent.health import Health
from forewarn.guest.agent.metrics import Metrics
from forewarn.guest.agent.reporting import Reporter
from forewarn.guest.agent.sd_notify import Supervisor
from forewarn.guest.watch import Watcher
from forewarn.terms import Document, ScheduledEvent

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = ScheduledEvent("A", "Scheduled", "Reboot", ("web-0",), NOON)


class Listening(Reporter):
    """Keeps what it would tell."""

    def __init__(self, config: AgentConfig) -> None:
        health = Health(lambda: 0.0, unhealthy_after_seconds=60.0, first_read_seconds=150.0)
        super().__init__(config, Metrics(), health, Supervisor(), lambda: NOON)
        self.heard: list[str] = []

    def tell(self, occasion: str, event: ScheduledEvent, text: str, *, level: int = 0) -> None:
        self.heard.append(occasion)


@pytest.mark.parametrize(("verdict", "heard"), [(Verdict.IGNORE, []), (Verdict.NOTIFY, ["scheduled"])])
def test_an_ignored_event_is_nobodys_business(verdict: Verdict, heard: list[str]) -> None:
    reporter = Listening(AgentConfig(rules=(Rule("all", verdict),)))
    reporter.named("web-0")
    for change in Watcher().see(Document(2, (EVENT,)), NOON):
        reporter.changed(change)
    assert reporter.heard == heard
