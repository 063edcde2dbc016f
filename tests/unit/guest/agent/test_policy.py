"""Which rule speaks for an event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forewarn.core.causes import CAUSES, Cause
from forewarn.core.deciding.fleet import OS_IMAGE_NOTICE, TERMINATE_NOTICE
from forewarn.guest.agent.deciding.built_in import DEFAULT_RULES, NOTICES_SECONDS
from forewarn.guest.agent.deciding.policy import chosen_steps, conditions, decide, fits
from forewarn.guest.agent.values import AgentConfig, Barrier, Rule, Sharing, Step, Verdict
from forewarn.terms import EventType, ScheduledEvent

EVENT = ScheduledEvent(
    event_id="A1",
    status="Scheduled",
    type="Reboot",
    resources=("web-0", "web-1"),
    not_before=None,
    description="",
    source="Platform",
    duration_seconds=-1,
)


def ruled(*rules: Rule) -> AgentConfig:
    """A file with these rules, of somebody who has set up a step."""
    return AgentConfig(rules=rules, steps=(Step("drain", "command"),))


@pytest.mark.parametrize(
    ("kind", "source", "duration", "verdict", "name"),
    [
        ("Freeze", "Platform", 9, Verdict.APPROVE_NOW, "short freezes"),
        ("Freeze", "Platform", 0, Verdict.APPROVE_NOW, "short freezes"),
        ("Freeze", "Platform", 30, Verdict.PREPARE_THEN_APPROVE, "everything else"),
        ("Freeze", "Platform", -1, Verdict.PREPARE_THEN_APPROVE, "everything else"),
        ("Freeze", None, None, Verdict.PREPARE_THEN_APPROVE, "everything else"),
        ("Reboot", "Platform", -1, Verdict.PREPARE_THEN_APPROVE, "everything else"),
        ("Reboot", "User", -1, Verdict.APPROVE_NOW, "user operations"),
        ("Redeploy", "User", -1, Verdict.APPROVE_NOW, "user operations"),
        ("Redeploy", "Platform", 5, Verdict.PREPARE_THEN_APPROVE, "everything else"),
        ("Preempt", "Platform", -1, Verdict.PREPARE_THEN_APPROVE, "eviction and deletion"),
        ("Terminate", "User", -1, Verdict.PREPARE_THEN_APPROVE, "eviction and deletion"),
        ("Hibernate", "Platform", -1, Verdict.PREPARE_THEN_APPROVE, "everything else"),
        ("", "", None, Verdict.PREPARE_THEN_APPROVE, "everything else"),
    ],
)
def test_without_rules_the_built_in_ones_decide(
    kind: str, source: str | None, duration: int | None, verdict: Verdict, name: str
) -> None:
    event = replace(EVENT, type=kind, source=source, duration_seconds=duration)
    decision = decide(ruled(), event, "web-0")

    assert decision.verdict is verdict
    assert decision.rule is not None
    assert (decision.rule.name, decision.rule.line) == (name, 0)


@pytest.mark.parametrize("source", ["Platform", "User", None])
@pytest.mark.parametrize("kind", [*EventType, "Hibernate"])
def test_without_steps_nothing_is_approved_in_the_vms_name(kind: str, source: str | None) -> None:
    event = replace(EVENT, type=kind, source=source, duration_seconds=5)
    decision = decide(AgentConfig(), event, "web-0")

    assert decision.verdict is Verdict.NOTIFY
    assert not decision.approves


def test_without_steps_a_rule_of_the_file_and_a_barrier_are_still_obeyed() -> None:
    explicit = AgentConfig(rules=(Rule("mine", Verdict.PREPARE_THEN_APPROVE, types=("Reboot",)),))
    assert decide(explicit, EVENT, "web-0").approves
    assert not decide(explicit, replace(EVENT, type="Freeze"), "web-0").approves
    assert decide(AgentConfig(barrier=Barrier(listen="127.0.0.1:1")), EVENT, "web-0").approves
    assert decide(AgentConfig(barrier=Barrier(sharing=Sharing.ALONE)), EVENT, "web-0").approves
    assert not decide(AgentConfig(barrier=Barrier(sharing=Sharing.NEVER)), EVENT, "web-0").approves


def test_the_built_in_rules_leave_no_event_without_a_decision() -> None:
    assert conditions(DEFAULT_RULES[-1]) == ""


def test_the_first_rule_that_fits_decides_and_the_files_rules_come_first() -> None:
    rules = (
        Rule("freezes", Verdict.IGNORE, types=("Freeze",)),
        Rule("reboots", Verdict.NOTIFY, types=("Reboot",)),
        Rule("all", Verdict.PREPARE_ONLY),
    )

    assert decide(ruled(*rules), EVENT, "web-0").rule is rules[1]
    assert decide(ruled(*rules[:1]), EVENT, "web-0").rule is DEFAULT_RULES[-1]
    assert decide(ruled(*rules[:2]), EVENT, "web-0").reason == "rule 'reboots' asks for type Reboot"


def test_an_event_of_other_vms_is_ignored_whatever_the_rules_say() -> None:
    decision = decide(ruled(Rule("all", Verdict.APPROVE_NOW)), EVENT, "web-2")

    assert (decision.verdict, decision.rule, decision.steps) == (Verdict.IGNORE, None, ())
    assert not decision.prepares
    assert not decision.approves
    assert decide(ruled(), EVENT, "").rule is None
    assert decide(ruled(), EVENT, "web-2", others=Verdict.NOTIFY).verdict is Verdict.NOTIFY


def test_names_are_compared_without_case_and_with_the_old_underscore() -> None:
    for resource in ("WEB-0", "_web-0"):
        assert decide(ruled(), replace(EVENT, resources=(resource,)), "web-0").rule is not None
    assert decide(ruled(), replace(EVENT, resources=("web-01", "xweb-0")), "web-0").rule is None


@pytest.mark.parametrize(
    ("rule", "fitting"),
    [
        (Rule("", Verdict.NOTIFY), True),
        (Rule("", Verdict.NOTIFY, types=("Freeze", "Reboot")), True),
        (Rule("", Verdict.NOTIFY, types=("reboot",)), True),
        (Rule("", Verdict.NOTIFY, types=("Freeze",)), False),
        (Rule("", Verdict.NOTIFY, sources=("Platform",)), True),
        (Rule("", Verdict.NOTIFY, sources=("User",)), False),
        (Rule("", Verdict.NOTIFY, statuses=("Started",)), False),
        (Rule("", Verdict.NOTIFY, statuses=("Scheduled",)), True),
        (Rule("", Verdict.NOTIFY, names=("db-*", "WEB-?")), True),
        (Rule("", Verdict.NOTIFY, names=("db-*",)), False),
        (Rule("", Verdict.NOTIFY, shorter_than_seconds=60.0), False),
        (Rule("", Verdict.NOTIFY, types=("Reboot",), sources=("User",)), False),
    ],
)
def test_a_rule_fits_when_every_condition_holds(rule: Rule, fitting: bool) -> None:
    assert fits(rule, EVENT, "web-0") is fitting


def test_what_the_document_does_not_tell_fits_only_a_rule_that_does_not_ask() -> None:
    event = replace(EVENT, source=None, duration_seconds=None)

    assert not fits(Rule("", Verdict.NOTIFY, sources=("Platform", "User")), event, "web-0")
    assert not fits(Rule("", Verdict.NOTIFY, shorter_than_seconds=1e9), event, "web-0")


def test_steps_are_chosen_in_the_order_of_the_file() -> None:
    steps = tuple(Step(name, "command") for name in ("a", "b", "c"))
    some = Rule("some", Verdict.PREPARE_ONLY, steps=("c", "a"))

    assert [step.name for step in chosen_steps(decide(ruled(some), EVENT, "web-0"), steps)] == ["a", "c"]
    assert chosen_steps(decide(ruled(), EVENT, "web-0"), steps) == steps
    assert chosen_steps(decide(ruled(Rule("now", Verdict.APPROVE_NOW)), EVENT, "web-0"), steps) == ()
    assert chosen_steps(decide(ruled(), EVENT, "other"), steps) == ()


def test_verdicts_say_what_they_are_made_of() -> None:
    told = {
        verdict: (decision.prepares, decision.approves)
        for verdict in Verdict
        for decision in [decide(ruled(Rule("", verdict)), EVENT, "web-0")]
    }

    assert told == {
        Verdict.IGNORE: (False, False),
        Verdict.NOTIFY: (False, False),
        Verdict.PREPARE_THEN_APPROVE: (True, True),
        Verdict.APPROVE_NOW: (False, True),
        Verdict.PREPARE_ONLY: (True, False),
    }


def test_the_agent_knows_the_shortest_notice_that_the_service_gives_for_each_type() -> None:
    """Freely configured notices count with the least that is allowed; a failure, which has none, is not announced."""
    by_cause = {cause: row.notice for cause, row in CAUSES.items() if cause is not Cause.FAILURE}
    by_cause |= {Cause.DELETION: TERMINATE_NOTICE[0], Cause.REIMAGE: OS_IMAGE_NOTICE}
    shortest = {
        kind: min(notice.total_seconds() for cause, notice in by_cause.items() if notice and CAUSES[cause].type is kind)
        for kind in EventType
    }

    assert shortest == NOTICES_SECONDS
