"""Plays the shell's part for an exchange: answers from a list, a clock that only waiting moves, no socket anywhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar, cast

from forewarn.guest.endpoint import Endpoint, Places
from forewarn.guest.exchange import (
    Action,
    AskDhcp,
    Exchange,
    Give,
    Lost,
    Manners,
    Outcome,
    Send,
    ServiceLine,
    Sleep,
    TellFault,
)
from forewarn.guest.http1 import Response
from forewarn.guest.session import Session
from forewarn.terms import Document, ScheduledEvent
from forewarn.wire.document import encode_document
from forewarn.wire.versions import NEWEST

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HERE = Endpoint("10.0.0.1")
ID = "4CAEA225-A741-474D-A72E-428C86FCD853"
EMPTY = Document(1)
REFUSED = Lost("connection refused")

_T = TypeVar("_T")
Answers = Iterable[Outcome] | Callable[[Send], Outcome]


@dataclass
class HandClock:
    """Moves when it is moved."""

    seconds: float = 1000.0

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds - 1000.0)

    def monotonic(self) -> float:
        return self.seconds


class Over(Exception):  # noqa: N818 - it ends a stream that has no end
    """The list of answers is used up."""


@dataclass
class Stage:
    """One client's middle and all that it was seen to do."""

    clock: HandClock = field(default_factory=HandClock)
    manners: Manners = field(default_factory=Manners)
    places: Places = field(default_factory=lambda: Places((HERE,)))
    seed: int = 7
    actions: list[Action] = field(default_factory=list)
    dhcp: list[str | Lost] = field(default_factory=list)
    answer_takes_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.session = Session(ServiceLine(self.places, self.manners, self.clock, random.Random(self.seed)))

    def play(self, exchange: Exchange[_T], answers: Answers) -> _T:
        """Until it ends, or the answers do."""
        answer = answers if callable(answers) else _one_by_one(answers)
        outcome: Outcome = None
        while True:
            try:
                action = exchange.send(outcome)
            except StopIteration as end:
                return cast(_T, end.value)
            self.actions.append(action)
            outcome = self._do(action, answer)

    def given(self, exchange: Exchange[None], answers: Answers) -> list[object]:
        """What a stream gave until the answers were used up."""
        with suppress(Over):
            self.play(exchange, answers)
        return [action.item for action in self.actions if isinstance(action, Give)]

    def _do(self, action: Action, answer: Callable[[Send], Outcome]) -> Outcome:
        match action:
            case Send():
                self.clock.seconds += self.answer_takes_seconds
                return answer(action)
            case AskDhcp():
                return self.dhcp.pop(0) if self.dhcp else Lost("nobody told")
            case Sleep(seconds):
                assert seconds > 0
                self.clock.seconds += seconds
        return None

    @property
    def sent(self) -> list[Send]:
        return [action for action in self.actions if isinstance(action, Send)]

    @property
    def waits(self) -> list[float]:
        return [action.seconds for action in self.actions if isinstance(action, Sleep)]

    @property
    def reports(self) -> list[TellFault]:
        return [action for action in self.actions if isinstance(action, TellFault)]

    def headers(self, place: int) -> dict[str, str]:
        return dict(self.sent[place].request.headers)


def _one_by_one(answers: Iterable[Outcome]) -> Callable[[Send], Outcome]:
    left = iter(answers)

    def answer(_: Send) -> Outcome:
        for outcome in left:
            return outcome
        raise Over

    return answer


def shown(document: Document, headers: Mapping[str, str] | None = None) -> Response:
    """A 200 with this document."""
    return Response(200, dict(headers or {}), encode_document(document, NEWEST))


def says(status: int, body: bytes = b"", **headers: str) -> Response:
    return Response(status, headers, body)


def an_event(event_id: str = ID, status: str = "Scheduled", minutes: float | None = 15.0) -> ScheduledEvent:
    not_before = None if minutes is None or status == "Started" else NOON + timedelta(minutes=minutes)
    return ScheduledEvent(event_id, status, "Reboot", ("web-0",), not_before, "", "User", -1)
