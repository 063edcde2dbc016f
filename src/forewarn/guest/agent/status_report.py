"""``forewarn agent status``: what the agent remembers and how it feels, for a person who is worried about one VM."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forewarn.guest.agent.config import AgentConfig
from forewarn.guest.agent.journal import FILE_NAME, peek
from forewarn.guest.agent.record_lines import event_fields
from forewarn.guest.agent.state import Care, Effect, State
from forewarn.guest.agent.status import parse_listen
from forewarn.guest.agent.step_words import undoes
from forewarn.guest.http1 import BadResponse, Request, Response, ResponseReader
from forewarn.wire.times import format_iso8601

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - where to ask, not where to listen


@dataclass(frozen=True, slots=True)
class Answer:
    """What one of the agent's pages said: yes or no, and why not."""

    good: bool
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """``healthy`` and ``ready`` are None where nobody could be asked; ``silence`` is then the reason."""

    health: Answer | None
    ready: Answer | None
    silence: str
    state: State | None
    state_path: str

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
            "changed": [_effect_json(effect) for effect in state.effects] if state else [],
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
            yield f"{'' if number else 'changed':<10}{_effect_line(effect)}"
        if not self.state.cares and not self.state.effects:
            yield "events    none"


def report(config: AgentConfig, patience_seconds: float) -> Report:
    """Ask the running agent, for so long at most, and look into what it has written."""
    ends_at = time.monotonic() + patience_seconds
    health, silence = _ask(config.status_listen, "/healthz", "healthy", ends_at)
    ready = None if health is None else _ask(config.status_listen, "/readyz", "ready", ends_at)[0]
    directory = Path(config.state_directory)
    return Report(health, ready, silence, _state(directory), str(directory / FILE_NAME))


def _state(directory: Path) -> State | None:
    """None where it is there but not for us. No file at all is an agent that has never had anything to remember."""
    try:
        with (directory / FILE_NAME).open("rb"):
            pass
    except FileNotFoundError:
        return State()
    except OSError:
        return None
    return peek(directory)


def _ask(listen: str, path: str, word: str, ends_at: float) -> tuple[Answer | None, str]:
    if not listen:
        return None, "the file gives the agent no status_listen"
    try:
        said = json.loads(_get(listen, path, ends_at).body)
        return Answer(bool(said[word]), str(said["why"])), ""
    except (OSError, BadResponse) as problem:
        return None, f"nobody answers at {listen}: {getattr(problem, 'strerror', None) or problem}"
    except (ValueError, KeyError, TypeError):
        return None, f"what answers at {listen} is not an agent"


def _get(listen: str, path: str, ends_at: float) -> Response:
    host, port = parse_listen(listen)
    reader = ResponseReader()
    with socket.create_connection((_ANYWHERE.get(host, host), port), _left(ends_at)) as connection:
        connection.sendall(Request("GET", path, (("Connection", "close"),)).encode(listen))
        while True:
            connection.settimeout(_left(ends_at))
            if (answer := reader.feed(connection.recv(65536))) is not None:
                return answer


def _left(ends_at: float) -> float:
    if (left := ends_at - time.monotonic()) <= 0:
        raise TimeoutError("no answer in time")
    return left


def _answer(answer: Answer | None, silence: str) -> str:
    if answer is None:
        return f"not known: {silence}"
    return "yes" if answer.good else f"no: {answer.why}"


def _care_line(care: Care) -> str:
    event = care.event
    when = "" if event.not_before is None else f", NotBefore {format_iso8601(event.not_before)}"
    return f"{event.event_id} {event.type} {event.status}{when}: {care.verdict}, approval {care.approval}"


def _effect_line(effect: Effect) -> str:
    undo = undoes(effect.step)
    return f"{effect.step.name} {effect.mark}{f'; to be undone: {undo}' if undo else ''}"


def _care_json(care: Care) -> dict[str, object]:
    return {
        "event": event_fields(care.event),
        "seen_at": format_iso8601(care.seen_at),
        "verdict": care.verdict.value,
        "steps": list(care.steps),
        "approval": care.approval.value,
    }


def _effect_json(effect: Effect) -> dict[str, object]:
    return {
        "step": effect.step.name,
        "kind": effect.step.kind,
        "mark": effect.mark.value,
        "event_id": effect.event.event_id,
        "undo": undoes(effect.step),
    }
