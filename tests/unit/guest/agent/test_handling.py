"""What an agent owes to the events of its VM, as a table of moments."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from forewarn.guest.agent.deciding.handling import (
    Duties,
    RunningStep,
    Trouble,
    after_failure,
    end_by,
    is_hopeless,
    is_prepared,
    may_approve,
    owed,
    regard,
    share_seconds,
    stance,
)
from forewarn.guest.agent.deciding.state import (
    AgentState,
    Approval,
    Approving,
    Finished,
    Mark,
    Seen,
    StepOutcome,
    Undoing,
    fold,
)
from forewarn.guest.agent.values import AgentConfig, Rule, Step, Verdict
from forewarn.guest.watch import Ended, Ending, Watcher
from forewarn.terms import Document
from forewarn.wire.document import decode_document, encode_document
from forewarn.wire.versions import API_VERSIONS, ApiVersion
from tests.unit.guest.agent.handling_bench import (
    ALL,
    DRAIN,
    LEAVE,
    NOON,
    STEPS,
    STOP,
    begun,
    done,
    event,
    moment,
    next_work,
    seen,
)


def test_steps_are_begun_in_the_order_of_the_file() -> None:
    state = seen(AgentState(), event())
    order = []
    while (work := next_work(owed(moment(state)))) is not None:
        order.append(work)
        state = done(state, next(step for step in STEPS if step.name == work[0]))
    assert order == [("leave", False), ("drain", False), ("stop", False)]


def test_an_event_is_approved_when_every_step_is_done_and_not_before() -> None:
    state = seen(AgentState(), event())
    for step in STEPS:
        assert owed(moment(state)).approve == ()
        state = done(state, step)
    assert owed(moment(state)).approve == ("A",)


def test_an_event_of_others_is_not_our_business() -> None:
    foreign = replace(event(), resources=("web-1",))
    assert regard(ALL, "web-0", AgentState(), (foreign,), NOON) == []


def test_what_must_never_be_approved_is_prepared_for_and_left_alone() -> None:
    state = done(seen(AgentState(), event(kind="Redeploy")), *STEPS)
    assert is_prepared(state, state.cares["A"])
    assert owed(moment(state)).approve == ()


def test_what_was_done_is_undone_in_reverse_when_the_event_has_left() -> None:
    state = seen(done(seen(AgentState(), event()), *STEPS))
    order = []
    while (work := next_work(owed(moment(state)))) is not None:
        order.append(work)
        run = state.last_run + 1
        state = fold(fold(state, Undoing(run, work[0], "boot")), Finished(run, StepOutcome.DONE))
    assert order == [("stop", True), ("drain", True), ("leave", True)]
    assert state.effects == ()


def test_nothing_is_undone_while_the_event_is_under_way() -> None:
    state = seen(done(seen(AgentState(), event()), *STEPS), event(status="Started"))
    assert owed(moment(state, at=2000)) == Duties()


def test_an_event_that_started_before_all_was_prepared_gets_no_new_step_and_no_approval() -> None:
    state = seen(done(seen(AgentState(), event()), LEAVE), event(status="Started"))
    assert owed(moment(state)) == Duties()
    assert is_hopeless(moment(state), state.cares["A"])
    assert next_work(owed(moment(seen(state)))) == ("leave", True)


def test_an_event_that_appears_started_gets_no_step() -> None:
    assert owed(moment(seen(AgentState(), event(status="Started")))) == Duties()


def test_a_failed_step_is_tried_again_after_a_pause_and_the_event_is_not_approved() -> None:
    state = begun(seen(AgentState(), event()), LEAVE)
    state = fold(state, Finished(1, StepOutcome.FAILED))
    trouble = after_failure(1, 1000)
    early = owed(moment(state, at=0.5, leave=trouble))
    assert (early.begin, early.approve) == (None, ())
    assert early.wake_seconds == pytest.approx(0.5)
    assert next_work(owed(moment(state, at=1, leave=trouble))) == ("leave", False)


def test_a_step_that_keeps_failing_makes_way_when_only_the_time_of_the_others_is_left() -> None:
    state = fold(begun(seen(AgentState(), event()), LEAVE), Finished(1, StepOutcome.FAILED))
    trouble = Trouble(9, 0)
    assert next_work(owed(moment(state, at=800, leave=trouble))) == ("leave", False)
    assert next_work(owed(moment(state, at=815, leave=trouble))) == ("drain", False)
    rest = done(state, DRAIN, STOP)
    assert next_work(owed(moment(rest, at=860, leave=trouble))) == ("leave", False)
    assert owed(moment(rest, at=871, leave=trouble)).begin is None


def test_a_step_that_may_not_be_tried_again_is_given_up_and_the_others_are_still_done() -> None:
    state = fold(begun(seen(AgentState(), event()), LEAVE), Finished(1, StepOutcome.FAILED, again=False))
    assert next_work(owed(moment(state))) == ("drain", False)
    assert is_hopeless(moment(state), state.cares["A"])
    state = done(state, DRAIN, STOP)
    assert owed(moment(state)) == Duties()
    assert next_work(owed(moment(seen(state)))) == ("stop", True)


def test_a_step_that_was_begun_and_not_seen_to_end_owes_its_reverse() -> None:
    state = fold(begun(seen(AgentState(), event()), LEAVE), Finished(1, StepOutcome.UNKNOWN, again=False))
    assert next_work(owed(moment(seen(state)))) == ("leave", True)


def test_a_step_that_certainly_never_began_owes_nothing() -> None:
    state = fold(begun(seen(AgentState(), event()), LEAVE), Finished(1, StepOutcome.NEVER_BEGAN))
    assert state.effects == ()


def test_a_second_try_that_never_began_still_owes_for_the_first() -> None:
    state = fold(begun(seen(AgentState(), event()), LEAVE), Finished(1, StepOutcome.FAILED))
    state = fold(begun(state, LEAVE), Finished(2, StepOutcome.NEVER_BEGAN))
    assert [effect.mark for effect in state.effects] == [Mark.BROKEN]


def test_an_eviction_during_a_long_drain_is_prepared_for_at_once() -> None:
    state = done(seen(AgentState(), event()), LEAVE)
    state = begun(fold(state, Undoing(9, "leave", "boot")), DRAIN)
    state = fold(state, Finished(9, StepOutcome.DONE))
    state = seen(state, event(), event("B", "Preempt", seconds=60), at=30)
    running = RunningStep("drain", state.last_run, undo=False, began=1010)
    assert owed(moment(state, 30, running)).stop


def test_a_sharper_event_that_wants_the_running_step_too_only_shortens_it() -> None:
    state = begun(done(seen(AgentState(), event()), LEAVE), DRAIN)
    running = RunningStep("drain", state.last_run, undo=False, began=1000)
    far = owed(moment(state, 30, running)).left_seconds
    state = seen(state, event(), event("B", "Reboot", seconds=130), at=30)
    near = owed(moment(state, 30, running))
    assert far is not None
    assert not near.stop
    assert near.left_seconds is not None
    assert near.left_seconds < 75 < far


def test_a_running_step_that_nobody_wants_any_more_is_stopped() -> None:
    state = seen(begun(seen(AgentState(), event()), LEAVE))
    assert owed(moment(state, 1, RunningStep("leave", 1, undo=False, began=1000))).stop


def test_restoring_makes_way_for_a_new_event() -> None:
    state = seen(done(seen(AgentState(), event()), LEAVE))
    state = fold(state, Undoing(7, "leave", "boot"))
    state = seen(state, event("B"))
    assert owed(moment(state, 1, RunningStep("leave", 7, undo=True, began=1000))).stop


def test_a_step_that_two_events_want_is_done_once_and_undone_after_both() -> None:
    state = done(seen(AgentState(), event("A"), event("B", seconds=1800)), *STEPS)
    assert owed(moment(state)).approve == ("A", "B")
    state = seen(state, event("B", seconds=1800))
    assert owed(moment(state)).begin is None
    assert next_work(owed(moment(seen(state)))) == ("stop", True)


def test_an_approval_that_was_heard_or_refused_is_not_repeated() -> None:
    state = done(seen(AgentState(), event()), *STEPS)
    for approval, open_still in ((Approval.INTENDED, True), (Approval.SENT, True), (Approval.CONFIRMED, False)):
        state = fold(state, Approving("a", approval))
        assert may_approve(state, state.cares["A"]) is open_still


def test_a_short_notice_is_not_eaten_by_the_margin() -> None:
    assert end_by(NOON + timedelta(seconds=30), NOON, 30) == NOON + timedelta(seconds=22.5)
    assert end_by(NOON + timedelta(seconds=900), NOON, 30) == NOON + timedelta(seconds=870)


@pytest.mark.parametrize(
    ("left", "own", "later", "expected"),
    [
        (100, None, [], 100),
        (100, 20, [], 20),
        (100, None, [10, 20], 70),
        (100, None, [500, 500], pytest.approx(100 / 3)),
        (100, None, [None], 70),
        (20, None, [None], 10),
    ],
)
def test_a_step_has_its_timeout_or_what_the_later_ones_leave(
    left: float, own: float | None, later: list[float | None], expected: float
) -> None:
    steps = [Step(f"later {number}", "wait", timeout_seconds=each) for number, each in enumerate(later)]
    assert share_seconds(left, Step("it", "wait", timeout_seconds=own), steps) == expected


def test_a_document_that_goes_back_from_started_is_not_believed() -> None:
    state = seen(seen(AgentState(), event(status="Started")), event())
    assert state.cares["A"].event.status == "Started"


def test_a_started_event_keeps_the_not_before_that_it_told_once() -> None:
    state = seen(seen(AgentState(), event()), replace(event(status="Started"), not_before=None))
    assert state.cares["A"].event.not_before == event().not_before


USERS = AgentConfig(
    steps=STEPS,
    rules=(
        Rule("what users do", Verdict.APPROVE_NOW, sources=("User",)),
        Rule("short", Verdict.NOTIFY, shorter_than_seconds=30),
        Rule("all", Verdict.PREPARE_THEN_APPROVE),
    ),
)


@pytest.mark.parametrize("version", API_VERSIONS, ids=lambda version: version.date)
@pytest.mark.parametrize("source", ["User", "Platform"])
@pytest.mark.parametrize("kind", ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"])
def test_a_host_that_falls_back_to_an_older_api_version_changes_no_verdict(
    kind: str, source: str, version: ApiVersion
) -> None:
    told = replace(event(kind=kind), source=source, duration_seconds=9, description="why")
    first = seen(AgentState(), told, config=USERS)
    older = decode_document(encode_document(Document(1, (told,)), version))
    assert older is not None
    assert seen(first, *older.events, config=USERS, api_version=version.date) == first


def test_an_event_that_an_older_api_version_hides_is_let_go_after_an_hour() -> None:
    told = event(kind="Terminate", seconds=300)
    tracker = Watcher()
    tracker.see(Document(1, (told,)), NOON, "2020-07-01")
    assert tracker.see(Document(1), NOON, "2017-08-01") == ()
    assert tracker.see(Document(1), NOON + timedelta(minutes=59), "2017-08-01") == ()
    (end,) = tracker.see(Document(1), NOON + timedelta(minutes=62), "2017-08-01")
    assert isinstance(end, Ended)
    assert end.how is Ending.UNKNOWN
    assert tracker.events == ()


def test_a_hidden_event_that_each_new_agent_remembers_is_let_go_too() -> None:
    state = seen(AgentState(), event(kind="Terminate", seconds=300))
    for minutes in (1, 30, 64):
        state = seen(state, at=60 * minutes, api_version="2017-08-01")
        assert "A" in state.cares
    assert seen(state, at=60 * 67, api_version="2017-08-01").cares == {}


def test_what_happened_while_an_event_was_hidden_is_not_made_up() -> None:
    told = event(kind="Terminate", seconds=300)
    tracker = Watcher()
    tracker.see(Document(1, (told,)), NOON, "2020-07-01")
    tracker.see(Document(3), NOON, "2017-08-01")  # it may have started and ended between 1 and 3
    (end,) = tracker.see(Document(4), NOON, "2020-07-01")
    assert isinstance(end, Ended)
    assert end.how is Ending.UNKNOWN


def test_another_file_changes_what_is_planned_but_not_what_has_started() -> None:
    other = replace(ALL, rules=(Rule("none", Verdict.IGNORE),))
    state = done(seen(AgentState(), event()), LEAVE)
    (record,) = regard(other, "web-0", state, (event(),), NOON)
    assert isinstance(record, Seen)
    assert (record.verdict, record.steps) == (Verdict.IGNORE, ())
    started = seen(state, event(status="Started"))
    assert regard(other, "web-0", started, (event(status="Started"),), NOON) == []


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Verdict.IGNORE, "agreed"),
        (Verdict.NOTIFY, "declines"),
        (Verdict.PREPARE_ONLY, "declines"),
        (Verdict.APPROVE_NOW, "ready"),
        (Verdict.PREPARE_THEN_APPROVE, "preparing"),
    ],
)
def test_each_verdict_has_its_stance_before_others(verdict: Verdict, expected: str) -> None:
    state = fold(AgentState(), Seen(event(), NOON, verdict, ("leave",)))
    assert stance(state, state.cares["A"]) == expected
    assert stance(state, None) == "unknown"
