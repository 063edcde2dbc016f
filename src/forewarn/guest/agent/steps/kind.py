"""What every kind of step offers, and what it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Receipts
from forewarn.guest.agent.steps.keys import StepKeys
from forewarn.guest.agent.values import Step
from forewarn.guest.system.parts import System
from forewarn.guest.watch import is_started
from forewarn.terms import ScheduledEvent
from forewarn.wire.json_bytes import write_json
from forewarn.wire.times import format_rfc1123


@dataclass(frozen=True, slots=True)
class Task:
    """One run: of which step, for which event, on which VM, with how much time, and where it leaves its traces."""

    system: System
    step: Step
    event: ScheduledEvent
    own_name: str
    budget: Budget
    receipts: Receipts
    undo: bool = False

    def text(self, key: str, default: str = "") -> str:
        return str(self.step.settings.get(key, default))

    def words(self, key: str) -> list[str]:
        """A command or a list of names. A single text is a single word, never split by us."""
        value = self.step.settings.get(key)
        return [str(each) for each in value] if isinstance(value, list) else [str(value)]

    def table(self, key: str) -> dict[str, str]:
        value = self.step.settings.get(key)
        return {str(name): str(each) for name, each in value.items()} if isinstance(value, Mapping) else {}


def over(task: Task, said: str) -> StepEnd:
    """How work has ended that has no time left."""
    outcome = StepOutcome.INTERRUPTED if task.budget.called_off else StepOutcome.TIMED_OUT
    return StepEnd(outcome, f"{task.budget.why_over()}: {said}")


Settings = Mapping[str, object]  # what a file gives a step beside what every step has


class Need(NamedTuple):
    """Something that must be on the machine for a step to succeed; ``tools.missing`` looks for it."""

    what: Literal["directory", "program", "shell line", "socket", "systemd unit", "Windows service"]
    name: str
    directory: str = "/"  # from which a program or a line is run


class StepKind(Protocol):
    """A way to prepare and its way back: what a file may say of it, its words for people, and doing it."""

    keys: StepKeys
    one_program: bool  # whether a run is one program, whose receipt tells a later agent how it ended

    def does(self, settings: Settings) -> str:
        """What such a step does, in words for a person."""

    def undoes(self, settings: Settings) -> str:
        """How it is undone, likewise; empty where there is nothing to undo."""

    def needs(self, settings: Settings) -> Iterable[Need]:
        """What it finds on the machine, or fails. What others run (an HTTP service) is none: asking may be doing."""

    def natural(self, step: Step) -> bool:
        """Whether doing it twice is like doing it once."""

    def has_reverse(self, step: Step) -> bool: ...

    def do(self, task: Task) -> StepEnd:
        """Does not raise: what went wrong is in how it ended."""

    def undo(self, task: Task) -> StepEnd:
        """Likewise."""


def event_json(event: ScheduledEvent) -> bytes:
    """The whole event, in the service's own words."""
    fields = {
        "EventId": event.event_id,
        "EventStatus": event.status,
        "EventType": event.type,
        "ResourceType": "VirtualMachine",
        "Resources": list(event.resources),
        "NotBefore": "" if event.not_before is None or is_started(event) else format_rfc1123(event.not_before),
        "Description": event.description,
        "EventSource": event.source,
        "DurationInSeconds": event.duration_seconds,
    }
    return write_json({key: value for key, value in fields.items() if value is not None})


def event_environment(task: Task) -> dict[str, str]:
    """The same for a shell, and who and what the program runs for."""
    event = task.event
    told = {
        "EVENT_ID": event.event_id,
        "EVENT_STATUS": event.status,
        "EVENT_TYPE": event.type,
        "EVENT_RESOURCES": " ".join(event.resources),
        "EVENT_NOT_BEFORE": "" if event.not_before is None else format_rfc1123(event.not_before),
        "EVENT_DESCRIPTION": event.description or "",
        "EVENT_SOURCE": event.source or "",
        "EVENT_DURATION_SECONDS": "" if event.duration_seconds is None else str(event.duration_seconds),
        "EVENT_JSON": event_json(event).decode(),
        "VM_NAME": task.own_name,
        "STEP": task.step.name,
        "ACTION": "undo" if task.undo else "do",
        "SECONDS_LEFT": str(int(task.budget.left())),
    }
    return {f"FOREWARN_{key}": value.replace("\0", "") for key, value in told.items()}
