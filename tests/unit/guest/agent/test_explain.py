"""What the agent would do, and why; the arithmetic is the agent's own."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from forewarn.guest.agent.steps import KINDS, has_reverse
from forewarn.guest.agent.tools.explain import Explanation, explain, in_words
from forewarn.guest.agent.tools.explain_text import explanation_json, explanation_lines
from forewarn.guest.agent.values import AgentConfig, Barrier, Rule, Sharing, Step, Verdict
from forewarn.terms import Document, ScheduledEvent

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
REBOOT = ScheduledEvent(
    "A1", "Scheduled", "Reboot", ("web-0",), NOON + timedelta(minutes=15), "", "Platform", duration_seconds=-1
)
STEPS = (
    Step("lb", "haproxy", {"socket": "/s", "backend": "web", "server": "web-0"}, timeout_seconds=60.0, line=10),
    Step("idle", "wait", {"url": "http://127.0.0.1/idle"}, timeout_seconds=90.0, line=16),
    Step(
        "work", "command", {"run": ["/bin/drain", "all of it"], "undo": "/bin/undrain"}, timeout_seconds=300.0, line=20
    ),
)
CONFIG = AgentConfig(path="agent.toml", margin_seconds=30.0, steps=STEPS)


def explained(event: ScheduledEvent = REBOOT, config: AgentConfig = CONFIG, now: datetime = NOON) -> Explanation:
    (found,) = explain(config, Document(1, (event,)), "web-0", now)
    return found


def lines(explanation: Explanation) -> list[str]:
    return list(explanation_lines(explanation, "agent.toml", NOON))


def test_an_event_of_this_vm_is_explained_from_rule_to_restoration() -> None:
    assert lines(explained()) == [
        "A1: Reboot by Platform for web-0, Scheduled, NotBefore 2026-01-01T12:15:00Z (in 15 min)",
        "  mine        yes",
        "  rule        'everything else' (built in) fits every event",
        "  verdict     prepare, then approve",
        "  time        14 min 30 s, until 2026-01-01T12:14:30Z",
        "  steps       1. lb: drain web/web-0, at most 1 min",
        "              2. idle: wait until http://127.0.0.1/idle says so, at most 1 min 30 s",
        "              3. work: run /bin/drain 'all of it', at most 5 min",
        "  approval    by this agent, when every step is done; after a failed step not at all",
        "  afterwards  run /bin/undrain (work)",
        "              make web/web-0 ready (lb)",
    ]


def test_an_approval_with_nothing_prepared_is_pointed_out() -> None:
    rule = Rule("all", Verdict.PREPARE_THEN_APPROVE, line=3)
    told = "  beware      no step of this file prepares for it: it is approved with nothing done"

    assert lines(explained(config=AgentConfig(path="agent.toml", rules=(rule,))))[-1] == told
    assert told not in lines(explained())
    at_once = replace(rule, verdict=Verdict.APPROVE_NOW)
    assert told not in lines(explained(config=AgentConfig(path="agent.toml", rules=(at_once,)))), "it is meant so"


def test_the_rule_of_the_file_is_named_with_its_line() -> None:
    rule = Rule("slow ones", Verdict.PREPARE_ONLY, types=("Reboot",), steps=("work",), line=7)
    found = explained(config=replace(CONFIG, rules=(rule,)))

    assert "  rule        'slow ones' (agent.toml:7) asks for type Reboot" in lines(found)
    assert [each.step.name for each in found.steps] == ["work"]
    assert found.approval.startswith("not by this agent: it starts at its NotBefore (2026-01-01T12:15:00Z)")


def test_an_event_of_others_is_left_alone() -> None:
    found = explained(replace(REBOOT, resources=("web-1",)))

    assert not found.mine
    assert lines(found)[1:] == ["  mine        no: it does not name web-0", "  verdict     ignore it"]
    assert found.steps == ()


def test_an_event_that_has_started_is_neither_prepared_for_nor_approved() -> None:
    found = explained(replace(REBOOT, status="Started", not_before=None))

    assert (found.steps, found.budget_seconds) == ((), None)
    assert found.approval == "it has started: there is nothing left to approve"


def test_a_short_notice_keeps_a_part_of_itself_free() -> None:
    found = explained(replace(REBOOT, type="Preempt", not_before=NOON + timedelta(seconds=28)))

    assert found.budget_seconds == pytest.approx(21.0)
    assert found.doubts == ("the steps may take 7 min 30 s, and there are 21 s",)


def test_each_step_is_told_what_the_agent_would_give_it() -> None:
    found = explained(config=replace(CONFIG, steps=tuple(replace(step, timeout_seconds=None) for step in STEPS)))
    times = [each.most_seconds for each in found.steps]

    assert 0 < times[0] < times[1] < times[2] == pytest.approx(870.0)


def test_an_event_without_time_left_or_without_not_before_is_explained_with_a_doubt() -> None:
    assert explained(now=NOON + timedelta(minutes=15)).doubts == ("there is no time left for any step",)
    unknown = explained(replace(REBOOT, not_before=None))
    assert unknown.doubts[0].startswith("it does not say when it starts")
    assert unknown.budget_seconds == pytest.approx(870.0)


def test_a_verdict_without_steps_tells_no_time_for_steps() -> None:
    found = explained(replace(REBOOT, source="User"))

    assert (found.steps, found.budget_seconds, found.afterwards) == ((), None, ())
    assert found.approval == "by this agent, at once"


SHARED = replace(REBOOT, resources=("web-1", "_WEB-0", "web-2"))


@pytest.mark.parametrize(
    ("barrier", "words"),
    [
        (Barrier(), "not at all, as long as no [barrier] is set up: it is shared with web-1, web-2"),
        (Barrier(listen=":1"), "when all are ready, by web-1 or else the next of them that is alive"),
        (Barrier(listen=":1"), "a silent one is waited for until NotBefore"),
        (Barrier(listen=":1", patience_seconds=90.0), "waited for until 1 min 30 s have passed"),
        (Barrier(Sharing.ALONE), "by this agent alone, when every step is done"),
        (Barrier(Sharing.NEVER), "never: it is shared with web-1, web-2"),
    ],
)
def test_who_approves_a_shared_event_is_said(barrier: Barrier, words: str) -> None:
    assert words in explained(SHARED, replace(CONFIG, barrier=barrier)).approval


def test_json_has_all_that_the_text_explains() -> None:
    told = explanation_json(explained())

    assert told["rule"] == {"name": "everything else", "line": None}
    assert (told["mine"], told["verdict"], told["budget_seconds"]) == (True, "prepare-then-approve", 870.0)
    assert told["steps_end_by"] == "2026-01-01T12:14:30Z"
    assert told["event"] == {
        "id": "A1",
        "status": "Scheduled",
        "type": "Reboot",
        "resources": ["web-0"],
        "not_before": "2026-01-01T12:15:00Z",
        "description": "",
        "source": "Platform",
        "duration_seconds": -1,
    }
    steps = told["steps"]
    assert isinstance(steps, list)
    assert steps[0] == {
        "name": "lb",
        "kind": "haproxy",
        "line": 10,
        "does": "drain web/web-0",
        "undo": "make web/web-0 ready",
        "most_seconds": 60.0,
    }
    assert explanation_json(explained(replace(REBOOT, resources=())))["rule"] is None


@pytest.mark.parametrize(
    ("step", "does", "undo"),
    [
        (Step("", "command", {"run": "a | b"}), "run a | b", ""),
        (Step("", "systemd", {"units": ["a", "b"]}), "stop a, b", "start a, b"),
        (Step("", "http", {"url": "http://x/"}), "POST http://x/", ""),
        (
            Step("", "http", {"url": "http://x/", "method": "PUT", "undo_url": "http://y/", "undo_method": "DELETE"}),
            "PUT http://x/",
            "DELETE http://y/",
        ),
        (Step("", "wait", {"command": ["idle"]}), "wait until idle says so", ""),
        (Step("", "ready-file", {"path": "/r"}), "take /r away", "put /r back"),
        (Step("", "kubernetes", {}), "cordon and drain this node", "uncordon this node"),
        (Step("", "kubernetes", {"node": "n", "drain": False}), "cordon node n", "uncordon node n"),
        (
            Step("", "kubernetes-node", {}),
            "say on this node why, cordon and drain it",
            "take back what was said, uncordon this node",
        ),
        (
            Step("", "kubernetes-node", {"node": "n", "drain": False}),
            "say on node n why, cordon it",
            "take back what was said, uncordon node n",
        ),
        (Step("", "magic"), "magic", ""),
    ],
)
def test_every_kind_of_step_has_its_words(step: Step, does: str, undo: str) -> None:
    (planned,) = explained(config=replace(CONFIG, steps=(step,))).steps

    assert (planned.does, planned.undo) == (does, undo)
    assert step.kind not in KINDS or has_reverse(step) == bool(undo)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (7.46, "7.5 s"), (60, "1 min"), (90.4, "1 min 30 s"), (3600, "1 h"), (90061, "1 d 1 h 1 min 1 s")],
)
def test_lengths_are_told_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
