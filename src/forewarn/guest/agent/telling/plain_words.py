"""What a file makes of events, in sentences: for ``check``, for ``install``, and for the first lines of a log."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.guest.agent.deciding.built_in import NO_STEPS_RULE
from forewarn.guest.agent.deciding.policy import PREPARES, conditions, rules_of
from forewarn.guest.agent.deciding.rule_reach import shadows
from forewarn.guest.agent.values import AgentConfig, Rule, Verdict

NO_STEPS = (
    'there are no steps: people are told of events (verdict = "notify"), and none is approved in this VM\'s name, so '
    "each starts at its NotBefore; add a [[step]] to prepare for events, or a [[rule]] with verdict = "
    '"approve-now" to let them start at once'
)
_WITHOUT_STEPS = {
    Verdict.IGNORE: "ignored",
    Verdict.NOTIFY: "told to people, not approved",
    Verdict.APPROVE_NOW: "approved at once",
    Verdict.PREPARE_THEN_APPROVE: "approved at once, since there are no steps",
    Verdict.PREPARE_ONLY: "not approved",
}


def warning(config: AgentConfig) -> str:
    """The warning for a file without steps, that nothing is prepared or approved; empty where there are steps."""
    rules = rules_of(config)
    return NO_STEPS if rules[-1] is NO_STEPS_RULE and not shadows(rules, len(rules) - 1) else ""


def skipped(config: AgentConfig) -> list[str]:
    """The events for which no step is done, and what happens to each instead, in the order of the policy."""
    return list(_skipped(config))


def _skipped(config: AgentConfig) -> Iterator[str]:
    rules = rules_of(config)
    for number, rule in enumerate(rules):
        if (rule.verdict in PREPARES and config.steps) or rule is NO_STEPS_RULE or shadows(rules, number):
            continue
        asked = conditions(rule) or ("every event" if number == 0 else "every other event")
        yield f"{asked}: {_WITHOUT_STEPS[rule.verdict]} ({where(rule)})"


def where(rule: Rule) -> str:
    """Which rule, and where it stands."""
    return f"rule {rule.name!r}, {f'line {rule.line}' if rule.line else 'built in'}"
