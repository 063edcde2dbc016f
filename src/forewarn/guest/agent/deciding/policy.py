"""The policy: which rule speaks for an event, and what it says. Pure: an event and a name in, a decision out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from forewarn.guest.agent.deciding.built_in import DEFAULT_RULES, NO_STEPS_RULE
from forewarn.guest.agent.values import AgentConfig, Rule, Sharing, Step, Verdict
from forewarn.guest.instance import concerns
from forewarn.terms import ScheduledEvent

PREPARES = frozenset({Verdict.PREPARE_THEN_APPROVE, Verdict.PREPARE_ONLY})
APPROVES = frozenset({Verdict.PREPARE_THEN_APPROVE, Verdict.APPROVE_NOW})


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done about one event, by which rule (None: it is not about this VM), and why in a sentence."""

    verdict: Verdict
    rule: Rule | None
    steps: tuple[str, ...] | None  # names; None is all of the file's, () is none
    reason: str

    @property
    def prepares(self) -> bool:
        return self.verdict in PREPARES

    @property
    def approves(self) -> bool:
        return self.verdict in APPROVES


def rules_of(config: AgentConfig) -> tuple[Rule, ...]:
    """The file's rules and behind them the built-in ones, the last of which fits every event.

    A file with neither steps nor a barrier has not said what being prepared means: ``NO_STEPS_RULE`` stands behind it.
    """
    barrier = config.barrier
    is_set_up = bool(config.steps or barrier.listen or barrier.sharing is Sharing.ALONE)
    return (*config.rules, *(DEFAULT_RULES if is_set_up else (NO_STEPS_RULE,)))


def decide(config: AgentConfig, event: ScheduledEvent, own_name: str, *, others: Verdict = Verdict.IGNORE) -> Decision:
    """The first rule that fits decides; see ``rules_of``.

    An event that does not name this VM gets ``others``, at most a notification, whatever the rules say.
    """
    if not concerns(event, own_name):
        return Decision(others, None, (), f"it does not name {own_name or 'this VM'}")
    rule = next(rule for rule in rules_of(config) if fits(rule, event, own_name))
    steps = rule.steps if rule.verdict in PREPARES else ()
    return Decision(rule.verdict, rule, steps, _reason(rule))


def chosen_steps(decision: Decision, steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps that a decision asks for, in the order of the file."""
    wanted = decision.steps
    return tuple(step for step in steps if wanted is None or step.name in wanted) if decision.prepares else ()


def fits(rule: Rule, event: ScheduledEvent, own_name: str) -> bool:
    """Whether every condition of the rule holds. What the document does not tell fits only a rule that does not ask."""
    return (
        _one_of(event.type, rule.types)
        and _one_of(event.source, rule.sources)
        and _one_of(event.status, rule.statuses)
        and (not rule.names or any(fnmatchcase(own_name.casefold(), name.casefold()) for name in rule.names))
        and (rule.shorter_than_seconds is None or _shorter(event.duration_seconds, rule.shorter_than_seconds))
    )


def _one_of(value: str | None, wanted: tuple[str, ...]) -> bool:
    return not wanted or (value is not None and value.casefold() in {each.casefold() for each in wanted})


def _shorter(duration_seconds: int | None, limit_seconds: float) -> bool:
    """-1 is how the service says that it does not know, and an unknown interruption is not a short one."""
    return duration_seconds is not None and 0 <= duration_seconds < limit_seconds


def _reason(rule: Rule) -> str:
    return f"rule {rule.name!r} {asks(rule)}"


def asks(rule: Rule) -> str:
    """Which events a rule is for, behind its name."""
    asked = conditions(rule)
    return f"asks for {asked}" if asked else "fits every event"


def conditions(rule: Rule) -> str:
    """What a rule asks of an event, in words; empty where it asks nothing."""
    parts = (
        _either("type", rule.types),
        _either("source", rule.sources),
        _either("status", rule.statuses),
        "" if rule.shorter_than_seconds is None else f"shorter than {rule.shorter_than_seconds:g} s",
        _either("this VM is", rule.names),
    )
    return ", ".join(part for part in parts if part)


def _either(what: str, words: tuple[str, ...]) -> str:
    return f"{what} {' or '.join(words)}" if words else ""
