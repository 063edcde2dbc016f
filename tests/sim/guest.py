"""One VM's agent as values: production's pure half, with hands, wires and crashes that are only pretended.

What is production's: ``handling``, ``policy``, ``state``, the lines of the journal, ``barrier``, ``Approvals``,
``Watcher`` and what the kinds of steps say of themselves. What stands in for threads, sockets and processes
(``loop``, ``consent``, ``worker``, ``running``, ``session``) is here, and follows them rule for rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Protocol

from forewarn.guest.agent import barrier
from forewarn.guest.agent.approval import Approvals
from forewarn.guest.agent.barrier import ASK_EVERY_SECONDS, Gathering, Ruling
from forewarn.guest.agent.config import AgentConfig, Sharing
from forewarn.guest.agent.handling import (
    UNDO_SECONDS,
    Moment,
    Running,
    Trouble,
    Work,
    after_failure,
    is_prepared,
    owed,
    regard,
    stance,
)
from forewarn.guest.agent.record_lines import decode, encode
from forewarn.guest.agent.state import (
    Approval,
    Approving,
    Begun,
    Care,
    Effect,
    Finished,
    Left,
    Mark,
    Outcome,
    Record,
    Seen,
    State,
    Undoing,
    fold,
    fold_all,
    snapshot,
)
from forewarn.guest.agent.steps import has_reverse, may_repeat
from forewarn.guest.watch import Ended, Watcher, is_started
from forewarn.terms import Document

_COMPACT_AFTER = 200


class Outside(Protocol):
    """What a VM can reach."""

    def document(self, name: str) -> Document | None: ...

    def approve(self, name: str, event_id: str) -> bool:
        """Whether the service took it."""

    def is_approved(self, event_id: str) -> bool:
        """Known to nobody inside a VM: it only spares the simulation repetitions that can change nothing."""

    def guest(self, name: str) -> Guest | None: ...

    def ended(self, name: str, change: Ended) -> None: ...

    def wake(self, guest: Guest, at: datetime) -> None: ...


@dataclass(slots=True)
class Process:
    """A run of a step: the program, which outlives the agent but not the machine."""

    running: Running
    began_at: datetime
    ends_at: datetime
    outcome: Outcome
    budget_at: datetime


class Guest:
    """A VM with its agent. ``changed`` is what steps have really done to it, whatever the agent believes."""

    def __init__(self, name: str, config: AgentConfig, random: Random, outside: Outside, start: datetime) -> None:
        self.name, self.config, self._random, self._outside, self._start = name, config, random, outside, start
        self._steps = {step.name: step for step in config.steps}
        self.machine_up = self.agent_up = self.frozen = False
        self.boot = 0
        self.changed: dict[str, str] = {}  # step -> half | done
        self.state = State()
        self._lines: list[bytes] = []
        self.next_at: datetime | None = None
        self.faults_until = start
        self.hindrances: list[tuple[datetime, datetime]] = []  # when the agent could not prepare
        self._down_since = start
        self._process: Process | None = None
        self._forget_memory()

    def _forget_memory(self) -> None:
        self.read = False
        self._watcher = Watcher()
        self._troubles: dict[str, Trouble] = {}
        self._approvals = Approvals()
        self._running: Running | None = None
        self._stop_at: datetime | None = None  # the work under way was called off
        self._look_at: datetime | None = None
        self._up_at: datetime | None = None
        self._posts: list[tuple[datetime, str, str]] = []
        self._ask_at: datetime | None = None
        self._told: dict[str, str] = {}

    # The machine

    def power_on(self, now: datetime) -> None:
        if not self.machine_up:
            self.machine_up, self.boot = True, self.boot + 1
            self._schedule_start(now, self._random.uniform(3, 40))

    def power_off(self, now: datetime, *, disk_lost: bool = False) -> None:
        """Programs die with the machine, half done; the disk keeps what the journal says, unless it is lost too."""
        self.crash(now)
        self.machine_up, self._up_at, self._process = False, None, None
        if disk_lost:
            self.changed, self._lines, self.state = {}, [], State()
            self.hinder(self._start, now)  # what was prepared before is gone with it

    def crash(self, now: datetime) -> None:
        """The agent alone is killed."""
        if self.agent_up:
            self._down_since = now
        self.agent_up = False
        up_at = self._up_at
        self._forget_memory()
        self._up_at = up_at

    def restart_agent(self, now: datetime) -> None:
        self.crash(now)
        if self.machine_up:
            self._schedule_start(now, self._random.uniform(1, 60))

    def _schedule_start(self, now: datetime, seconds: float) -> None:
        self._up_at = now + timedelta(seconds=seconds)
        self._outside.wake(self, self._up_at)

    def notice(self, now: datetime) -> None:
        """The document has changed: the next poll will show it, up to a second later."""
        if self.agent_up:
            at = now + timedelta(seconds=self._random.uniform(0.01, self.config.poll_seconds))
            self._look_at = min(self._look_at or at, at)
            self._outside.wake(self, at)

    def prepared_for(self, step_names: tuple[str, ...]) -> bool:
        """In truth, not in belief."""
        return all(self.changed.get(name) == "done" for name in step_names)

    def hinder(self, begin: datetime, end: datetime) -> None:
        self.hindrances.append((begin, end))

    def hindered_seconds(self, begin: datetime, end: datetime) -> float:
        """Of a window; what overlaps is counted once."""
        ongoing = [] if self.agent_up else [(self._down_since, end)]
        total, reached = 0.0, begin
        for first, last in sorted([*self.hindrances, *ongoing]):
            first, last = max(first, reached), min(last, end)
            if last > first:
                total, reached = total + (last - first).total_seconds(), last
        return total

    # The agent's turns

    def turn(self, now: datetime) -> None:
        if self.frozen or not self.machine_up:
            return
        if not self.agent_up and self._up_at is not None and self._up_at <= now:
            self._start_agent(now)
        if not self.agent_up:
            if self._up_at is not None:
                self._outside.wake(self, self._up_at)
            return
        self._look(now)
        self._end_work(now)
        self._send(now)
        if self.agent_up and self.read:  # an approval may have taken the machine down under us
            self._act(now)
        if self.agent_up:
            self._tell_others(now)
            self._sleep(now)

    def _tick(self, now: datetime) -> float:
        return (now - self._start).total_seconds()

    def _start_agent(self, now: datetime) -> None:
        self.hinder(self._down_since, now)
        self._up_at, self.agent_up = None, True
        back = fold_all([decode(line) for line in self._lines])
        assert back == self.state, f"{self.name}: the journal says something else than memory did"
        for care in self.state.cares.values():
            self._watcher.remember(care.event)
        under_way = [effect for effect in self.state.effects if effect.mark in (Mark.DOING, Mark.UNDOING)]
        assert len(under_way) <= 1, f"{self.name}: two pieces of work at a time"
        for effect in under_way:
            self._take_up(effect, now)
        self._look_at = now

    def _take_up(self, effect: Effect, now: datetime) -> None:
        undo, run = effect.mark is Mark.UNDOING, effect.run
        self._running = Running(effect.step.name, run, undo, self._tick(now))
        process = self._process
        if effect.step.kind == "command" and process is not None and effect.boot == str(self.boot):
            limit = effect.step.timeout_seconds or UNDO_SECONDS
            process.running, process.budget_at = self._running, now + timedelta(seconds=limit)
            return
        seen = now if process is None else process.began_at
        self._process = Process(self._running, seen, now, Outcome.UNKNOWN, now + timedelta(seconds=1))

    # The document

    def _look(self, now: datetime) -> None:
        if self._look_at is None or self._look_at > now:
            return
        self._look_at = None
        if self.faults_until > now:
            self._look_at = self.faults_until + timedelta(seconds=self._random.uniform(0, 5))
            self.hinder(now, self._look_at)
            return
        document = self._outside.document(self.name)
        if document is None:
            return
        self.read = True
        for change in self._watcher.see(document, now):
            if isinstance(change, Ended):
                self._outside.ended(self.name, change)
        for record in regard(self.config, self.name, self.state, document, now):
            self._note(record)
        assert regard(self.config, self.name, self.state, document, now) == [], "a second look found something new"

    def _note(self, record: Seen | Left) -> None:
        key = record.event.event_id.upper() if isinstance(record, Seen) else record.event_id.upper()
        before, left = self.state.cares.get(key), isinstance(record, Left)
        started = left or (isinstance(record, Seen) and is_started(record.event))
        heard = (Approval.SENT,) if left else (Approval.INTENDED, Approval.SENT)
        if before is not None and started and before.approval in heard:
            self._write(Approving(key, Approval.CONFIRMED))
        self._write(record)
        if started:
            self._approvals.forget(key)

    def _write(self, record: Record) -> None:
        if len(self._lines) >= _COMPACT_AFTER:
            self._lines = [encode(snapshot(self.state))]
        self._lines.append(encode(record))
        self.state = fold(self.state, record)

    # Work

    def _act(self, now: datetime) -> None:
        moment = Moment(
            self.state, self._steps, self.config.margin_seconds, now, self._tick(now), self._running, self._troubles
        )
        duties = owed(moment)
        if self._running is not None:
            assert self._process is not None
            if duties.stop and self._stop_at is None:
                self._stop_at = now + timedelta(seconds=self._random.uniform(0.05, 2))
            elif duties.left_seconds is not None:
                self._process.budget_at = now + timedelta(seconds=max(0.0, duties.left_seconds))
        elif duties.begin is not None:
            self._begin(duties.begin, now)
            if not self.agent_up:
                return
        self._ask_at = None
        for key in duties.approve:
            self._consider(self.state.cares[key], now)

    def _begin(self, work: Work, now: datetime) -> None:
        run, name, boot = self.state.last_run + 1, work.step.name, str(self.boot)
        self._write(Undoing(run, name, boot) if work.undo else Begun(run, work.step, boot, work.event))
        self._running = Running(name, run, work.undo, self._tick(now))
        seconds, outcome = self._fate(work)
        self._process = Process(
            self._running,
            now,
            now + timedelta(seconds=seconds),
            outcome,
            now + timedelta(seconds=max(work.seconds, 0.0)),
        )
        if self._random.random() < 0.002:  # killed between the journal and the program
            self._process.ends_at, self._process.outcome = now, Outcome.NEVER_BEGAN
            self.restart_agent(now)
            return
        if not work.undo or has_reverse(work.step):
            self.changed[name] = "half"

    def _fate(self, work: Work) -> tuple[float, Outcome]:
        """Within its timeout, most of the time."""
        if work.undo and not has_reverse(work.step):
            return 0.0, Outcome.DONE
        longest, luck = work.step.timeout_seconds or 60.0, self._random.random()
        if luck < 0.03:
            return longest * 5, Outcome.DONE  # it hangs
        return self._random.uniform(0.01, 0.95) * longest, Outcome.FAILED if luck < 0.11 else Outcome.DONE

    def _end_work(self, now: datetime) -> None:
        process, running = self._process, self._running
        if process is None or running is None:
            return
        outcome = process.outcome
        if process.ends_at > now:
            if self._stop_at is not None and self._stop_at <= now:
                outcome = Outcome.INTERRUPTED
            elif process.budget_at <= now:
                outcome = Outcome.TIMED_OUT
            else:
                return
        self._ended(running, outcome, process.began_at, now)

    def _ended(self, running: Running, outcome: Outcome, began_at: datetime, now: datetime) -> None:
        effect = self.state.by_run(running.run)
        assert effect is not None, "what runs was written down"
        step, undo = effect.step, running.undo
        assert undo == (effect.mark is Mark.UNDOING)
        again = step.retries if outcome is not Outcome.UNKNOWN else may_repeat(step)
        self._write(Finished(running.run, outcome, again=undo or again))
        self._running, self._process, self._stop_at = None, None, None
        if outcome is Outcome.DONE:
            if undo:
                self.changed.pop(step.name, None)
            else:
                self.changed[step.name] = "done"
        if undo or outcome is not Outcome.DONE:
            self.hinder(began_at, now)
        if outcome in (Outcome.FAILED, Outcome.TIMED_OUT):
            trouble = after_failure(self._troubles.get(step.name), self._tick(now))
            self._troubles[step.name] = trouble
            self.hinder(now, self._start + timedelta(seconds=trouble.again_at + 1))
        else:
            self._troubles.pop(step.name, None)

    # Approving

    def _consider(self, care: Care, now: datetime) -> None:
        if barrier.is_shared(care.event, self.name) and not self._all_ready(care, now):
            return
        if not self._approvals.is_due(care.key, self._tick(now)):
            return
        if care.approval is not Approval.NONE and self._outside.is_approved(care.event.event_id):
            return
        if care.approval is Approval.NONE:
            self._write(Approving(care.key, Approval.INTENDED))
        self._approvals.begin(care.key)
        post_at = now + timedelta(seconds=self._random.uniform(0.01, 1.5))
        self._posts.append((post_at, care.key, care.event.event_id))

    def _send(self, now: datetime) -> None:
        due, self._posts = [p for p in self._posts if p[0] <= now], [p for p in self._posts if p[0] > now]
        for _, key, event_id in due:
            lost = self.faults_until > now or self._random.random() < 0.05
            taken = not lost and self._outside.approve(self.name, event_id)
            if not self.agent_up:
                return
            self._approvals.ended(key, self._tick(now))
            care = self.state.cares.get(key)
            if care is None:
                self._approvals.forget(key)
            elif taken and care.approval is Approval.INTENDED:
                self._write(Approving(key, Approval.SENT))
            elif not lost and not taken:
                self._write(Approving(key, Approval.REFUSED))

    def _all_ready(self, care: Care, now: datetime) -> bool:
        if self.config.barrier.sharing is not Sharing.TOGETHER:
            return self.config.barrier.sharing is Sharing.ALONE
        tick, lost = self._tick(now), False
        gathering = Gathering()
        for name in barrier.others(care.event, self.name):
            other = self._outside.guest(name)
            if other is None or not other.agent_up or other.frozen:
                continue
            if self._random.random() < 0.05:
                lost = True
            else:
                gathering = gathering.with_answer(name, other.stance(care.key), tick)
        ruling, _ = barrier.rule(care.event, self.name, gathering, tick, self.config.barrier.patience_seconds)
        if lost or (ruling is Ruling.LEAVE and not self._outside.is_approved(care.event.event_id)):
            self._ask_at = now + timedelta(seconds=ASK_EVERY_SECONDS)
        return ruling is Ruling.APPROVE

    def stance(self, key: str) -> str:
        return stance(self.state, self.state.cares.get(key)) if self.read else "unknown"

    def _tell_others(self, now: datetime) -> None:
        """Others ask every two seconds; only those askings are simulated whose answer is a new one."""
        told = {key: self.stance(key) for key in self.state.cares}
        for key, said in told.items():
            if self._told.get(key) != said:
                for name in barrier.others(self.state.cares[key].event, self.name):
                    other = self._outside.guest(name)
                    if other is not None and other.agent_up:
                        self._outside.wake(other, now + timedelta(seconds=self._random.uniform(0.01, 2)))
        self._told = told

    # Until the next turn

    def _sleep(self, now: datetime) -> None:
        times = [post[0] for post in self._posts]
        times += [at for at in (self._look_at, self._ask_at, self._stop_at) if at is not None]
        if self._process is not None and self._running is not None:
            times += [min(self._process.ends_at, self._process.budget_at)]
        elif self.read and self._owes():
            times.append(now + timedelta(seconds=1))
        if self.read and any(not self._outside.is_approved(key) for key in self.state.cares):
            pause = self._approvals.wake_seconds(self._tick(now))
            times += [] if pause is None else [now + timedelta(seconds=pause)]
        if times:
            self._outside.wake(self, max(min(times), now + timedelta(milliseconds=10)))

    def _owes(self) -> bool:
        """Whether time alone may change what is to be done: a step or a reverse that rests after a failure."""
        wanted = {name for care in self.state.cares.values() for name in care.steps}
        undone = any(effect.step.name not in wanted for effect in self.state.effects)
        open_still = any(
            not is_started(care.event) and not is_prepared(self.state, care) for care in self.state.cares.values()
        )
        return bool(self._troubles) and (undone or open_still)

    def unfinished(self) -> str:
        """What keeps it from being in service; empty when nothing does."""
        if self.state.cares or self.state.effects or self._running is not None:
            return f"cares {list(self.state.cares)}, effects {[(e.step.name, e.mark) for e in self.state.effects]}"
        return f"changed {self.changed}" if {k: v for k, v in self.changed.items() if self._reversible(k)} else ""

    def _reversible(self, name: str) -> bool:
        return has_reverse(self._steps[name])
