"""The service with somebody looking on: every answer is told to a witness, as it will be sent.

A service without a witness is not slowed by any of this: it is another class, chosen when the face is made. Here every
request is understood anew, because an answer from memory would be seen by nobody.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from functools import partial

from forewarn.web.answers import Answers
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.answering.cache import STATUS, Reply
from forewarn.web.metadata.answering.noting import status_and_tag
from forewarn.web.metadata.answering.outcomes import Later, Outcome, RememberedAnswer
from forewarn.web.metadata.asking.callers import Caller, identify
from forewarn.web.metadata.asking.questions import ReadDocument, question_of, read_target
from forewarn.web.metadata.asking.request import Request
from forewarn.web.metadata.ground import Ground
from forewarn.web.metadata.service import Service
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.web.seen import LookingOn, SeenRequest
from forewarn.web.watched import WatchedVms

_GOOD = 200  # OK, of HTTP
_SHORT_ID = 8  # the first group of a GUID, as command lines show it
_REFUSED = 400  # from this status on an answer has a reason


class WitnessedService(Service):
    """Answers as the service does, and tells."""

    def __init__(
        self,
        plane: Ground,
        faults: FaultRules,
        watched: WatchedVms,
        settings: MetadataSettings,
        seed: bytes,
        answers: Answers,
        onlooker: LookingOn,
    ) -> None:
        super().__init__(plane, faults, watched, settings, seed, answers)
        self._witness = onlooker.witness
        self._prelude = onlooker.prelude
        self._preludes: dict[str, asyncio.Task[None]] = {}  # by VM: begun by its first GET, awaited by all that follow

    def respond(self, request: Request, caller: Caller) -> Outcome:
        prelude = self._prelude_of(request, caller) if self._prelude is not None else None
        if prelude is not None and not prelude.done():
            return Later(partial(self._respond_after, prelude, request, caller))
        return self._respond_seen(request, caller)

    def _prelude_of(self, request: Request, caller: Caller) -> asyncio.Task[None] | None:
        """The prelude that must be over before this request is answered; begun with the VM's first read."""
        assert self._prelude is not None
        region = self._published.region
        asked = question_of(request, lambda named: identify(region, caller, named), self._longest_wait)
        if not isinstance(asked, ReadDocument):
            return None
        name = asked.vm.name
        if name not in self._preludes:
            self._preludes[name] = asyncio.ensure_future(_in_a_task(self._prelude(name)))
        return self._preludes[name]

    async def _respond_after(self, prelude: asyncio.Task[None], request: Request, caller: Caller) -> Outcome:
        await asyncio.shield(prelude)
        outcome = self._respond_seen(request, caller)
        return await self.carry_out(outcome) if isinstance(outcome, Later) else outcome

    def _respond_seen(self, request: Request, caller: Caller) -> Outcome:
        self._faults.latest = ""
        outcome = super().respond(request, caller)
        return self._seen(outcome, request, caller, self._faults.latest)

    def _seen(self, outcome: Outcome, request: Request, caller: Caller, fault: str) -> Outcome:
        match outcome:
            case Later():
                return Later(partial(self._seen_later, outcome, request, caller, fault), outcome.patience)
            case RememberedAnswer(reply=reply):
                self.answers.documents[reply.before[STATUS]].n += 1
                self._tell(reply, request, caller, fault)
                return reply
            case Reply() as reply:
                self._tell(reply, request, caller, fault)
                return reply
            case _:
                self._tell(None, request, caller, fault)
                return outcome

    async def _seen_later(self, later: Later, request: Request, caller: Caller, fault: str) -> Outcome:
        return self._seen(await self.carry_out(later), request, caller, fault)

    def _tell(self, reply: Reply | None, request: Request, caller: Caller, fault: str) -> None:
        target = read_target(request.target)
        vm = identify(self._published.region, caller, target.named)
        status, incarnation = (0, None) if reply is None else status_and_tag(reply)
        self._witness(
            SeenRequest(
                self._plane.now(),
                self._plane.seq,
                vm.name if vm else "",
                request.verb.decode("ascii", "replace"),
                request.target.decode("latin-1"),
                status,
                _reason(reply) if reply is not None and status >= _REFUSED else "",
                incarnation,
                fault,
                target.service or "",
                _made(reply, request) if reply is not None and status == _GOOD else "",
            )
        )


async def _in_a_task(prelude: Awaitable[None]) -> None:
    await prelude


def _made(reply: Reply, request: Request) -> str:
    """In words: the events of the document that a GET gave out, or those that a POST approved."""
    held = reply.after.partition(b"\r\n\r\n")[2] if request.verb == b"GET" else request.body
    try:
        found = json.loads(held)
        if request.verb == b"POST":
            return f"approved {', '.join(each['EventId'][:_SHORT_ID] for each in found['StartRequests'])}"
        events = [
            f"{each['EventType']} {each['EventId'][:_SHORT_ID]} {each['EventStatus']}" for each in found["Events"]
        ]
    except (ValueError, TypeError, KeyError):
        return ""  # another service's answer
    return ", ".join(events) or "no event"


def _reason(reply: Reply) -> str:
    """The sentence of a refusal, without the words that only repeat its status."""
    body = reply.after.partition(b"\r\n\r\n")[2]
    try:
        said = json.loads(body)["error"]
    except (ValueError, TypeError, KeyError):
        return ""  # in XML or in plain text: the status says as much
    return str(said).removeprefix("Bad request. ").strip()
