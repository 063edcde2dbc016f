"""Throttle, lag, fault rules and skipped incarnations, each by itself."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.core.commands import CancelEvents, Pulse
from forewarn.core.facts import ScopeEnabled
from forewarn.core.refusal import Refused
from forewarn.web.faults import MOST_RULES, FaultKind, FaultRule, FaultRules
from forewarn.web.metadata.answering.skips import Skips
from forewarn.web.metadata.answering.visibility import Lag
from forewarn.web.metadata.throttle import Throttle
from tests.unit.web.metadata.story import Story

_ALL = frozenset(FaultKind)


# Throttle


def test_five_requests_of_a_vm_pass_the_throttle_in_any_second() -> None:
    throttle = Throttle(5)
    passed = [throttle.admits("a", now) for now in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.99, 1.0, 1.05, 1.1, 1.2)]
    assert passed == [True] * 5 + [False, False, True, False, True, True]


def test_each_vm_has_its_own_budget() -> None:
    throttle = Throttle(1)
    assert [throttle.admits(vm, 0.0) for vm in ("a", "b", "a", "b")] == [True, True, False, False]


def test_less_than_one_a_second_is_possible() -> None:
    throttle = Throttle(0.5)
    assert [throttle.admits("a", now) for now in (0.0, 1.0, 1.9, 2.0, 3.9)] == [True, False, False, True, False]


def test_vms_that_went_silent_are_forgotten() -> None:
    throttle = Throttle(5)
    for number in range(10_000):
        throttle.admits(f"vm-{number}", number / 10)
    assert len(throttle) < 2048


@given(st.lists(st.floats(0, 0.5), max_size=60), st.integers(1, 7))
def test_in_no_second_do_more_requests_pass_the_throttle_than_allowed(pauses: list[float], rate: int) -> None:
    throttle, now, granted = Throttle(rate), 0.0, []
    for pause in pauses:
        now += pause
        if throttle.admits("a", now):
            granted.append(now)
    assert all(later - first >= 1 for first, later in zip(granted, granted[rate:], strict=False))


# Lag


def test_a_region_is_shown_when_its_visibility_lag_is_over() -> None:
    story = Story()
    first = story.region
    lag = Lag(timedelta(seconds=30), lambda: story.now, first)
    story.create("a")
    second = story.region
    visible_at = lag.publish(story.now, second, [])
    story.wait(timedelta(seconds=10))
    story.create("b")
    lag.publish(story.now, story.region, [])
    shown = []
    for _ in range(5):
        shown.append(lag.region())
        story.wait(timedelta(seconds=10))
    assert (visible_at - timedelta(seconds=30)) == story.now - timedelta(seconds=60)
    assert [found is region for found, region in zip(shown, (first, first, second, story.region), strict=False)] == [
        True
    ] * 4


def test_an_enabling_is_shown_at_once_and_later_changes_after_the_visibility_lag() -> None:
    story = Story()
    story.create("a", "b")
    lag = Lag(timedelta(seconds=30), lambda: story.now, story.region)
    facts = story.tell(Pulse((("a", story.now),)))
    enabled = story.region
    lag.publish(story.now, enabled, [fact.scope for fact in facts if isinstance(fact, ScopeEnabled)])
    story.restart("a")
    lag.publish(story.now, story.region, [])
    assert lag.region("vm/a") is enabled
    assert lag.region("vm/b").scopes.get("vm/a") is None
    story.wait(timedelta(seconds=30))
    assert lag.region("vm/a") is lag.region("vm/b") is story.region


# Fault rules


def test_a_rule_gets_an_id_and_is_listed_until_it_is_cleared() -> None:
    faults = FaultRules()
    first, second = faults.add(FaultRule(kind="gone")), faults.add(FaultRule(kind="drop", vms=("a",), answered=7))
    assert (first.id, second.id, second.answered, first.kind) == ("1", "2", 0, FaultKind.GONE)
    assert faults.list() == (first, second)
    assert [faults.clear("1"), faults.clear("1"), faults.clear("x")] == [1, 0, 0]
    assert faults.list() == (second,)
    assert [faults.clear(), faults.clear()] == [1, 0]
    assert faults.add(FaultRule(kind="gone")).id == "3"


@pytest.mark.parametrize(
    "rule",
    [
        FaultRule(kind="explode"),
        FaultRule(kind="gone", times=0),
        FaultRule(kind="gone", share=0.0),
        FaultRule(kind="gone", share=1.5),
        FaultRule(kind="gone", share=float("nan")),
        FaultRule(kind="gone", delay_seconds=1),
        FaultRule(kind="delay"),
        FaultRule(kind="delay", delay_seconds=-1),
        FaultRule(kind="delay", delay_seconds=float("inf")),
        FaultRule(kind="delay", delay_seconds=float("nan")),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_and_not_kept(rule: FaultRule) -> None:
    faults = FaultRules()
    with pytest.raises(Refused):
        faults.add(rule)
    assert faults.list() == ()
    assert not faults.active


def test_rules_have_a_limit() -> None:
    faults = FaultRules()
    for _ in range(MOST_RULES):
        faults.add(FaultRule(kind="gone", vms=("nobody",)))
    with pytest.raises(Refused):
        faults.add(FaultRule(kind="gone"))
    assert len(faults.list()) == MOST_RULES


def test_the_oldest_rule_that_fits_decides_and_is_spent_in_the_end() -> None:
    faults = FaultRules()
    faults.add(FaultRule(kind="gone", vms=("A",), times=2))
    faults.add(FaultRule(kind="drop"))
    struck = [faults.strike(vm, _ALL) for vm in ("a", "b", "a", "a")]
    assert [rule.kind for rule in struck if rule] == ["gone", "drop", "gone", "drop"]
    assert [(rule.kind, rule.answered) for rule in faults.list()] == [("drop", 2)]


def test_a_rule_of_another_kind_is_passed_over() -> None:
    faults = FaultRules()
    faults.add(FaultRule(kind="empty"))
    assert faults.strike("a", _ALL - {FaultKind.EMPTY}) is None
    assert faults.list()[0].answered == 0


def test_a_fault_with_a_probability_goes_by_the_given_random_numbers() -> None:
    faults, dice = FaultRules(random.Random(3)), random.Random(3)
    faults.add(FaultRule(kind="gone", share=0.25))
    struck = [faults.strike("a", _ALL) is not None for _ in range(200)]
    assert struck == [dice.random() < 0.25 for _ in range(200)]


# Skipped incarnations


def _seen(skips: Skips, story: Story, name: str) -> int:
    return skips.shown(story.vm(name), story.region).scope_of(story.vm(name)).incarnation


def _skipping(rule: FaultRule) -> tuple[Story, FaultRules, Skips]:
    story, faults = Story(), FaultRules(random.Random(1))
    story.create("a", "b")
    story.enable("a")
    story.enable("b")
    skips = Skips(faults)
    faults.watch(lambda: skips.follow(story.region))
    faults.add(rule)
    return story, faults, skips


def test_a_skip_rule_hides_one_incarnation_from_a_vm() -> None:
    story, faults, skips = _skipping(FaultRule(kind="skip", vms=("a",), times=1))
    assert _seen(skips, story, "a") == 1
    event = story.restart("a")
    assert [_seen(skips, story, "a"), _seen(skips, story, "a")] == [1, 1]
    assert faults.list()[0].answered == 0
    story.approve(event)
    assert _seen(skips, story, "a") == 3
    assert faults.list() == ()


def test_a_skip_rule_of_one_vm_hides_nothing_from_others() -> None:
    story, _, skips = _skipping(FaultRule(kind="skip", vms=("a",)))
    story.restart("b")
    assert _seen(skips, story, "b") == 2


def test_a_skip_rule_hides_no_more_incarnations_than_its_count() -> None:
    story, _, skips = _skipping(FaultRule(kind="skip", times=1))
    story.restart("a", "1")
    story.restart("b", "2")
    assert [_seen(skips, story, "a"), _seen(skips, story, "b")] == [1, 2]


def test_a_skip_rule_without_a_count_hides_every_second_incarnation() -> None:
    story, faults, skips = _skipping(FaultRule(kind="skip", vms=("a",)))
    seen = []
    for number in range(3):
        event = story.restart("a", str(number))
        seen.append(_seen(skips, story, "a"))
        story.tell(CancelEvents((event,), "no"))
        seen.append(_seen(skips, story, "a"))
    assert seen == [1, 3, 3, 5, 5, 7]
    assert faults.list()[0].answered == 3


def test_a_scope_that_is_enabled_anew_shows_what_it_has() -> None:
    story, faults = Story(), FaultRules()
    story.create("a")
    skips = Skips(faults)
    faults.watch(lambda: skips.follow(story.region))
    faults.add(FaultRule(kind="skip"))
    story.enable("a")
    assert _seen(skips, story, "a") == 1
