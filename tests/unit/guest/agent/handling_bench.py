"""Events, states and moments of an agent, to ask what it owes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from forewarn.guest.agent.deciding.handling import (
    Duties,
    RunningStep,
    Situation,
    Trouble,
    regard,
)
from forewarn.guest.agent.deciding.state import (
    AgentState,
    Begun,
    Finished,
    StepOutcome,
    fold,
)
from forewarn.guest.agent.values import AgentConfig, Rule, Step, Verdict
from forewarn.guest.watch import Watcher
from forewarn.terms import Document, ScheduledEvent

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DRAIN, STOP, LEAVE = Step("drain", "command"), Step("stop", "systemd"), Step("leave", "ready-file")
STEPS = (LEAVE, DRAIN, STOP)
ALL = AgentConfig(
    margin_seconds=30,
    steps=STEPS,
    rules=(
        Rule("evictions", Verdict.PREPARE_THEN_APPROVE, types=("Preempt",), steps=("leave",)),
        Rule("by hand", Verdict.PREPARE_ONLY, types=("Redeploy",)),
        Rule("all", Verdict.PREPARE_THEN_APPROVE),
    ),
)


def event(name: str = "A", kind: str = "Reboot", status: str = "Scheduled", seconds: float = 900) -> ScheduledEvent:
    return ScheduledEvent(name, status, kind, ("web-0",), NOON + timedelta(seconds=seconds), source="Platform")


def seen(
    state: AgentState,
    *events: ScheduledEvent,
    at: float = 0,
    config: AgentConfig = ALL,
    api_version: str = "2020-07-01",
) -> AgentState:
    """A document as a new agent sees it, which knows of earlier ones only what the state says."""
    tracker, now = Watcher(), NOON + timedelta(seconds=at)
    for care in state.cares.values():
        tracker.remember(care.event)
    tracker.see(Document(1, events), now, api_version)
    for record in regard(config, "web-0", state, tracker.events, now):
        state = fold(state, record)
    return state


def done(state: AgentState, *steps: Step) -> AgentState:
    for step in steps:
        run = state.last_run + 1
        state = fold(fold(state, Begun(run, step, "boot", event())), Finished(run, StepOutcome.DONE))
    return state


def begun(state: AgentState, step: Step) -> AgentState:
    return fold(state, Begun(state.last_run + 1, step, "boot", event()))


def moment(state: AgentState, at: float = 0, running: RunningStep | None = None, **troubles: Trouble) -> Situation:
    steps = {step.name: step for step in STEPS}
    return Situation(state, steps, 30, NOON + timedelta(seconds=at), 1000 + at, running, troubles)


def next_work(duties: Duties) -> tuple[str, bool] | None:
    return None if duties.begin is None else (duties.begin.step.name, duties.begin.undo)
