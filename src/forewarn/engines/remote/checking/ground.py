"""What the checks of an engine stand on: the wire to it, the machine that may be touched, and how a rule is broken."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, Sighting
from forewarn.engines.remote import messages
from forewarn.engines.remote.engine import CALL_SECONDS, RemoteEngine
from forewarn.engines.remote.messages import EngineCard
from forewarn.engines.remote.wire import EngineWire, WireAnswer
from forewarn.plane.hands.engine import Done, ErrandResult, Failed, NotYet

PAUSE_SECONDS = 3.0  # as long as the machine stands still for a check; ours
_MADE_AT = datetime(2026, 1, 1, tzinfo=UTC)  # no engine is told


class RuleVerdict(StrEnum):
    """What came of one check."""

    HOLDS = "holds"
    BROKEN = "broken"
    NOT_TRIED = "not tried"


class Broken(Exception):  # noqa: N818 - it says what a check found
    """A rule that the engine does not keep, in a sentence that says what it did instead."""


class NotTried(Exception):  # noqa: N818 - it says what a check found
    """A rule that cannot be tried, and why."""


@dataclass(frozen=True)
class CheckedRule:
    """One rule, and what came of it."""

    rule: str
    verdict: RuleVerdict
    why: str = ""


@dataclass(frozen=True)
class MachineToTry:
    """The one machine that may be touched, and what may be done to it."""

    host: str
    ref: str
    kinds: tuple[ErrandKind, ...]


@dataclass
class CheckPermit:
    """Leave for each change, which a hand gives an engine in earnest; a check always gives it."""

    again: bool = False
    ends: float = 0.0  # monotonic, of a pause

    def may(self) -> bool:
        return True

    def left(self) -> float:
        return self.ends - time.monotonic() if self.ends else 0.0


@dataclass
class CheckGround:
    """For one run of all checks."""

    wire: EngineWire
    machine: MachineToTry | None = None
    stranger: EngineWire | None = None  # the same address with a token that is not right
    call_seconds: float = CALL_SECONDS
    patience: float = 120.0  # seconds for one errand; ours: a guest that shuts down slowly, twice
    pause_seconds: float = PAUSE_SECONDS
    held_seconds: float = 3.0  # that a question is held while another is asked; ours
    card: EngineCard | None = None
    engine: RemoteEngine = field(init=False)

    def __post_init__(self) -> None:
        self.engine = RemoteEngine("The engine", self.wire, self.call_seconds)

    @property
    def known(self) -> EngineCard:
        if self.card is None:
            raise NotTried("the engine has not said who it is")
        return self.card

    def ask(self, method: str, target: str, body: Any = None, more_seconds: float = 0.0) -> WireAnswer:
        told = None if body is None else json.dumps(body).encode()
        return self.wire.ask(method, target, told, self.call_seconds + more_seconds)

    def seen(self, machine: MachineToTry) -> Sighting:
        """The machine as a listing of its host has it now."""
        for host in dict.fromkeys((machine.host, *self.known.hosts)):
            for each in self.engine.listing(host).machines:
                if each.ref == machine.ref:
                    return each
        raise Broken(f"no listing has a machine {machine.ref} any more")

    def errand(self, kind: ErrandKind, seen: Sighting, *, to: str = "", grace: float = 30.0) -> Errand:
        """A new one, about a machine as it is."""
        return Errand(
            id=f"forewarn-check-{secrets.token_hex(8)}",
            kind=kind,
            engine=self.engine.name,
            host=seen.host,
            made_at=_MADE_AT,
            ref=seen.ref,
            to=to or (seen.host if kind is ErrandKind.START else ""),
            boot_mark=seen.boot_mark,
            grace=timedelta(seconds=grace),
        )

    def put(self, errand: Errand, *, leave: str = "", again: bool = False, left: float = 0.0) -> WireAnswer:
        body = messages.wanted(errand, again=again, left=left, leave=leave)
        more = errand.grace.total_seconds() if leave else 0.0
        return self.wire.ask("PUT", f"/v1/errands/{quote(errand.id)}", body, self.call_seconds + more)

    def carry_through(self, errand: Errand, permit: CheckPermit | None = None) -> Sighting:
        """Until it is done, as a hand does it."""
        permit, ends = permit or CheckPermit(), time.monotonic() + self.patience
        while True:
            result: ErrandResult = self.engine.carry_out(errand, permit)
            if isinstance(result, Done):
                return result.sighting
            if isinstance(result, Failed):
                raise Broken(f"to {errand.kind} {errand.ref} failed: {result.why}")
            if time.monotonic() > ends:
                raise Broken(f"to {errand.kind} {errand.ref} was not done within {self.patience:g} s: {result.why}")
            permit.again = True
            time.sleep(min(result.again_after, 5.0) if isinstance(result, NotYet) else 1.0)


Rule = tuple[str, Callable[[CheckGround], None]]
RUNNING, PAUSED, OFF = MachinePower.RUNNING, MachinePower.PAUSED, MachinePower.OFF


def expect(answer: WireAnswer, what: str, *statuses: int) -> None:
    if answer.status not in statuses:
        wanted = " or ".join(str(status) for status in statuses)
        words = messages.refusal_of(answer.body).why if answer.body else ""
        raise Broken(
            f"{what} is to be answered by {wanted}, and was by {answer.status}{f' ({words})' if words else ''}"
        )
