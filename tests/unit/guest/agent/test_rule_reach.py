"""Rules to which the ones before them leave nothing; checked against the policy itself."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.agent.deciding.policy import fits
from forewarn.guest.agent.deciding.rule_reach import shadows
from forewarn.guest.agent.values import Rule, Verdict
from forewarn.terms import ScheduledEvent


def rule(
    name: str = "r",
    types: tuple[str, ...] = (),
    sources: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    shorter: float | None = None,
) -> Rule:
    return Rule(name, Verdict.NOTIFY, types, sources, names, shorter_than_seconds=shorter)


def reachable(*rules: Rule) -> bool:
    """Of the last of them."""
    return not shadows(rules, len(rules) - 1)


def test_a_rule_behind_one_that_fits_all_is_never_reached() -> None:
    assert not reachable(rule(), rule(types=("Reboot",)))
    assert reachable(rule(types=("Reboot",)), rule())


def test_several_rules_can_leave_nothing_together() -> None:
    users, platform = rule("u", ("Reboot",), ("User",)), rule("p", ("Reboot",), ("Platform",))

    assert shadows([users, platform, rule(types=("Reboot",), sources=("User", "Platform"))], 2) == [users, platform]
    assert reachable(users, platform, rule(types=("Reboot",)))  # a source that nobody tells


def test_all_known_types_are_not_all_types() -> None:
    known = rule(types=("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"))

    assert reachable(known, rule())


def test_a_condition_on_the_duration_leaves_the_longer_ones() -> None:
    assert reachable(rule(shorter=30.0), rule())
    assert reachable(rule(shorter=30.0), rule(shorter=60.0))
    assert not reachable(rule(shorter=60.0), rule(shorter=30.0))


def test_names_shadow_only_where_that_is_certain() -> None:
    assert not reachable(rule(names=("web-*",)), rule(names=("web-1", "WEB-2")))
    assert not reachable(rule(names=("web-*",)), rule(names=("web-*",)))
    assert reachable(rule(names=("web-*",)), rule(names=("web-1*",)))
    assert reachable(rule(names=("web-*",)), rule())


RULES = st.builds(
    rule,
    name=st.just("r"),
    types=st.sampled_from([(), ("Freeze",), ("Freeze", "Reboot"), ("Reboot",)]),
    sources=st.sampled_from([(), ("User",), ("Platform",), ("Platform", "User")]),
    names=st.sampled_from([(), ("web-*",), ("web-0",), ("db-*",)]),
    shorter=st.sampled_from([None, 10.0, 60.0]),
)
EVENTS = [
    (ScheduledEvent("A", "Scheduled", kind, (name,), None, source=source, duration_seconds=duration), name)
    for kind, source, duration, name in product(
        ("Freeze", "Reboot", "Preempt", "New"), ("User", "Platform", None), (-1, 5, 30, 100), ("web-0", "web-9", "db-1")
    )
]


@given(st.lists(RULES, min_size=1, max_size=5))
def test_a_rule_that_decides_some_event_is_never_called_unreachable(rules: list[Rule]) -> None:
    for event, name in EVENTS:
        deciding = next((number for number, each in enumerate(rules) if fits(each, event, name)), None)
        if deciding is not None:
            assert not shadows(rules, deciding)
