"""``forewarn agent status``: what the agent remembers and how it feels, for a person who is worried about one VM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from forewarn.guest.agent.deciding.handling import deadline_of, pause_seconds
from forewarn.guest.agent.deciding.state import AgentState, Care, Mark, StepEffect
from forewarn.guest.agent.keeping.journal import FILE_NAME, peek
from forewarn.guest.agent.keeping.lines import event_fields
from forewarn.guest.agent.steps import undoes
from forewarn.guest.agent.telling.pages import parse_listen
from forewarn.guest.agent.tools.explain import in_words
from forewarn.guest.agent.values import AgentConfig
from forewarn.guest.http1 import BadResponse, OutgoingRequest, Response, ResponseReader
from forewarn.guest.system import this_machine
from forewarn.guest.watch import is_started
from forewarn.wire.times import format_iso8601

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - where to ask, not where to listen


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """What one of the agent's pages said: yes or no, and why not."""

    good: bool
    why: str


@dataclass(frozen=True, slots=True)
class StatusReport:
    """``healthy`` and ``ready`` are None where the status page did not answer; ``silence`` is then the reason."""

    health: PageAnswer | None
    ready: PageAnswer | None
    silence: str
    state: AgentState | None
    state_path: str
    margin_seconds: float
    now: datetime

    @property
    def healthy(self) -> bool | None:
        return None if self.health is None else self.health.good

    def as_json(self) -> dict[str, object]:
        state = self.state
        return {
            "healthy": self.healthy,
            "why_unhealthy": self.health.why if self.health else self.silence,
            "ready": None if self.ready is None else self.ready.good,
            "why_not_ready": self.ready.why if self.ready else self.silence,
            "state": None if state is None else self.state_path,
            "events": [_care_json(care) for care in state.cares.values()] if state else [],
            "changed": [self._effect_json(effect, state) for effect in state.effects] if state else [],
        }

    def lines(self) -> Iterator[str]:
        yield f"healthy   {_answer(self.health, self.silence)}"
        yield f"ready     {_answer(self.ready, self.silence)}"
        if self.state is None:
            yield f"memory    {self.state_path} cannot be read; try it as root"
            return
        for number, care in enumerate(self.state.cares.values()):
            yield f"{'' if number else 'events':<10}{_care_line(care)}"
        for number, effect in enumerate(self.state.effects):
            told = _effect_line(effect, self.state, self.margin_seconds, self.now)
            yield f"{'' if number else 'changed':<10}{told}"
        if not self.state.cares and not self.state.effects:
            yield "events    none"

    def _effect_json(self, effect: StepEffect, state: AgentState) -> dict[str, object]:
        next_try, until = _next_try(effect), _until(effect, state, self.margin_seconds)
        return {
            "step": effect.step.name,
            "kind": effect.step.kind,
            "mark": effect.mark.value,
            "event_id": effect.event.event_id,
            "undo": undoes(effect.step),
            "tries": effect.tries,
            "why": effect.why,
            "next_try": None if next_try is None else format_iso8601(next_try),
            "time_left_seconds": None if until is None else max(0.0, (until - self.now).total_seconds()),
        }


def report(config: AgentConfig, patience_seconds: float, now: datetime) -> StatusReport:
    """Ask the running agent, for so long at most, and look into what it has written."""
    ends_at = this_machine().clock.monotonic() + patience_seconds
    health, silence = _ask(config.status_listen, "/healthz", "healthy", ends_at)
    ready = None if health is None else _ask(config.status_listen, "/readyz", "ready", ends_at)[0]
    directory = Path(config.state_directory)
    path = str(directory / FILE_NAME)
    return StatusReport(health, ready, silence, _state(directory), path, config.margin_seconds, now)


def _state(directory: Path) -> AgentState | None:
    """The agent's state from its file; None where the file may not be read.

    No file: an agent that had nothing to remember.
    """
    try:
        with (directory / FILE_NAME).open("rb"):
            pass
    except FileNotFoundError:
        return AgentState()
    except OSError:
        return None
    return peek(this_machine().files, directory)


def _ask(listen: str, path: str, word: str, ends_at: float) -> tuple[PageAnswer | None, str]:
    if not listen:
        return None, "the file gives the agent no status_listen"
    try:
        said = json.loads(_get(listen, path, ends_at).body)
        return PageAnswer(bool(said[word]), str(said["why"])), ""
    except (OSError, BadResponse) as problem:
        return None, f"nobody answers at {listen}: {getattr(problem, 'strerror', None) or problem}"
    except (ValueError, KeyError, TypeError):
        return None, f"what answers at {listen} is not an agent"


def _get(listen: str, path: str, ends_at: float) -> Response:
    host, port = parse_listen(listen)
    reader = ResponseReader()
    opened = this_machine().sockets.connect(_ANYWHERE.get(host, host), port, _left(ends_at))
    with closing(opened) as connection:
        connection.sendall(OutgoingRequest("GET", path, (("Connection", "close"),)).encode(listen))
        while True:
            connection.settimeout(_left(ends_at))
            if (answer := reader.feed(connection.recv(65536))) is not None:
                return answer


def _left(ends_at: float) -> float:
    if (left := ends_at - this_machine().clock.monotonic()) <= 0:
        raise TimeoutError("no answer in time")
    return left


def _answer(answer: PageAnswer | None, silence: str) -> str:
    if answer is None:
        return f"not known: {silence}"
    return "yes" if answer.good else f"no: {answer.why}"


def _care_line(care: Care) -> str:
    event = care.event
    when = "" if event.not_before is None else f", NotBefore {format_iso8601(event.not_before)}"
    sent = "" if care.sent < 2 else f" {care.sent} times"
    return f"{event.event_id} {event.type} {event.status}{when}: {care.verdict}, approval {care.approval}{sent}"


def _effect_line(effect: StepEffect, state: AgentState, margin_seconds: float, now: datetime) -> str:
    undo = undoes(effect.step)
    parts = [f"{effect.step.name}: {_standing(effect)}", *_trouble(effect, state, margin_seconds, now)]
    return "; ".join([*parts, *([f"to be undone: {undo}"] if undo else [])])


def _standing(effect: StepEffect) -> str:
    if not effect.tries:
        return effect.mark.value if not effect.why else f"{effect.mark}, {effect.why}"
    when = "" if effect.failed_at is None else f", last at {format_iso8601(effect.failed_at.replace(microsecond=0))}"
    times = "once" if effect.tries == 1 else f"{effect.tries} times in a row"
    return f"failed {times}{when}: {effect.why or 'it did not say why'}"


def _trouble(effect: StepEffect, state: AgentState, margin_seconds: float, now: datetime) -> Iterator[str]:
    """When it is tried again, and how much time there is."""
    if not effect.tries:
        return
    if effect.mark is not Mark.BROKEN:
        yield f"now {effect.mark} again"
    elif not effect.again:
        yield "not tried again"
    elif (again := _next_try(effect)) is not None:
        yield f"next try in {in_words((again - now).total_seconds())}" if again > now else "next try now"
    until = _until(effect, state, margin_seconds)
    if until is not None:
        yield f"{in_words((until - now).total_seconds())} left for the steps" if until > now else "no time left"


def _next_try(effect: StepEffect) -> datetime | None:
    if effect.failed_at is None or effect.mark is not Mark.BROKEN or not effect.again or not effect.tries:
        return None
    return effect.failed_at + timedelta(seconds=pause_seconds(effect.tries))


def _until(effect: StepEffect, state: AgentState, margin_seconds: float) -> datetime | None:
    """When the steps of the event that wants it must be done; None where no event that is ahead does."""
    wanting = [care for care in state.cares.values() if effect.step.name in care.steps and not is_started(care.event)]
    return min((deadline_of(care, margin_seconds) for care in wanting), default=None)


def _care_json(care: Care) -> dict[str, object]:
    return {
        "event": event_fields(care.event),
        "seen_at": format_iso8601(care.seen_at),
        "verdict": care.verdict.value,
        "steps": list(care.steps),
        "approval": care.approval.value,
    }
