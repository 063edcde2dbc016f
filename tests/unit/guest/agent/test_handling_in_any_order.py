"""Whatever happens to an agent and its events, in whichever order: everything is put back when all events have left."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.agent.deciding.handling import (
    Duties,
    RunningStep,
    Trouble,
    after_failure,
    is_prepared,
    owed,
    regard,
)
from forewarn.guest.agent.deciding.state import (
    AgentState,
    Approving,
    Begun,
    Finished,
    Left,
    Seen,
    StepOutcome,
    Undoing,
    fold,
    fold_all,
)
from forewarn.guest.agent.values import Verdict
from forewarn.guest.watch import Watcher
from forewarn.terms import Document, ScheduledEvent
from tests.unit.guest.agent.handling_bench import ALL, NOON, event, moment

OUTCOMES = st.sampled_from(list(StepOutcome))
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("show"), st.sets(st.sampled_from("ABC"))),
        st.tuples(st.just("start"), st.sampled_from("ABC")),
        st.tuples(st.just("end"), OUTCOMES),
        st.tuples(st.just("pass"), st.floats(0, 400)),
        st.tuples(st.just("crash"), st.booleans()),
    ),
    max_size=40,
)


class World:
    """An agent without hands: it follows the duties and keeps the books of what they would have done."""

    def __init__(self) -> None:
        self.records: list[Seen | Left | Begun | Finished | Undoing | Approving] = []
        self.tracker = Watcher()
        self.state = AgentState()
        self.at = 0.0
        self.running: RunningStep | None = None
        self.troubles: dict[str, Trouble] = {}
        self.shown: dict[str, ScheduledEvent] = {}
        self.approved: set[str] = set()

    def note(self, record: Seen | Left | Begun | Finished | Undoing | Approving) -> None:
        self.records.append(record)
        self.state = fold(self.state, record)
        assert fold_all(self.records) == self.state

    def look(self) -> None:
        now = NOON + timedelta(seconds=self.at)
        self.tracker.see(Document(1, tuple(self.shown.values())), now)
        for record in regard(ALL, "web-0", self.state, self.tracker.events, now):
            self.note(record)

    def act(self) -> None:
        duties = owed(moment(self.state, self.at, self.running, **self.troubles))
        assert self.running is None or duties.begin is None
        for key in duties.approve:
            assert is_prepared(self.state, self.state.cares[key])
            assert self.state.cares[key].verdict in (Verdict.PREPARE_THEN_APPROVE, Verdict.APPROVE_NOW)
        if duties.stop:
            self.end(StepOutcome.INTERRUPTED)
        elif duties.begin is not None:
            self.begin(duties)

    def begin(self, duties: Duties) -> None:
        work = duties.begin
        assert work is not None
        assert work.seconds > 0
        run, name = self.state.last_run + 1, work.step.name
        wanted = any(name in care.steps for care in self.state.cares.values())
        assert wanted is not work.undo
        self.note(Undoing(run, name, "boot") if work.undo else Begun(run, work.step, "boot", work.event))
        self.running = RunningStep(name, run, work.undo, 1000 + self.at)

    def end(self, outcome: StepOutcome) -> None:
        if self.running is None:
            return
        self.note(Finished(self.running.run, outcome))
        if outcome in (StepOutcome.FAILED, StepOutcome.TIMED_OUT):
            before = self.troubles.get(self.running.name)
            self.troubles[self.running.name] = after_failure(1 if before is None else before.tries + 1, 1000 + self.at)
        else:
            self.troubles.pop(self.running.name, None)
        self.running = None

    def crash(self, *, known: bool) -> None:
        self.state, self.troubles = fold_all(self.records), {}
        self.end(StepOutcome.DONE if known else StepOutcome.UNKNOWN)


@given(ACTS)
def test_whatever_happens_everything_is_put_back_when_all_events_have_left(acts: list[tuple[str, object]]) -> None:
    world, times = World(), {"A": 900.0, "B": 1800.0, "C": 60.0}
    for what, value in acts:
        if what == "show" and isinstance(value, set):
            fresh = {name: event(name, seconds=world.at + times[name]) for name in sorted(value)}
            world.shown = {name: world.shown.get(name, each) for name, each in fresh.items()}
        elif what == "start" and value in world.shown:
            world.shown[str(value)] = replace(world.shown[str(value)], status="Started")
        elif what == "end" and isinstance(value, StepOutcome):
            world.end(value)
        elif what == "pass" and isinstance(value, float):
            world.at += value
        elif what == "crash":
            world.crash(known=bool(value))
        world.look()
        world.act()
    world.shown = {}
    world.look()
    for _ in range(50):
        world.at += 60
        world.act()
        world.end(StepOutcome.DONE)
    assert world.state.effects == ()
    assert world.state.cares == {}
