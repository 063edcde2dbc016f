"""The rules and steps of an ``agent.toml``, one by one and then as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from forewarn.guest.agent.config.section import Section
from forewarn.guest.agent.deciding.built_in import NOTICES_SECONDS
from forewarn.guest.agent.deciding.policy import PREPARES, rules_of
from forewarn.guest.agent.deciding.rule_reach import shadows
from forewarn.guest.agent.steps import KINDS
from forewarn.guest.agent.toml_words import meant
from forewarn.guest.agent.values import SYSTEMS, AgentConfig, Rule, Step, Verdict
from forewarn.terms import EventSource, EventStatus, EventType


def read_rule(section: Section, number: int) -> Rule:
    verdict = section.choice("verdict", (each.value for each in Verdict), required=True)
    rule = Rule(
        name=section.text("name", f"rule {number + 1}").strip(),
        verdict=Verdict(verdict) if verdict else Verdict.NOTIFY,
        types=section.choices("types", (each.value for each in EventType)),
        sources=section.choices("sources", (each.value for each in EventSource)),
        names=section.texts("names", '["web-*"]') or (),
        statuses=section.choices("statuses", (each.value for each in EventStatus)),
        shorter_than_seconds=section.optional_seconds("shorter_than", "0.001s", "1d"),
        steps=section.texts("steps", '["drain"]'),
        line=section.line,
        system=section.choice("system", SYSTEMS),
        any_time=section.flag("any_time", default=False),
    )
    section.refuse_rest()
    if verdict and rule.steps is not None and rule.verdict not in PREPARES:
        hint = f"leave steps out, or write verdict = {Verdict.PREPARE_THEN_APPROVE.value!r}"
        section.complain("steps", f"would never run, since {verdict!r} prepares nothing", hint)
    return rule


def read_step(section: Section) -> Step:
    name = section.text("name", required=True, example='"drain"').strip()
    kind = section.choice("kind", KINDS, required=True)
    system = section.choice("system", SYSTEMS)
    timeout = section.optional_seconds("timeout", "0.1s", "1d")
    retries = section.flag("retries", default=True)
    repeatable = section.flag("repeatable", default=False)
    settings = section.rest()
    for each in KINDS[kind].keys.check(settings) if kind else ():
        place = (*section.place, each.key) if each.key else section.place
        section.book.complain(place, f"{section.title} of kind {kind!r} {each.message}", each.suggestion)
    return Step(name, kind, settings, timeout, retries, repeatable, section.line, system)


def check_reach(sections: Sequence[Section], rules: Sequence[Rule]) -> None:
    """Names that stand twice, and rules to which the ones before them leave nothing."""
    sound = [(section, rule) for section, rule in zip(sections, rules, strict=True) if section.sound]
    refuse_twins(sections, [rule.name for rule in rules])
    for number, (section, _) in enumerate(sound):
        before = shadows([rule for _, rule in sound], number)
        if before:
            told = " and ".join(f"{rule.name!r} (line {rule.line})" for rule in before)
            section.book.complain(
                section.place,
                f"{section.title} can never match: {told} {'decides' if len(before) == 1 else 'decide'} all it could",
                "put it before, or remove it",
            )


def refuse_twins(sections: Sequence[Section], names: Sequence[str]) -> None:
    first: dict[str, Section] = {}
    for section, name in zip(sections, names, strict=True):
        if name in first:
            hint = f"the other stands on line {first[name].line}; give each its own"
            section.complain("name", f"is the name of another {section.place[0]} too", hint)
        elif name:
            first[name] = section


def check_steps(
    rule_sections: Sequence[Section],
    step_sections: Sequence[Section],
    config: AgentConfig,
    elsewhere: Mapping[str, str],
) -> None:
    """Complain of steps that rules name and the file does not define; warn of steps that no rule names.

    ``elsewhere``: steps that are for another system only, and which. A rule for both may name them; here they are
    left out. A rule that approves, and has no others, is refused.
    """
    order = [step.name for step in config.steps]
    refuse_twins(step_sections, order)
    for section, rule in zip(rule_sections, config.rules, strict=True):
        named = rule.steps or ()
        for number, name in enumerate(named):
            if name not in order and name not in elsewhere:
                place = (*section.place, "steps", number)
                section.book.complain(
                    place, f"steps of {section.title} names {name!r}, which is no step", _steps(name, order)
                )
        known = [name for name in named if name in order]
        if elsewhere and not (order if rule.steps is None else known):
            _refuse_unprepared(section, rule, next(iter(elsewhere.values())))
        if known != sorted(known, key=order.index):
            section.warn("steps", "stand in another order than in the file", "they run in the order of the file")
    used = set(_used(config)) if all(section.sound for section in rule_sections) else set(order)
    for section, name in zip(step_sections, order, strict=True):
        if name and name not in used:
            section.warn("name", "is a step that no rule uses", "name it in the steps of a rule")


def _refuse_unprepared(section: Section, rule: Rule, other: str) -> None:
    """Refuse a rule whose steps are all for another system: here it would approve without any preparation."""
    if rule.verdict is Verdict.PREPARE_THEN_APPROVE:
        told = "would approve on this system with nothing prepared: its steps are all for another system"
        hint = f'write system = "{other}" under it, and a [[rule]] that says what is done here'
        section.book.complain(section.place, f"{section.title} {told}", hint)
    elif rule.verdict is Verdict.PREPARE_ONLY:
        told = "prepares nothing on this system: its steps are all for another system"
        section.book.warn(section.place, f"{section.title} {told}", "nothing is approved either")


def _steps(name: str, order: Sequence[str]) -> str:
    return meant(name, order) if order else f'add [[step]] with name = "{name}"'


def _used(config: AgentConfig) -> Iterator[str]:
    rules = rules_of(config)
    for number, rule in enumerate(rules):
        if rule.verdict in PREPARES and not shadows(rules, number):
            yield from (step.name for step in config.steps) if rule.steps is None else rule.steps


def check_margin(section: Section, config: AgentConfig) -> None:
    """A margin as long as a notice cannot be kept: only a part of so short a notice is left free."""
    eaten = [kind for kind in _prepared_types(config) if NOTICES_SECONDS[kind] <= config.margin_seconds]
    if eaten and section.has("margin") and section.book.sound((*section.place, "margin")):
        shortest = min(eaten, key=lambda kind: NOTICES_SECONDS[kind])
        notice = NOTICES_SECONDS[shortest]
        told = f"cannot be kept before a {shortest}, which is announced {notice:g} s ahead"
        section.warn("margin", told, f'write margin = "{int(notice // 6)}s"')


def _prepared_types(config: AgentConfig) -> Iterable[EventType]:
    return (kind for kind in EventType if config.steps and _prepares(config, kind))


def _prepares(config: AgentConfig, kind: EventType) -> bool:
    for rule in rules_of(config):
        if rule.types and kind not in rule.types:
            continue
        if rule.verdict in PREPARES and rule.steps != ():
            return True
        if not (rule.sources or rule.names or rule.statuses) and rule.shorter_than_seconds is None:
            return False
    return False
