"""What the agent would do about a document, and why: the same policy and the same arithmetic, with nothing done.

Pure: a config, a document, a name and an instant in; explanations out, as values, as JSON, or as lines for a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from forewarn.guest.agent.deciding.handling import Situation, deadline_of, owed
from forewarn.guest.agent.deciding.policy import Decision, chosen_steps, decide
from forewarn.guest.agent.deciding.state import AgentState, Care, Mark, StepEffect
from forewarn.guest.agent.deciding.windows import when_words
from forewarn.guest.agent.steps import does, undoes
from forewarn.guest.agent.values import AgentConfig, Rule, Sharing, Step, Verdict
from forewarn.guest.instance import concerns, is_name
from forewarn.guest.watch import is_started
from forewarn.terms import Document, ScheduledEvent
from forewarn.wire.times import format_iso8601

_VERDICTS = {
    Verdict.IGNORE: "ignore it",
    Verdict.NOTIFY: "tell people, and do nothing else",
    Verdict.PREPARE_THEN_APPROVE: "prepare, then approve",
    Verdict.APPROVE_NOW: "approve at once",
    Verdict.PREPARE_ONLY: "prepare, and never approve",
}


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step as it would run. ``most_seconds``: what it may take if those before it took nothing."""

    step: Step
    does: str
    undo: str
    most_seconds: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything there is to say about one event."""

    event: ScheduledEvent
    mine: bool
    decision: Decision
    verdict: str
    budget_seconds: float | None  # for all steps together; None: there are none
    steps_end_by: datetime | None
    steps: tuple[PlannedStep, ...]
    approval: str
    afterwards: tuple[str, ...]  # what is undone, in its order
    doubts: tuple[str, ...]


def explain(config: AgentConfig, document: Document, own_name: str, now: datetime) -> tuple[Explanation, ...]:
    """One explanation for each event of the document, in its order."""
    return tuple(_explain(config, event, own_name, now) for event in document.events)


def _explain(config: AgentConfig, event: ScheduledEvent, own_name: str, now: datetime) -> Explanation:
    decision = decide(config, event, own_name)
    chosen = () if is_started(event) else chosen_steps(decision, config.steps)
    care = Care(event, now, decision.verdict, tuple(step.name for step in chosen))
    end_by = deadline_of(care, config.margin_seconds)
    budget = max(0.0, (end_by - now).total_seconds())
    steps = _plan(config, care, chosen, now)
    return Explanation(
        event=event,
        mine=concerns(event, own_name),
        decision=decision,
        verdict=_VERDICTS[decision.verdict],
        budget_seconds=budget if steps else None,
        steps_end_by=end_by if steps else None,
        steps=steps,
        approval=_approval(config, decision, event, own_name, steps, now),
        afterwards=tuple(f"{each.undo} ({each.step.name})" for each in reversed(steps) if each.undo),
        doubts=tuple(_doubts(event, decision, steps, budget)),
    )


def _plan(config: AgentConfig, care: Care, chosen: tuple[Step, ...], now: datetime) -> tuple[PlannedStep, ...]:
    """What the agent itself would say at each step, if all before it had taken no time."""
    named = {step.name: step for step in config.steps}
    done: tuple[StepEffect, ...] = ()
    planned = []
    for step in chosen:
        work = owed(Situation(AgentState({care.key: care}, done), named, config.margin_seconds, now, tick=0.0)).begin
        seconds = work.seconds if work is not None and work.step == step and not work.undo else 0.0
        planned.append(PlannedStep(step, does(step), undoes(step), seconds))
        done = (*done, StepEffect(step, Mark.DONE, len(planned), "", care.event))
    return tuple(planned)


def _approval(
    config: AgentConfig,
    decision: Decision,
    event: ScheduledEvent,
    own_name: str,
    steps: tuple[PlannedStep, ...],
    now: datetime,
) -> str:
    if is_started(event):
        return "it has started: there is nothing left to approve"
    if not decision.approves:
        when = "" if event.not_before is None else f" ({format_iso8601(event.not_before)})"
        return f"not by this agent: it starts at its NotBefore{when} unless another VM approves it"
    when = "when every step is done; after a failed step not at all" if steps else "at once"
    if window := when_words(config, decision.rule, now, event.not_before):
        when = f"{when}; only {window}"
    others = [name for name in event.resources if not is_name(name, own_name)]
    if not others:
        return f"by this agent, {when}"
    return _shared_approval(config, event, others, when)


def _shared_approval(config: AgentConfig, event: ScheduledEvent, others: list[str], when: str) -> str:
    shared = f"it is shared with {', '.join(others)}"
    barrier = config.barrier
    if barrier.sharing is Sharing.NEVER:
        return f"never: {shared}, and sharing is 'never'"
    if barrier.sharing is Sharing.ALONE:
        return f"by this agent alone, {when}; {shared}, and nobody asks whether they are ready"
    if not barrier.listen:
        return f"not at all, as long as no [barrier] is set up: {shared}, and whether they are ready cannot be known"
    patience = "NotBefore" if barrier.patience_seconds is None else f"{in_words(barrier.patience_seconds)} have passed"
    return (
        f"when all are ready, by {event.resources[0]} or else the next of them that is alive; {shared}, "
        f"and a silent one is waited for until {patience}"
    )


def _doubts(event: ScheduledEvent, decision: Decision, steps: tuple[PlannedStep, ...], budget: float) -> Iterator[str]:
    if not steps:
        if decision.verdict is Verdict.PREPARE_THEN_APPROVE and not is_started(event):
            yield "no step of this file prepares for it: it is approved with nothing done"
        return
    if event.not_before is None:
        yield f"it does not say when it starts, so the shortest notice of a {event.type or 'unknown event'} is assumed"
    wanted = sum(each.step.timeout_seconds or 0.0 for each in steps)
    if budget == 0:
        yield "there is no time left for any step"
    elif wanted > budget:
        yield f"the steps may take {in_words(wanted)}, and there are {in_words(budget)}"


def in_words(seconds: float) -> str:
    """``14 min 30 s``; fractions only below a minute."""
    if seconds < 60:
        return f"{round(seconds, 1):g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def rule_words(rule: Rule | None, path: str) -> str:
    """Which rule it was, and where it stands."""
    if rule is None:
        return "none"
    return f"{rule.name!r} ({f'{path}:{rule.line}' if rule.line else 'built in'})"
