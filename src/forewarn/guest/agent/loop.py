"""The agent. One thread decides, and it alone writes; all others report to it through its inbox.

They read the document, do steps, send approvals and ask the members of a shared event, so that the deciding thread
waits for nothing slow.
"""

from __future__ import annotations

import queue
from datetime import datetime
from pathlib import Path

from forewarn.guest.agent.consent import Consent
from forewarn.guest.agent.deciding.handling import (
    Duties,
    Situation,
    Trouble,
    Work,
    after_failure,
    has_failed,
    is_hopeless,
    is_prepared,
    is_pressed,
    owed,
    regard,
    stance,
)
from forewarn.guest.agent.deciding.policy import PREPARES, decide
from forewarn.guest.agent.deciding.service_time import ServiceTime
from forewarn.guest.agent.deciding.state import (
    AgentState,
    Begun,
    Finished,
    Left,
    Mark,
    Seen,
    StepEnd,
    StepOutcome,
    Undoing,
    key_of,
)
from forewarn.guest.agent.deciding.windows import held_back
from forewarn.guest.agent.inbox import Answered, Inbox, Looked, Message, Named, Posted, Spoken, Stop, WorkEnded
from forewarn.guest.agent.keeping.journal import AgentJournal, Remembered
from forewarn.guest.agent.keeping.journal import peek as peek_journal
from forewarn.guest.agent.manners import PACE, AgentPace, TurnWatcher
from forewarn.guest.agent.reader import MakeClient, Reader
from forewarn.guest.agent.steps import has_reverse, may_repeat
from forewarn.guest.agent.telling import plain_words
from forewarn.guest.agent.telling.health import AgentHealth
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.telling.pages import StatusServer
from forewarn.guest.agent.telling.reporting import LOG, Reporter
from forewarn.guest.agent.values import AgentConfig
from forewarn.guest.agent.worker import Worker
from forewarn.guest.client import Client
from forewarn.guest.system import this_machine
from forewarn.guest.system.parts import System
from forewarn.guest.watch import Watcher, is_started

_ENDING_SECONDS = 8.0  # less than the ten seconds of `docker stop`, and the ninety of systemd
ONCE_PATIENCE_SECONDS = 30.0  # for `--once`: a service that restarts is back within this
FAILED, UNREACHABLE = 1, 3  # exit statuses; as those of the command line, whose modules an agent does not carry


class Agent:
    """Everything of one agent. ``run`` returns after ``Stop`` has come into its inbox.

    With ``once`` it looks a single time. Its own work takes the time it takes; for others (the metadata service, the
    VMs of a shared event, a step that has to be tried again) it waits ``patience_seconds`` altogether.

    ``system``, ``client`` and ``pace`` are this machine, the library and the usual; a simulation has its own. A drill
    has a ``watcher``, and approves nothing.
    """

    def __init__(
        self,
        config: AgentConfig,
        *,
        once: bool = False,
        dry_run: bool = False,
        patience_seconds: float = ONCE_PATIENCE_SECONDS,
        system: System | None = None,
        client: MakeClient = Client,
        pace: AgentPace = PACE,
        watcher: TurnWatcher | None = None,
    ) -> None:
        system = system or this_machine()
        self._config = config
        self._once, self._dry_run = once, dry_run
        self._patience_seconds = patience_seconds if once else float("inf")
        self._waited_seconds = 0.0
        self._pace = pace
        self._watcher = watcher
        self._clock = system.clock
        directory, files = Path(config.state_directory), system.files
        self._journal = Remembered(peek_journal(files, directory)) if dry_run else AgentJournal(files, directory)
        self._inbox: Inbox = system.threads.queue()
        self._steps = {step.name: step for step in config.steps}
        metrics = Metrics(system.threads)
        health = AgentHealth(system.threads, self._clock.monotonic, config.unhealthy_after_seconds)
        self._report = Reporter(system, config, metrics, health, self.now, drill=watcher is not None)
        self._status = StatusServer(system, config.status_listen, health, metrics) if config.status_listen else None
        self._worker = Worker(system, directory / "runs", self._inbox)
        self._reader = Reader(system, config, self._inbox, patience_seconds if once else None, client)
        self._tracker = Watcher()
        self._consent = Consent(
            system,
            config,
            self._reader.client,
            self._inbox,
            self._report,
            self._journal.write,
            dry_run=dry_run or watcher is not None,
        )
        self._troubles: dict[str, Trouble] = {}
        self._name = ""
        self._read = False  # whether a document was seen by this process: before that nothing is begun
        self._time = ServiceTime()
        self._last_fault = "no answer"
        self._ending = False
        self._status_code = 0

    @property
    def _state(self) -> AgentState:
        return self._journal.state

    def now(self) -> datetime:
        """The service's time, carried on from its last answer; ours before there was one."""
        return self._time.now(self._clock.monotonic()) or self._clock.now()

    def stop(self, why: str, *, status: int = 0) -> None:
        """From any thread, and from a signal's handler."""
        self._inbox.put(Stop(why, status))

    # The turns

    def run(self) -> int:
        """Until told to end; the exit status."""
        try:
            self._open()
            while not self._ending:
                self._turn(self._wait())
                if self._once and not self._ending and self._has_looked():
                    break
        finally:
            self.close()
        return self._status_code

    def _open(self) -> None:
        if self._journal.spoiled:
            LOG.error("%s", self._journal.spoiled)
        self._say_the_policy()
        if self._status is not None:
            LOG.info("status at http://%s", self._status.open())
        self._report.remember(self._state)
        for care in self._state.cares.values():
            self._tracker.remember(care.event)
        self._take_up()
        self._reader.start()
        self._report.supervisor.ready("waiting for the metadata service")

    def _say_the_policy(self) -> None:
        if doubt := plain_words.warning(self._config):
            LOG.warning("%s", doubt)
        for each in plain_words.skipped(self._config):
            LOG.info("without steps: %s", each)

    def _take_up(self) -> None:
        """What an earlier agent left under way; there is one such piece of work at most."""
        for effect in self._state.effects:
            if effect.mark in (Mark.DOING, Mark.UNDOING) and not self._dry_run:
                LOG.info("step %r was under way when the agent went down", effect.step.name)
                self._worker.take_up(effect)

    def _wait(self) -> list[Message]:
        """All that there is to hear, or nothing when it is time to look again."""
        heard: list[Message] = []
        began, works = self._clock.monotonic(), self._worker.running is not None
        try:
            heard.append(self._inbox.get(timeout=self._pause_seconds()))
            while True:
                heard.append(self._inbox.get_nowait())
        except queue.Empty:
            self._waited_seconds += 0.0 if works else self._clock.monotonic() - began
            return heard

    def _pause_seconds(self) -> float:
        waits = [self._pace.busy_seconds if is_pressed(self._state, self._worker.running) else self._pace.idle_seconds]
        told = (self._consent.wake_seconds(), self._report.supervisor.alive_every_seconds)
        waits += [pause for pause in told if pause is not None]
        pauses = [trouble.again_at - self._clock.monotonic() for trouble in self._troubles.values()]
        waits += [pause for pause in pauses if pause > 0]
        if self._worker.running is None:
            waits.append(self._patience_seconds - self._waited_seconds)
        return max(0.01, min(waits))

    def _turn(self, heard: list[Message]) -> None:
        for message in heard:
            self._hear(message)
        self._report.supervisor.alive()
        if self._read and not self._ending:
            self._act()

    def _hear(self, message: Message) -> None:
        match message:
            case Looked():
                self._looked(message)
            case WorkEnded(run, ended, seconds):
                self._work_ended(run, ended, seconds)
            case Posted(key, fault):
                self._consent.posted(self._state.cares.get(key), key, fault)
            case Answered(key, name, said):
                self._consent.answered(key, name, said)
            case Spoken(key, name):
                self._consent.spoken(key, name)
            case Named(name):
                self._named(name)
            case Stop(why, status):
                LOG.info("ending: %s", why)
                self._ending, self._status_code = True, status

    def _named(self, name: str) -> None:
        self._name = name
        self._report.named(name)
        self._consent.open(name, self._stance)

    def _stance(self, key: str) -> str:
        """Called by other threads without a lock: the state is a value that is replaced, never changed."""
        state = self._state
        return stance(state, state.cares.get(key), held=key in self._held(state)) if self._read else "unknown"

    def _held(self, state: AgentState) -> frozenset[str]:
        return held_back(self._config, self._name, state, self.now())

    # The document

    def _looked(self, looked: Looked) -> None:
        reading = looked.reading
        self._report.looked(reading)
        if reading.fault is not None:
            self._last_fault = reading.fault.reason
            if self._once and reading.fault.lasting:
                self.stop(f"the service refuses: {reading.fault.reason}", status=UNREACHABLE)
            return
        self._time.heard(reading.at, looked.tick)
        if reading.document is None:
            self._last_fault = "the service answers and tells nothing"
            return
        if not self._read:
            self._report.supervisor.status(f"{self._name}: reading the document")
        self._read = True
        changes = self._tracker.see(reading.document, reading.at, reading.api_version)
        for change in changes:
            care = self._state.cares.get(key_of(change.event))
            if care is not None:
                self._consent.confirm(care, change)  # it was approved before it started, and is told in this order
            self._report.changed(change)
        for record in regard(self._config, self._name, self._state, self._tracker.events, self.now()):
            self._note(record)

    def _note(self, record: Seen | Left) -> None:
        key = key_of(record.event) if isinstance(record, Seen) else record.event_id.upper()
        if isinstance(record, Seen) and key not in self._state.cares:
            decision = decide(self._config, record.event, self._name)
            self._report.decided(record.event, record.verdict, decision.reason)
        self._journal.write(record)
        if isinstance(record, Left) or is_started(record.event):
            self._consent.forget(key)
        if isinstance(record, Left):
            self._report.forget(key)

    # What is owed

    def _moment(self) -> Situation:
        return Situation(
            state=self._state,
            steps=self._steps,
            margin_seconds=self._config.margin_seconds,
            now=self.now(),
            tick=self._clock.monotonic(),
            running=self._worker.running,
            troubles=self._troubles,
            held=self._held(self._state),
        )

    def _act(self) -> None:
        moment = self._moment()
        duties = owed(moment)
        self._direct(duties)
        self._judge(moment)
        for key in duties.approve:
            self._consent.consider(self._state.cares[key], moment.now)
        for key in moment.held:
            self._consent.hold(self._state.cares[key], moment.now)
        self._report.in_service(self._state)
        if self._watcher is not None:
            self._watcher.acted(self._moment())

    def _direct(self, duties: Duties) -> None:
        if self._worker.running is not None:
            if duties.stop:
                self._worker.call_off()
            elif duties.left_seconds is not None:
                self._worker.set_left(duties.left_seconds)
        elif duties.begin is not None:
            self._begin(duties.begin)

    def _begin(self, work: Work) -> None:
        run, name = self._state.last_run + 1, work.step.name
        nothing = work.undo and not has_reverse(work.step)
        if not nothing:
            self._report.begins(work.event, name, work.seconds, undo=work.undo)
        boot = self._worker.boot
        self._journal.write(Undoing(run, name, boot) if work.undo else Begun(run, work.step, boot, work.event))
        if nothing or self._dry_run:
            self._inbox.put(
                WorkEnded(run, StepEnd(StepOutcome.DONE, "nothing to undo" if nothing else "not done: dry run"), 0)
            )
            self._worker.pretend(name, run, undo=work.undo)
        else:
            self._worker.begin(work, run, self._name)

    def _work_ended(self, run: int, ended: StepEnd, seconds: float) -> None:
        effect = self._state.by_run(run)
        assert effect is not None, "what runs was written down"
        undo, step = effect.mark is Mark.UNDOING, effect.step
        seen = ended.outcome in (StepOutcome.FAILED, StepOutcome.TIMED_OUT) or not self._ending
        again = step.retries if seen and ended.outcome is not StepOutcome.UNKNOWN else may_repeat(step)
        self._journal.write(Finished(run, ended.outcome, undo or again, ended.detail, self._clock.now()))
        self._worker.ended(run)
        if ended.good or ended.outcome in (StepOutcome.NEVER_BEGAN, StepOutcome.INTERRUPTED, StepOutcome.UNKNOWN):
            self._troubles.pop(step.name, None)
        else:
            failed = self._state.effect(step.name)
            self._troubles[step.name] = after_failure(failed.tries if failed else 1, self._clock.monotonic())
        if not undo or has_reverse(step):
            self._report.ended(effect.event, step.name, step.kind, ended.outcome, ended.detail, seconds, undo=undo)
        if self._watcher is not None:
            self._watcher.ended(step, ended, seconds, undo=undo)
        if self._read:
            self._judge(self._moment())  # now: a start that waits in the inbox came after it, and is told after it

    def _judge(self, moment: Situation) -> None:
        """Tell what has become certain about preparations."""
        for care in moment.state.cares.values():
            was_announced = bool(care.steps) or not is_started(care.event)
            if care.verdict not in PREPARES or not was_announced:
                continue
            if is_prepared(moment.state, care):
                self._report.prepared(care)
            elif is_hopeless(moment, care):
                missing = [n for n in care.steps if (e := moment.state.effect(n)) is None or e.mark is not Mark.DONE]
                self._report.failed(care.event, f"not prepared for {care.event.type}: {', '.join(missing)}")

    # Ending

    def _has_looked(self) -> bool:
        """For a single look: whether all is done that it asked for, or patience is over. Sets the exit status."""
        over = self._waited_seconds >= self._patience_seconds
        if not self._read:
            if over:
                LOG.error("no document within %g s: %s", self._patience_seconds, self._last_fault)
                self._status_code = UNREACHABLE
            return over
        if self._worker.running is not None:
            return False
        moment = self._moment()
        duties = owed(moment)
        to_come = self._consent.under_way or self._consent.is_to_come(self._state, moment.held)
        waits = duties.wake_seconds is not None or to_come
        if duties.begin is not None or not self._inbox.empty() or (waits and not over):
            return False
        self._status_code = FAILED if self._troubles or has_failed(moment) else 0
        return True

    def close(self) -> None:
        """Call off what runs and write that down, so that the next agent knows what was changed."""
        self._report.supervisor.stopping()
        self._ending = True
        if self._worker.running is not None:
            self._worker.call_off()
            self._await_work(self._clock.monotonic() + _ENDING_SECONDS)
        self._reader.close()
        self._consent.close()
        if self._status is not None:
            self._status.close()
        self._report.close()
        self._journal.close()

    def _await_work(self, until: float) -> None:
        while self._worker.running is not None and (left := until - self._clock.monotonic()) > 0:
            try:
                message = self._inbox.get(timeout=left)
            except queue.Empty:
                return
            if isinstance(message, WorkEnded):
                self._hear(message)
