"""Explanations for people, line by line, and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from forewarn.guest.agent.deciding.policy import asks
from forewarn.guest.agent.keeping.lines import event_fields
from forewarn.guest.agent.tools.explain import Explanation, PlannedStep, in_words, rule_words
from forewarn.terms import ScheduledEvent
from forewarn.wire.times import format_iso8601

_WIDTH = 12  # the longest title and a gap


def explanation_lines(explanation: Explanation, path: str, now: datetime) -> Iterator[str]:
    """One event for a person at a terminal."""
    yield _head(explanation.event, now)
    decision = explanation.decision
    if decision.rule is None:
        yield _line("mine", f"no: {decision.reason}")
        yield _line("verdict", explanation.verdict)
        return
    yield _line("mine", "yes")
    yield _line("rule", f"{rule_words(decision.rule, path)} {asks(decision.rule)}")
    yield _line("verdict", explanation.verdict)
    if explanation.budget_seconds is not None and explanation.steps_end_by is not None:
        until = format_iso8601(explanation.steps_end_by)
        yield _line("time", f"{in_words(explanation.budget_seconds)}, until {until}")
    for number, planned in enumerate(explanation.steps, start=1):
        yield _line("steps" if number == 1 else "", f"{number}. {_step(planned)}")
    yield _line("approval", explanation.approval)
    for number, undone in enumerate(explanation.afterwards):
        yield _line("" if number else "afterwards", undone)
    for doubt in explanation.doubts:
        yield _line("beware", doubt)


def _head(event: ScheduledEvent, now: datetime) -> str:
    source = f" by {event.source}" if event.source else ""
    duration = event.duration_seconds
    length = f" of {in_words(duration)}" if duration is not None and duration >= 0 else ""
    when = ""
    if event.not_before is not None:
        gap = (event.not_before - now).total_seconds()
        distance = f"in {in_words(gap)}" if gap > 0 else f"{in_words(-gap)} ago" if gap < 0 else "now"
        when = f", NotBefore {format_iso8601(event.not_before)} ({distance})"
    names = ", ".join(event.resources) or "nobody"
    return f"{event.event_id}: {event.type}{length}{source} for {names}, {event.status}{when}"


def _line(title: str, text: str) -> str:
    return f"  {title.ljust(_WIDTH)}{text}"


def _step(planned: PlannedStep) -> str:
    return f"{planned.step.name}: {planned.does}, at most {in_words(planned.most_seconds)}"


def explanation_json(explanation: Explanation) -> dict[str, object]:
    """The same for programs."""
    decision, rule = explanation.decision, explanation.decision.rule
    return {
        "event": event_fields(explanation.event),
        "mine": explanation.mine,
        "verdict": decision.verdict.value,
        "rule": None if rule is None else {"name": rule.name, "line": rule.line or None},
        "reason": decision.reason,
        "budget_seconds": explanation.budget_seconds,
        "steps_end_by": None if explanation.steps_end_by is None else format_iso8601(explanation.steps_end_by),
        "steps": [_step_json(each) for each in explanation.steps],
        "approval": explanation.approval,
        "afterwards": list(explanation.afterwards),
        "doubts": list(explanation.doubts),
    }


def _step_json(planned: PlannedStep) -> dict[str, object]:
    step = planned.step
    return {
        "name": step.name,
        "kind": step.kind,
        "line": step.line or None,
        "does": planned.does,
        "undo": planned.undo,
        "most_seconds": planned.most_seconds,
    }
