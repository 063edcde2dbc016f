"""What is owed: from what is known, what was changed and what the document shows to what is to be done next. Pure.

One piece of work runs at a time, because steps are an order. Whose step it is, is decided anew at every look: the
event that comes first comes first, so a Preempt goes before the ten-minute drain of a maintenance that is still far.

``now`` is the metadata service's time, which NotBefore is meant in. Pauses after failures are counted in ``tick``,
seconds of our own that only grow, since the service's clock may stand or leap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from forewarn.guest.agent.deciding.built_in import NOTICES_SECONDS
from forewarn.guest.agent.deciding.policy import APPROVES, PREPARES, chosen_steps, decide
from forewarn.guest.agent.deciding.state import AgentState, Approval, Care, Left, Mark, Seen, StepEffect, key_of
from forewarn.guest.agent.values import AgentConfig, Step, Verdict
from forewarn.guest.backoff import Backoff
from forewarn.guest.instance import concerns
from forewarn.guest.watch import is_started
from forewarn.terms import ScheduledEvent

UNDO_SECONDS = 300.0  # ours: for an undo whose step has no timeout; nothing presses, and nothing may hang for ever
_LEAST_SECONDS = 0.05  # ours: in less than this nothing can be begun, and a pause must not become a busy loop
_UNSAID_SECONDS = 30.0  # ours: what a step without a timeout is taken to need, when later steps need time, too
_BACKOFF = Backoff(1.0, 30.0)  # after a failed step: soon at first, for a Preempt leaves 30 s in all
_MARGIN_SHARE = 4  # ours: the margin takes no more than a fourth of a short notice


# What a document changes


def regard(
    config: AgentConfig, own_name: str, state: AgentState, events: Iterable[ScheduledEvent], now: datetime
) -> list[Seen | Left]:
    """What is to be noted of the events that a ``Watcher`` knows: those of this VM that came, changed or left."""
    shown = {key_of(event): event for event in events if concerns(event, own_name)}
    news: list[Seen | Left] = []
    for key in shown:
        care = state.cares.get(key)
        record = _seen(config, own_name, care, shown[key], now)
        if care is None or (record.event, record.verdict, record.steps) != (care.event, care.verdict, care.steps):
            news.append(record)
    return [*news, *(Left(key) for key in state.cares if key not in shown)]


def _seen(config: AgentConfig, own_name: str, care: Care | None, event: ScheduledEvent, now: datetime) -> Seen:
    """A start changes no decision: what was prepared for an event stays so until the event has left, and the time that
    it was announced for is kept, which a started event does not tell any more.

    Until then it is decided anew at every look: the agent may have been started again with another file.
    """
    if care is not None and is_started(event):
        told = event if event.not_before is not None else replace(event, not_before=care.event.not_before)
        return Seen(told, now, care.verdict, care.steps)
    decision = decide(config, event, own_name)
    steps = () if is_started(event) else chosen_steps(decision, config.steps)
    return Seen(event, now, decision.verdict, tuple(step.name for step in steps))


# How much time there is


def end_by(not_before: datetime, seen_at: datetime, margin_seconds: float) -> datetime:
    """When preparations end. A margin longer than a short notice would leave nothing, so it takes a part at most."""
    notice = max(0.0, (not_before - seen_at).total_seconds())
    return not_before - timedelta(seconds=min(margin_seconds, notice / _MARGIN_SHARE))


def deadline_of(care: Care, margin_seconds: float) -> datetime:
    """An event that does not say when it starts is taken to give the shortest notice of its type."""
    told = care.event.not_before
    if told is None:
        notice = next((s for kind, s in NOTICES_SECONDS.items() if kind.casefold() == care.event.type.casefold()), 60.0)
        told = care.seen_at + timedelta(seconds=notice)
    return end_by(told, care.seen_at, margin_seconds)


def reserve_seconds(whole_seconds: float, later: Sequence[Step]) -> float:
    """What is kept for the steps behind one: their timeouts, but never so much that it had less than its equal part."""
    wanted = sum(each.timeout_seconds or _UNSAID_SECONDS for each in later)
    return min(wanted, max(0.0, whole_seconds) * len(later) / (len(later) + 1))


def share_seconds(left_seconds: float, step: Step, later: Sequence[Step], whole_seconds: float | None = None) -> float:
    """How long a step may take now: its timeout, or what is left when something is kept for the steps behind it.

    ``whole_seconds`` is all the time that there ever was; where it is not told, what is left.
    """
    most = left_seconds - reserve_seconds(left_seconds if whole_seconds is None else whole_seconds, later)
    if most <= _LEAST_SECONDS:
        most = left_seconds / (len(later) + 1)
    return most if step.timeout_seconds is None else min(most, step.timeout_seconds)


# What is to be done


@dataclass(frozen=True, slots=True)
class Trouble:
    """Failures of one step, or of its reverse, in a row."""

    tries: int
    again_at: float  # tick


def after_failure(tries: int, tick: float) -> Trouble:
    """``tries`` with the failure that was just seen."""
    return Trouble(tries, tick + pause_seconds(tries))


def pause_seconds(tries: int) -> float:
    """Until a step that failed so often in a row is tried again."""
    return _BACKOFF.seconds(max(1, tries))


@dataclass(frozen=True, slots=True)
class RunningStep:
    """The work under way."""

    name: str
    run: int
    undo: bool
    began: float  # tick


@dataclass(frozen=True, slots=True)
class Work:
    """Something to begin: a step, or its reverse."""

    step: Step
    event: ScheduledEvent
    undo: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Duties:
    """What is owed now. ``left_seconds`` is for the work under way, where there is one that may go on."""

    begin: Work | None = None
    stop: bool = False
    left_seconds: float | None = None
    approve: tuple[str, ...] = ()
    wake_seconds: float | None = None  # when to look again, news or not


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that the decision depends on."""

    state: AgentState
    steps: Mapping[str, Step]  # of the file as it is now
    margin_seconds: float
    now: datetime
    tick: float
    running: RunningStep | None = None
    troubles: Mapping[str, Trouble] = field(default_factory=dict)
    held: frozenset[str] = frozenset()  # events that must not be approved now, since no maintenance window is open


def owed(moment: Situation) -> Duties:
    """The next thing to begin, whether to stop what runs, and which events are ready to be approved."""
    cares = sorted(moment.state.cares.values(), key=lambda care: deadline_of(care, moment.margin_seconds))
    plans = [_plan(moment, care) for care in cares]
    approve = tuple(care.key for care in cares if may_approve(moment.state, care) and care.key not in moment.held)
    wanted = next(_urgent(moment, plans), None)
    if moment.running is not None:
        return _while_running(moment, moment.running, plans, wanted, approve)
    work = wanted if wanted is not None else _restoring(moment)
    return Duties(begin=work, approve=approve, wake_seconds=None if work else _wake(moment))


@dataclass(frozen=True, slots=True)
class StepsLeft:
    """One event's steps that are not done, and the time there is for them."""

    care: Care
    pending: tuple[Step, ...]
    left_seconds: float
    whole_seconds: float


def _plan(moment: Situation, care: Care) -> StepsLeft:
    deadline = deadline_of(care, moment.margin_seconds)
    left, whole = (deadline - moment.now).total_seconds(), (deadline - care.seen_at).total_seconds()
    return StepsLeft(care, tuple(_pending(moment, care)), left, whole)


def _pending(moment: Situation, care: Care) -> Iterator[Step]:
    for name in care.steps:
        effect = moment.state.effect(name)
        step = moment.steps.get(name) or (effect.step if effect else None)
        if step is not None and (effect is None or effect.mark is not Mark.DONE):
            yield step


def _urgent(moment: Situation, plans: Iterable[StepsLeft]) -> Iterator[Work]:
    """What could be begun now, the most urgent event's first step first. A started event gets no new step."""
    for plan in plans:
        if is_started(plan.care.event) or plan.left_seconds <= _LEAST_SECONDS:
            continue
        step = _next(moment, plan)
        if step is not None:
            later = _later(moment, plan, step)
            seconds = share_seconds(plan.left_seconds, step, later, plan.whole_seconds)
            yield Work(step, plan.care.event, undo=False, seconds=seconds)


def _next(moment: Situation, plan: StepsLeft) -> Step | None:
    """The first step that is not done.

    One that keeps failing holds up those behind it until only their time is left.
    """
    hopeful = [step for step in plan.pending if not _given_up(moment.state, step.name)]
    in_order = [step for step in hopeful if not _parked(moment, plan, step)]
    if in_order:
        return in_order[0] if _rested(moment, in_order[0]) else None
    return next((step for step in hopeful if _rested(moment, step)), None)


def _later(moment: Situation, plan: StepsLeft, step: Step) -> list[Step]:
    place = plan.pending.index(step)
    return [each for each in plan.pending[place + 1 :] if not _given_up(moment.state, each.name)]


def _parked(moment: Situation, plan: StepsLeft, step: Step) -> bool:
    later = _later(moment, plan, step)
    return step.name in moment.troubles and plan.left_seconds <= reserve_seconds(plan.whole_seconds, later)


def _rested(moment: Situation, step: Step) -> bool:
    trouble = moment.troubles.get(step.name)
    return trouble is None or trouble.again_at <= moment.tick


def _given_up(state: AgentState, name: str) -> bool:
    effect = state.effect(name)
    return effect is not None and effect.mark is Mark.BROKEN and not effect.again


def _while_running(
    moment: Situation, running: RunningStep, plans: Sequence[StepsLeft], wanted: Work | None, approve: tuple[str, ...]
) -> Duties:
    holders = [plan for plan in plans if running.name in plan.care.steps]
    if running.undo:
        return _while_undoing(moment, running, wanted, approve)
    if not holders:
        return Duties(stop=True, approve=approve)  # no event needs it any more
    if wanted is not None and _is_sharper(wanted, plans, holders):
        return Duties(stop=True, approve=approve)
    step = moment.steps.get(running.name)
    ran = moment.tick - running.began
    left = min(_left_for(moment, plan, running.name, ran) for plan in holders)
    if step is not None and step.timeout_seconds is not None:
        left = min(left, step.timeout_seconds - ran)
    return Duties(left_seconds=left, approve=approve)


def _left_for(moment: Situation, plan: StepsLeft, name: str, ran: float) -> float:
    """What the running step may still take of one event's time, with later steps kept in mind."""
    step = next((step for step in plan.pending if step.name == name), None)
    if step is None or plan.left_seconds <= 0:
        return plan.left_seconds
    bare = replace(step, timeout_seconds=None)
    return share_seconds(plan.left_seconds + ran, bare, _later(moment, plan, step), plan.whole_seconds) - ran


def _is_sharper(wanted: Work, plans: Sequence[StepsLeft], holders: Sequence[StepsLeft]) -> bool:
    """Whether another event than those that the running step is for must go first."""
    place = next(number for number, plan in enumerate(plans) if plan.care.event == wanted.event)
    return place < plans.index(holders[0])


def _while_undoing(moment: Situation, running: RunningStep, wanted: Work | None, approve: tuple[str, ...]) -> Duties:
    if wanted is not None:
        return Duties(stop=True, approve=approve)  # preparing goes before restoring
    effect = moment.state.by_run(running.run)
    limit = UNDO_SECONDS if effect is None else effect.step.timeout_seconds or UNDO_SECONDS
    return Duties(left_seconds=limit - (moment.tick - running.began), approve=approve)


def _restoring(moment: Situation) -> Work | None:
    """The undo of the last effect that no event needs any more, so that undos run in reverse order."""
    for effect in reversed(moment.state.effects):
        if _is_wanted(moment, effect):
            continue
        trouble = moment.troubles.get(effect.step.name)
        if trouble is not None and trouble.again_at > moment.tick:
            return None  # order is kept in the way back too
        seconds = effect.step.timeout_seconds or UNDO_SECONDS
        return Work(effect.step, effect.event, undo=True, seconds=seconds)
    return None


def _is_wanted(moment: Situation, effect: StepEffect) -> bool:
    return any(effect.step.name in care.steps for care in moment.state.cares.values())


def _wake(moment: Situation) -> float | None:
    pauses = [trouble.again_at - moment.tick for trouble in moment.troubles.values() if trouble.again_at > moment.tick]
    return max(_LEAST_SECONDS, min(pauses)) if pauses else None


# Approving


def is_prepared(state: AgentState, care: Care) -> bool:
    """Whether every step is in effect. No steps are no work."""
    effects = (state.effect(name) for name in care.steps)
    return all(effect is not None and effect.mark is Mark.DONE for effect in effects)


def may_approve(state: AgentState, care: Care) -> bool:
    """Whether this VM lets the event start: the others of a shared one are asked elsewhere."""
    open_still = not is_started(care.event) and care.approval not in (Approval.CONFIRMED, Approval.REFUSED)
    return open_still and care.verdict in APPROVES and (care.verdict not in PREPARES or is_prepared(state, care))


def is_pressed(state: AgentState, running: RunningStep | None) -> bool:
    """Whether time alone may change what is to be done. It cannot for events that have started or are left alone."""
    if running is not None:
        return True
    wanted = {name for care in state.cares.values() for name in care.steps}
    if any(effect.step.name not in wanted for effect in state.effects):
        return True
    ahead = (care for care in state.cares.values() if not is_started(care.event))
    return any(not is_prepared(state, care) or may_approve(state, care) for care in ahead)


def is_lost(state: AgentState, care: Care) -> bool:
    """Whether it can never be prepared: a step has failed for good, or it has started before all of them were done."""
    if is_prepared(state, care):
        return False
    return is_started(care.event) or any(_given_up(state, name) for name in care.steps)


def is_hopeless(moment: Situation, care: Care) -> bool:
    """Whether it is lost, or time is over before all steps were done."""
    if is_prepared(moment.state, care):
        return False
    return is_lost(moment.state, care) or _plan(moment, care).left_seconds <= _LEAST_SECONDS


def has_failed(moment: Situation) -> bool:
    """Whether something was to be done and is not. A service that took the approval may still wait for others."""
    return any(
        care.approval in (Approval.INTENDED, Approval.REFUSED) or is_hopeless(moment, care)
        for care in moment.state.cares.values()
        if not is_started(care.event)
    )


def stance(state: AgentState, care: Care | None, *, held: bool = False) -> str:
    """What this VM tells the other VMs of a shared event. ``held``: no VM may approve it now."""
    if care is None:
        return "unknown"
    if care.verdict is Verdict.IGNORE or care.approval is Approval.REFUSED:
        return "agreed"  # nothing is in the way here, but another has to approve
    if care.verdict not in APPROVES:
        return "declines"
    prepared = care.verdict not in PREPARES or is_prepared(state, care)
    return "ready" if prepared and not held else "preparing"
