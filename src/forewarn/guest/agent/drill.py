"""A drill: the agent meets an event that nobody announced, does its steps for it, and undoes them. Nothing is approved.

It is the agent itself, with its journal: what a drill has changed is on disk before it is changed, so a drill that is
killed is undone by the next agent. Only the metadata service is ours: it shows the event until everything is prepared,
or cannot be any more, and then shows it no longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

from forewarn.guest.agent.deciding.handling import Situation, is_hopeless, is_prepared
from forewarn.guest.agent.deciding.policy import Decision, decide
from forewarn.guest.agent.deciding.state import Care, StepEnd, key_of
from forewarn.guest.agent.keeping.journal import peek
from forewarn.guest.agent.loop import FAILED, Agent
from forewarn.guest.agent.values import AgentConfig, Step
from forewarn.guest.client import Client
from forewarn.guest.faults import Closed
from forewarn.guest.instance import Instance
from forewarn.guest.reading import Reading
from forewarn.guest.system.parts import System
from forewarn.terms import Document, ScheduledEvent

MOST_TRIES = 3  # ours: a step that fails as often in a row ends the drill; an agent would go on until NotBefore
_LOOK_SECONDS = 0.2  # ours: as the quickest poll that a file may ask for
_API_VERSION = "2020-07-01"
_ABOUT = "A drill of the agent: nothing was announced, and nothing will happen to this VM."


@dataclass(frozen=True, slots=True)
class Tried:
    """One try of a step, or of its reverse."""

    step: str
    undo: bool
    end: StepEnd
    seconds: float


@dataclass(slots=True)
class Report:
    """What a drill did."""

    event: ScheduledEvent
    decision: Decision
    tried: list[Tried] = field(default_factory=list)
    prepared: bool = False
    why: str = ""  # where it was not prepared
    left: tuple[str, ...] = ()  # steps that are still in effect

    @property
    def good(self) -> bool:
        return self.prepared and not self.left


class NotNow(Exception):  # noqa: N818 - it reads as what it is
    """The agent still has an event of its own to see to, which a drill would mix with its own."""


def drill_event(name: str, kind: str, source: str, now: datetime, notice_seconds: float) -> ScheduledEvent:
    """The event of a drill. Its id says what it is, for those who read logs and for steps."""
    return ScheduledEvent(
        event_id=f"DRILL-{now:%Y%m%dT%H%M%SZ}",
        status="Scheduled",
        type=kind,
        resources=(name,),
        not_before=now + timedelta(seconds=notice_seconds),
        description=_ABOUT,
        source=source,
        duration_seconds=-1,
    )


class Drill:
    """One drill, in this thread. ``stop`` ends preparing, and what was done is undone; a second one ends at once."""

    def __init__(self, system: System, config: AgentConfig, event: ScheduledEvent) -> None:
        self._system, self._event = system, event
        (name,) = event.resources
        quiet = replace(config, name=name, notifications=(), status_listen="")  # nobody is told of what is none
        self.report = Report(event, decide(config, event, name))
        self._over = system.threads.event()
        self._closed = system.threads.event()
        self._agent = Agent(quiet, system=system, client=self._client, watcher=self)
        self._refuse_if_busy(Path(config.state_directory))

    def run(self) -> Report:
        self._agent.run()
        return self.report

    def stop(self, why: str) -> None:
        if self._over.is_set():
            self._agent.stop(why, status=FAILED)
        else:
            self._end_preparing(why)

    def _refuse_if_busy(self, directory: Path) -> None:
        """An event that an agent still has to see to is not to be forgotten. The agent's lock is ours by now."""
        state = peek(self._system.files, directory)
        if state.cares or state.effects:
            self._agent.close()
            names = [care.event.event_id for care in state.cares.values()] or [e.step.name for e in state.effects]
            raise NotNow(
                f"the agent remembers {', '.join(names)}, which it has to see to first; 'forewarn agent status' tells, "
                "'forewarn agent run --once' takes it up"
            )

    # What the agent tells

    def ended(self, step: Step, end: StepEnd, seconds: float, *, undo: bool) -> None:
        self.report.tried.append(Tried(step.name, undo, end, seconds))

    def acted(self, moment: Situation) -> None:
        care = moment.state.cares.get(key_of(self._event))
        if not self._over.is_set():
            if care is not None:
                self._judge(moment, care)
        elif care is None and moment.running is None:
            self._come_back(moment)

    def _judge(self, moment: Situation, care: Care) -> None:
        tired = self._tired(undo=False)
        if is_prepared(moment.state, care):
            self.report.prepared = True
            self._end_preparing("")
        elif tired:
            self._end_preparing(f"step {tired[0]!r} failed {MOST_TRIES} times in a row")
        elif is_hopeless(moment, care):
            self._end_preparing("a step failed for good, or the time was over before all were done")

    def _end_preparing(self, why: str) -> None:
        self.report.why = why
        self._over.set()

    def _tired(self, *, undo: bool) -> list[str]:
        """The steps that were tried so often, and in vain, that a drill tries them no more."""
        failed = [each.step for each in self.report.tried if each.undo is undo and not each.end.good]
        return [name for name in dict.fromkeys(failed) if failed.count(name) >= MOST_TRIES]

    def _come_back(self, moment: Situation) -> None:
        left = tuple(effect.step.name for effect in moment.state.effects)
        if not left or set(left) & set(self._tired(undo=True)):
            self.report.left = left
            self._agent.stop("the drill is over", status=FAILED if left else 0)

    # What the agent is told

    def _client(self, *_: object, **__: object) -> Client:
        return cast(Client, self)

    asks = "nobody: this is a drill"

    def instance(self) -> Instance:
        raise Closed  # the name is given, and nobody doubts it

    def readings(self) -> Iterator[Reading]:
        for number, events in enumerate(((self._event,), ()), start=1):
            first = True
            while first or not (self._closed.is_set() or (events and self._over.is_set())):
                document = Document(number, events)
                yield Reading(self._system.clock.now(), document, not first, api_version=_API_VERSION)
                first = False
                (self._over if events else self._closed).wait(_LOOK_SECONDS)
            if self._closed.is_set():
                return

    def approve(self, *event_ids: str) -> None:
        raise AssertionError(f"a drill approves nothing: {event_ids}")

    def close(self) -> None:
        self._closed.set()
