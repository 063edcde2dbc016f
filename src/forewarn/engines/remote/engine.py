"""Machines of any platform, behind a program that speaks the open protocol.

The program looks and acts; forewarn says what is to be so, and gives leave for each change. Nothing is kept here that
matters: what is not known after an answer was lost is asked for again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote, urlencode

from msgspec import Struct, structs

from forewarn.core.machines.values import Errand, ErrandKind, Listing, MachinePower, SeenWhy
from forewarn.engines.remote import messages
from forewarn.engines.remote.messages import EngineCard
from forewarn.engines.remote.wire import EngineWire, WireAnswer
from forewarn.plane.hands.engine import (
    FILTERED,
    Done,
    EngineFault,
    ErrandResult,
    Failed,
    Finding,
    NotYet,
    Unknown,
    Warrant,
    Way,
)

CALL_SECONDS = 30.0  # for one answer; as ``call_timeout``
CHANGES_MOST = 16  # of one errand in one go; a hand asks again
_AGAIN_SECONDS = 60.0  # the longest that an engine may put off the next question; as the hand's own back-off
_WAIT_SECONDS = 25.0  # that a question for changes is held; below the usual 30 s and 60 s of proxies
_POLL_SECONDS = 5.0  # between two questions where the engine cannot hold one; half of ``listing_every``
_HINT_SECONDS = 0.2  # at least between two hints: a host is listed twice a second at most, whatever is told
_HELD_MOST = 2.0  # seconds that the state of an errand is waited for before the hand gets its thread back
_KINDS_SECONDS = 5.0  # that somebody who only asks what it can do waits for a program that was never heard; ours
_TAKEN_MOST = 10_000  # errands that are remembered as being under way; ours


class _Asks(Struct, frozen=True):
    change: str


class RemoteEngine:
    """One program, all hosts that it has."""

    def __init__(self, name: str, wire: EngineWire, call_seconds: float = CALL_SECONDS) -> None:
        self._name, self._wire, self._call_seconds = name, wire, call_seconds
        self._card: EngineCard | None = None
        self._taken: dict[str, None] = {}  # errands that the program said it has under way
        self._closed = threading.Event()

    @property
    def name(self) -> str:
        return self._name

    @property
    def kinds(self) -> frozenset[ErrandKind]:
        """Until the program was heard nothing is ruled out: it refuses by itself what it cannot do."""
        if self._card is None:
            with suppress(EngineFault):
                self.introduction(min(self._call_seconds, _KINDS_SECONDS))
        return frozenset(ErrandKind) - {ErrandKind.FENCE} if self._card is None else self._card.kinds

    def introduction(self, seconds: float = 0.0) -> EngineCard:
        """What the program says of itself; asked for until it has answered once, and at each new watch."""
        card = self._card
        if card is None:
            answer = self._wire.ask("GET", "/v1/engine", None, seconds or self._call_seconds)
            if answer.status != 200:
                raise EngineFault(f"{self._refusal(answer)} Is this the address of an engine of forewarn?")
            card = self._card = messages.card_of(answer.body)
        return card

    # Errands

    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Ask what is next, be allowed, have it done; until what is wanted was seen or something is in the way."""
        try:
            if errand.kind not in self.introduction().kinds:
                return Failed(f"{self._name} cannot {errand.kind} machines.", lasting=True)
            return self._carry_out(errand, warrant)
        except EngineFault as fault:
            return Unknown(str(fault))

    def _carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        if errand.id in self._taken and errand.kind is not ErrandKind.PAUSE:
            step = self._look_after(errand, warrant)
        else:
            step = self._want(errand, warrant)
        for changed in range(CHANGES_MOST):
            if not isinstance(step, _Asks):
                return _by_us(step) if changed else step
            if not warrant.may():
                return NotYet("Nothing may be touched just now.", 1.0)
            step = self._want(errand, warrant, step.change)
            if isinstance(step, NotYet) and errand.id in self._taken and "wait" in self.introduction().offers:
                step = self._look_after(errand, warrant)
        return NotYet("The machine does not stay as it was seen; somebody else is at it.", 1.0)

    def _want(self, errand: Errand, warrant: Warrant, leave: str = "") -> ErrandResult | _Asks:
        """Tell the program what is wanted; with leave, it makes that one change first."""
        left = warrant.left() if errand.kind is ErrandKind.PAUSE else 0.0
        body = messages.wanted(errand, again=warrant.again, left=left, leave=leave)
        seconds = errand.grace.total_seconds() if leave else 0.0
        return self._result(errand, self._ask("PUT", _errand_path(errand), body, seconds), left)

    def _look_after(self, errand: Errand, warrant: Warrant) -> ErrandResult | _Asks:
        """The state of what is under way. Forgotten means not known: forewarn lists, and asks again if still wanted."""
        held = _HELD_MOST if "wait" in self.introduction().offers and errand.kind is not ErrandKind.PAUSE else 0.0
        answer = self._ask("GET", f"{_errand_path(errand)}?wait={held:g}", None, held)
        if answer.status == 404:
            self._taken.pop(errand.id, None)
            return Unknown("The engine has forgotten what it was asked for; it may have been started anew.")
        return self._result(errand, answer, warrant.left() if errand.kind is ErrandKind.PAUSE else 0.0)

    def _result(self, errand: Errand, answer: WireAnswer, left: float) -> ErrandResult | _Asks:
        if answer.status == 202:
            return self._not_yet(errand, messages.understood(answer.body, messages.TakenAnswer, "answer"), left)
        self._taken.pop(errand.id, None)
        match answer.status:
            case 200:
                return Done(messages.sighting_for(answer.body, errand))
            case 409:
                return NotYet(self._refusal(answer), 1.0)
            case 422:
                told = messages.refusal_of(answer.body)
                return Failed(f"{self._name} refuses: {told.why or 'it does not say why'}", told.lasting)
        return Unknown(self._refusal(answer))

    def _not_yet(self, errand: Errand, told: messages.TakenAnswer, left: float) -> NotYet | _Asks:
        if told.asks:
            self._taken.pop(errand.id, None)
            return _Asks(told.asks)
        self._taken[errand.id] = None
        if len(self._taken) > _TAKEN_MOST:
            self._taken.pop(next(iter(self._taken)), None)
        longest = min(left, _AGAIN_SECONDS) if left > 0 else _AGAIN_SECONDS  # nobody puts off the end of a pause
        return NotYet(messages.words_of(told.why) or "It is under way.", min(told.again_after, longest))

    def abandon(self, errand: Errand) -> None:
        """Where the program has forgotten the errand, a pause is ended by wanting its end."""
        answer = self._ask("DELETE", _errand_path(errand))
        self._taken.pop(errand.id, None)
        if answer.status == 404 and errand.kind is ErrandKind.PAUSE:
            over = _Over()
            step = self._want(errand, over)
            for _ in range(CHANGES_MOST):
                if not isinstance(step, _Asks):
                    return
                step = self._want(errand, over, step.change)
        elif answer.status not in (200, 202, 204, 404):
            raise EngineFault(self._refusal(answer))

    # What is there

    def listing(self, host: str) -> Listing:
        self.introduction()
        answer = self._ask("GET", f"/v1/hosts/{quote(host, safe='')}/machines")
        if answer.status != 200:
            raise EngineFault(f"What is at {host} is not known. {self._refusal(answer)}")
        return messages.listing_of(answer.body, host)

    def changes(self, host: str, cursor: str) -> Iterator[str]:
        """Hints, as the program gives them: held by it, or asked for every few seconds."""
        self._card = None  # a program that was replaced may have learned something
        held = _WAIT_SECONDS if "wait" in self.introduction().offers else 0.0
        while not self._closed.is_set():
            began = time.monotonic()
            query = urlencode({"after": cursor, "wait": f"{held:g}"})
            answer = self._ask("GET", f"/v1/hosts/{quote(host, safe='')}/changes?{query}", None, held)
            if answer.status == 200:
                cursor = messages.understood(answer.body, messages.CursorAnswer, "cursor").cursor
                yield cursor
                self._closed.wait(_HINT_SECONDS)
            elif answer.status == 204:
                least = 1.0 if held else _POLL_SECONDS
                self._closed.wait(max(0.0, began + least - time.monotonic()))
            else:
                raise EngineFault(self._refusal(answer))

    # Whose a machine is, and what is to be known of it

    def adopt(self, host: str, ref: str, vm: str, vm_id: str) -> None:
        self._mark("PUT", host, ref, messages.encoded(messages.OwnerMark(vm, vm_id)))

    def release(self, host: str, ref: str) -> None:
        self._mark("DELETE", host, ref, None)

    def _mark(self, method: str, host: str, ref: str, body: bytes | None) -> None:
        """Not every platform has a place for such a mark, and none is needed: the region knows its machines."""
        if "owner" not in self.introduction().offers:
            return
        answer = self._ask(method, f"{_machine_path(host, ref)}/owner", body)
        if answer.status not in (200, 204):
            raise EngineFault(self._refusal(answer))

    def examine(self, host: str, ref: str, way: Way) -> tuple[Finding, ...]:
        if "findings" not in self.introduction().offers:
            return (Finding(FILTERED, False, f"{self._name} does not say whether another can speak as {ref}."),)
        answer = self._ask("GET", f"{_machine_path(host, ref)}/findings?way={way}")
        if answer.status != 200:
            raise EngineFault(self._refusal(answer))
        return messages.findings_of(answer.body)

    def close(self) -> None:
        self._closed.set()
        self._wire.close()

    def _ask(self, method: str, target: str, body: bytes | None = None, more_seconds: float = 0.0) -> WireAnswer:
        return self._wire.ask(method, target, body, self._call_seconds + more_seconds)

    def _refusal(self, answer: WireAnswer) -> str:
        words = messages.refusal_of(answer.body).why
        return f"{self._name} at {self._wire.where} answers {answer.status}{f': {words}' if words else '.'}"


class _Over:
    """A hand's warrant for ending a pause: it allows that at any time, on a node that does not lead as well."""

    again = True

    def may(self) -> bool:
        return True

    def left(self) -> float:
        return 0.0


def _by_us(result: ErrandResult) -> ErrandResult:
    """Say of a machine that is gone that it was removed just now, so that it is at no other host."""
    if isinstance(result, Done) and result.sighting.power is MachinePower.GONE:
        return Done(structs.replace(result.sighting, why=SeenWhy.ASKED))
    return result


def _errand_path(errand: Errand) -> str:
    return f"/v1/errands/{quote(errand.id, safe='')}"


def _machine_path(host: str, ref: str) -> str:
    return f"/v1/hosts/{quote(host, safe='')}/machines/{quote(ref, safe='')}"
