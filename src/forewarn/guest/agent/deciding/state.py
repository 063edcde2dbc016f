"""What an agent knows of its own doing: the events it cares for and what it has changed. Pure; ``journal`` keeps it.

Every change is a record; ``fold`` is the only way from one state to the next, so that what was read back from the
file after a crash is what was in memory before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from forewarn.guest.agent.values import Step, Verdict
from forewarn.terms import ScheduledEvent


class StepOutcome(StrEnum):
    """How one run of a step, or of its reverse, has ended."""

    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"  # by ourselves: something sharper came, or the agent was told to end
    UNKNOWN = "unknown"  # the agent was not there to see
    NEVER_BEGAN = "never_began"  # it is certain that nothing was done


@dataclass(frozen=True, slots=True)
class StepEnd:
    """How a run has ended, and what is worth telling about it."""

    outcome: StepOutcome
    detail: str = ""

    @property
    def good(self) -> bool:
        return self.outcome is StepOutcome.DONE


class Approval(StrEnum):
    """How far the approval of an event has come."""

    NONE = "none"
    INTENDED = "intended"
    SENT = "sent"
    CONFIRMED = "confirmed"
    REFUSED = "refused"


class Mark(StrEnum):
    """Where a step stands that was begun."""

    DOING = "doing"
    DONE = "done"
    BROKEN = "broken"  # begun, and not known to be whole: its reverse is owed
    UNDOING = "undoing"


@dataclass(frozen=True, slots=True)
class Care:
    """An event of this VM, as it was last seen, and what was decided about it."""

    event: ScheduledEvent
    seen_at: datetime
    verdict: Verdict
    steps: tuple[str, ...] = ()
    approval: Approval = Approval.NONE
    sent: int = 0  # how many approvals the service has taken
    sent_at: datetime | None = None  # when it took the last one, by this VM's clock

    @property
    def key(self) -> str:
        return key_of(self.event)


@dataclass(frozen=True, slots=True)
class StepEffect:
    """A step that was begun and is not undone. The step is as it was then: the file may have changed since."""

    step: Step
    mark: Mark
    run: int
    boot: str
    event: ScheduledEvent  # the first that wanted it; its reverse is told the same
    again: bool = True  # whether it may be begun again as it stands
    touched: bool = False  # whether an earlier run of it may have left something behind
    tries: int = 0  # failures in a row, of the step or of its reverse
    why: str = ""  # how the last of them ended, in words
    failed_at: datetime | None = None  # and when, by this VM's clock


@dataclass(frozen=True, slots=True)
class AgentState:
    """Everything. Effects stand in the order in which they were begun."""

    cares: dict[str, Care] = field(default_factory=dict)
    effects: tuple[StepEffect, ...] = ()
    last_run: int = 0

    def effect(self, name: str) -> StepEffect | None:
        return next((effect for effect in self.effects if effect.step.name == name), None)

    def by_run(self, run: int) -> StepEffect | None:
        return next((effect for effect in self.effects if effect.run == run), None)


def key_of(event: ScheduledEvent) -> str:
    return event.event_id.upper()


# Records


@dataclass(frozen=True, slots=True)
class Seen:
    """An event of this VM appeared, or changed."""

    event: ScheduledEvent
    at: datetime
    verdict: Verdict
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Left:
    """It is no longer in the document."""

    event_id: str


@dataclass(frozen=True, slots=True)
class Begun:
    """Written before a step is done."""

    run: int
    step: Step
    boot: str
    event: ScheduledEvent


@dataclass(frozen=True, slots=True)
class Finished:
    """Written after it, whatever came of it. ``again``: it may be begun again."""

    run: int
    outcome: StepOutcome
    again: bool = True
    detail: str = ""
    at: datetime | None = None  # by this VM's clock


@dataclass(frozen=True, slots=True)
class Undoing:
    """Written before the reverse of a step."""

    run: int
    name: str
    boot: str


@dataclass(frozen=True, slots=True)
class Approving:
    """What has become of an approval; written with INTENDED before it is sent."""

    event_id: str
    approval: Approval
    at: datetime | None = None  # with SENT: when the service took it, by this VM's clock


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that came before, in one."""

    cares: tuple[Care, ...]
    effects: tuple[StepEffect, ...]
    last_run: int


Record = Seen | Left | Begun | Finished | Undoing | Approving | Snapshot


def fold(state: AgentState, record: Record) -> AgentState:
    """The state after one more record."""
    match record:
        case Seen():
            return _with_care(state, _seen(state.cares.get(key_of(record.event)), record))
        case Left(event_id):
            return replace(state, cares={key: care for key, care in state.cares.items() if key != event_id.upper()})
        case Begun():
            return _begun(state, record)
        case Finished():
            return _finished(state, record)
        case Undoing(run, name, boot):
            effects = tuple(
                replace(effect, mark=Mark.UNDOING, run=run, boot=boot) if effect.step.name == name else effect
                for effect in state.effects
            )
            return replace(state, effects=effects, last_run=run)
        case Approving(event_id):
            care = state.cares.get(event_id.upper())
            return state if care is None else _with_care(state, _approving(care, record))
        case Snapshot(cares, effects, last_run):
            return AgentState({care.key: care for care in cares}, effects, last_run)


def fold_all(records: Iterable[Record]) -> AgentState:
    state = AgentState()
    for record in records:
        state = fold(state, record)
    return state


def snapshot(state: AgentState) -> Snapshot:
    return Snapshot(tuple(state.cares.values()), state.effects, state.last_run)


def _with_care(state: AgentState, care: Care) -> AgentState:
    return replace(state, cares={**state.cares, care.key: care})


def _seen(before: Care | None, record: Seen) -> Care:
    if before is None:
        return Care(record.event, record.at, record.verdict, record.steps)
    return replace(before, event=record.event, verdict=record.verdict, steps=record.steps)


def _approving(care: Care, record: Approving) -> Care:
    if record.approval is not Approval.SENT:
        return replace(care, approval=record.approval)
    return replace(care, approval=Approval.SENT, sent=care.sent + 1, sent_at=record.at)


def _begun(state: AgentState, record: Begun) -> AgentState:
    """A step that is begun again keeps its place: its reverse comes where it came the first time."""
    known = state.effect(record.step.name)
    new = StepEffect(record.step, Mark.DOING, record.run, record.boot, record.event, touched=known is not None)
    if known is None:
        return replace(state, effects=(*state.effects, new), last_run=record.run)
    new = replace(new, tries=known.tries, why=known.why, failed_at=known.failed_at)
    effects = tuple(new if effect is known else effect for effect in state.effects)
    return replace(state, effects=effects, last_run=record.run)


def _finished(state: AgentState, record: Finished) -> AgentState:
    effect = state.by_run(record.run)
    if effect is None:
        return state
    after = _after(effect, record)
    effects = (after if each is effect else each for each in state.effects)
    return replace(state, effects=tuple(each for each in effects if each is not None))


def _after(effect: StepEffect, record: Finished) -> StepEffect | None:
    """The effect after a run of its step or undo; None where nothing is left to undo."""
    undoing = effect.mark is Mark.UNDOING
    if record.outcome is StepOutcome.DONE:
        return None if undoing else replace(effect, mark=Mark.DONE, tries=0, why="", failed_at=None)
    if record.outcome is StepOutcome.NEVER_BEGAN:
        return replace(effect, mark=Mark.BROKEN) if undoing or effect.touched else None
    failed = record.outcome in (StepOutcome.FAILED, StepOutcome.TIMED_OUT)
    return replace(
        effect,
        mark=Mark.BROKEN,
        again=record.again,
        tries=effect.tries + 1 if failed else 0,
        why=record.detail,
        failed_at=record.at,
    )
