"""What the agent says of its work: to its log, to people, to monitoring and to systemd. Each thing once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from forewarn.guest.agent.deciding.handling import is_lost, is_prepared
from forewarn.guest.agent.deciding.policy import PREPARES, decide
from forewarn.guest.agent.deciding.state import AgentState, Care, StepOutcome, key_of
from forewarn.guest.agent.telling.channels import Teller
from forewarn.guest.agent.telling.health import AgentHealth
from forewarn.guest.agent.telling.logs import LOGGER_NAME, about
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.telling.occasions import Occasion
from forewarn.guest.agent.values import AgentConfig, Verdict
from forewarn.guest.instance import concerns
from forewarn.guest.reading import Reading
from forewarn.guest.system.parts import System
from forewarn.guest.watch import Appeared, Change, Changed, Ended, Ending, Started, is_started
from forewarn.terms import ScheduledEvent
from forewarn.wire.times import format_iso8601

LOG = logging.getLogger(LOGGER_NAME)
_OUT_OF_SERVICE = "handling"


class Reporter:
    """Belongs to the deciding thread."""

    def __init__(
        self,
        system: System,
        config: AgentConfig,
        metrics: Metrics,
        health: AgentHealth,
        now: Callable[[], datetime],
        *,
        drill: bool = False,
    ) -> None:
        self._system = system
        self._drill = drill
        self._config = config
        self.metrics = metrics
        self.health = health
        self.supervisor = system.supervisor()
        self._now = now
        self._teller: Teller | None = None
        self._name = ""
        self._told: set[tuple[str, str]] = set()
        self._faulty = False
        self._status = ""

    def named(self, name: str) -> None:
        self._name = name
        self._teller = Teller(self._system, self._config.notifications, name, now=self._now, metrics=self.metrics)
        LOG.info("this VM is %s", name)

    def remember(self, state: AgentState) -> None:
        """What an earlier agent has told already: a line of cron that looks each minute must not repeat it."""
        for key, care in state.cares.items():
            self._told |= {(key, Occasion.SCHEDULED), (key, Occasion.PREPARING)}
            if is_prepared(state, care):
                self._told.add((key, Occasion.PREPARED))
            elif is_lost(state, care):
                self._told.add((key, Occasion.FAILED))

    def close(self) -> None:
        if self._teller is not None:
            self._teller.close(2.0)

    # The document

    def looked(self, reading: Reading) -> None:
        """A look at the document, good or not."""
        if reading.fault is not None:
            self.metrics.read("fault")
            level = logging.DEBUG if self._faulty else logging.WARNING
            LOG.log(level, "the document cannot be read: %s", reading.fault.reason)
            self._faulty = True
            return
        if self._faulty:
            LOG.info("the document can be read again")
        self._faulty = False
        self.health.good_read()
        self.metrics.read("good" if reading.document is not None else "empty")
        if reading.document is not None and not reading.unchanged:
            mine = [event for event in reading.document.events if concerns(event, self._name)]
            self.metrics.document(reading.document.incarnation, mine)

    def changed(self, change: Change) -> None:
        """Count it, and notify people, unless the verdict on this event is ``ignore``."""
        if not concerns(change.event, self._name):
            self._spared(change)
            return
        if isinstance(change, Appeared):
            self.metrics.appeared(change.event)
        if decide(self._config, change.event, self._name).verdict is Verdict.IGNORE:
            return
        match change:
            case Appeared(event):
                self.tell(Occasion.SCHEDULED, event, _announcement(event))
            case Started(event):
                self.tell(Occasion.STARTED, event, f"{event.type} has started")
            case Ended(event, _, how, why):
                gone = Occasion.CANCELED if how is Ending.CANCELED else Occasion.COMPLETED
                over = f"{event.type} is over ({how}): {why}"
                self.tell(gone, event, f"the drill's {event.type} is taken back" if self._drill else over)

    def _spared(self, change: Change) -> None:
        if isinstance(change, Changed) and concerns(change.before, self._name):
            text = f"{change.event.type} does not name this VM any more"
            self.tell(Occasion.CANCELED, change.event, text)

    # The work

    def decided(self, event: ScheduledEvent, verdict: str, reason: str) -> None:
        self.metrics.decided(verdict)
        LOG.info("%s, since %s", verdict, reason, extra=about(event))

    def begins(self, event: ScheduledEvent, name: str, seconds: float, *, undo: bool) -> None:
        if not undo:
            self.tell(Occasion.PREPARING, event, f"preparing for {event.type}")
        what = "undoing" if undo else "doing"
        LOG.info("%s step %r, which has %.0f s", what, name, seconds, extra=about(event))

    def ended(
        self,
        event: ScheduledEvent,
        name: str,
        kind: str,
        outcome: StepOutcome,
        detail: str,
        seconds: float,
        *,
        undo: bool,
    ) -> None:
        good = outcome is StepOutcome.DONE
        word = ("undone" if good else "undo_failed") if undo else _metric_word(outcome)
        self.metrics.step(kind, word, seconds)
        what = f"undoing step {name!r}" if undo else f"step {name!r}"
        LOG.log(logging.INFO if good else logging.WARNING, "%s %s", what, _ending(outcome, detail), extra=about(event))

    def prepared(self, care: Care) -> None:
        if care.verdict in PREPARES:
            self.tell(Occasion.PREPARED, care.event, f"prepared for {care.event.type}")

    def failed(self, event: ScheduledEvent, text: str) -> None:
        self.tell(Occasion.FAILED, event, text, level=logging.ERROR)

    def tell(self, occasion: str, event: ScheduledEvent, text: str, *, level: int = logging.INFO) -> None:
        """People and the log, once for each event and occasion."""
        key = (key_of(event), str(occasion))
        if key in self._told:
            return
        self._told.add(key)
        LOG.log(level, "%s", text, extra=about(event))
        if self._teller is not None:
            self._teller.tell(occasion, event, text)

    def say(self, event: ScheduledEvent, text: str, *, level: int = logging.INFO) -> bool:
        """The log only, once for each event and sentence; whether it was new."""
        key = (key_of(event), text)
        if key in self._told:
            return False
        self._told.add(key)
        LOG.log(level, "%s", text, extra=about(event))
        return True

    def forget(self, key: str) -> None:
        """An event that has left cannot come again."""
        self._told = {each for each in self._told if each[0] != key}

    def in_service(self, state: AgentState) -> None:
        """/readyz: not while this VM prepares for something, nor before everything is put back."""
        busy = next((care for care in state.cares.values() if care.verdict in PREPARES), None)
        why = _where_it_is(busy.event) if busy else "what was changed is not all put back" if state.effects else ""
        if why:
            self.health.leave_service(_OUT_OF_SERVICE, why)
        else:
            self.health.return_to_service(_OUT_OF_SERVICE)
        if why != self._status:
            self._status = why
            self.supervisor.status(f"{self._name}: {why or 'in service'}")


def _announcement(event: ScheduledEvent) -> str:
    """A failure of hardware is never announced: its first sight is that it has started."""
    when = "" if event.not_before is None else f", not before {format_iso8601(event.not_before)}"
    names = f", for {', '.join(event.resources)}"
    said = f": {event.description}" if event.description else ""
    return f"{event.type} is {'under way' if is_started(event) else f'announced{when}'}{names}{said}"


def _where_it_is(event: ScheduledEvent) -> str:
    return f"{event.type} is {'under way' if is_started(event) else 'ahead'}"


def _ending(outcome: StepOutcome, detail: str) -> str:
    """How a step ended, behind its name. What ended it says so itself."""
    if outcome in (StepOutcome.TIMED_OUT, StepOutcome.INTERRUPTED) and detail:
        return detail
    return f"{_OUTCOME_WORDS[outcome]}{f': {detail}' if detail else ''}"


_OUTCOME_WORDS = {
    StepOutcome.DONE: "is done",
    StepOutcome.FAILED: "has failed",
    StepOutcome.TIMED_OUT: "took too long",
    StepOutcome.INTERRUPTED: "was called off",
    StepOutcome.UNKNOWN: "has ended unseen",
    StepOutcome.NEVER_BEGAN: "never began",
}


def _metric_word(outcome: StepOutcome) -> str:
    return outcome.value if outcome in (StepOutcome.DONE, StepOutcome.TIMED_OUT) else "failed"
