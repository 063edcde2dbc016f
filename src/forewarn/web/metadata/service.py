"""From a request to its outcome. It knows no socket, and every failure in it becomes an answer."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Final

from forewarn.core.commands import Approve
from forewarn.core.refusal import Refused
from forewarn.core.region import Vm
from forewarn.plane.ports import JournalFault, Origin, Uncertain
from forewarn.web.answers import Answers
from forewarn.web.documents.instance import instance_answer
from forewarn.web.faults import FaultKind, FaultRule, FaultRules
from forewarn.web.metadata.answering.cache import Reply, Signer, reply_to
from forewarn.web.metadata.answering.noting import Noting
from forewarn.web.metadata.answering.outcomes import DROPPED, Later, Outcome
from forewarn.web.metadata.answering.recall import Recall
from forewarn.web.metadata.answering.serving import STALE, Serving
from forewarn.web.metadata.asking.callers import HINT_FIELD, Caller, hint_for, identify, is_of_a_page
from forewarn.web.metadata.asking.questions import (
    ApproveEvents,
    Question,
    ReadDocument,
    ReadInstance,
    ReadVersions,
    question_of,
    read_target,
)
from forewarn.web.metadata.asking.request import Request
from forewarn.web.metadata.ground import Ground
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.web.metadata.throttle import Throttle
from forewarn.web.watched import WatchedVms
from forewarn.wire import errors
from forewarn.wire.errors import JSON, ErrorReply
from forewarn.wire.json_bytes import WireError
from forewarn.wire.start_requests import decode_start_requests
from forewarn.wire.versions import VERSIONS_BODY

_log = logging.getLogger(__name__)

_STRANGERS: Final = "?"  # no VM can be called that
_EMPTY: Final = reply_to(ErrorReply(200, JSON, b""))
_VERSIONS: Final = reply_to(ErrorReply(200, JSON, VERSIONS_BODY))
_NOT_FOUND: Final = reply_to(errors.NOT_FOUND)
_THROTTLED: Final = reply_to(errors.THROTTLED)
_OF_A_PAGE: Final = reply_to(errors.OF_A_PAGE)
_TOO_LARGE: Final = reply_to(errors.TOO_LARGE)
_INJECTED: Final = {
    FaultKind.GONE: reply_to(errors.GONE),
    FaultKind.THROTTLED: _THROTTLED,
    FaultKind.ERROR: reply_to(errors.error(500, "Internal server error. A fault rule of this region wants it so")),
    FaultKind.EMPTY: _EMPTY,
}
_FOR_APPROVALS: Final = frozenset(FaultKind) - {FaultKind.SKIP, FaultKind.EMPTY}
_FOR_READS: Final = _FOR_APPROVALS | {FaultKind.EMPTY}  # to an approval, an empty 200 would say that it was taken


class Service:
    """Checks in order, then the answer."""

    def __init__(
        self,
        plane: Ground,
        faults: FaultRules,
        watched: WatchedVms,
        settings: MetadataSettings,
        seed: bytes,
        answers: Answers | None = None,
    ) -> None:
        self._plane = plane
        self._published = plane.published
        self._faults = faults
        self._watched = watched.names
        self._noting = Noting(plane, watched)
        self._longest_wait = settings.limits.wait_seconds
        self._ignore_unknown = settings.unknown_event == "ok"
        self._throttle = Throttle(settings.throttle_per_second) if settings.throttle_per_second else None
        self.signer = Signer(plane.clock.now, seed)
        self.answers = answers or Answers()
        self.reading = Serving(plane, faults, watched, settings, self.signer, self.answers)
        self.memory = Recall(settings.limits)
        self.logs_requests = settings.request_log

    def share_of(self, caller: Caller) -> str:
        """Whose share of connections and of turns a caller takes: its VM's, whichever of its ways it comes.

        Callers that are no VM have one share together, or one with many addresses would have many. Empty at a
        desk, where all callers are one machine's and nothing tells them apart.
        """
        if caller.may_name:
            return ""
        vm = identify(self._published.region, caller, None)
        return _STRANGERS if vm is None else vm.key

    def respond(self, request: Request, caller: Caller) -> Outcome:
        """What to do about a request."""
        try:
            return self._respond(request, caller)
        except Exception:
            return self._failed()

    def go_on(self, request: Request, caller: Caller) -> Outcome:
        """The same for one who was let in before and has waited: neither throttle nor fault rules are asked again."""
        try:
            return self._go_on(request, caller)
        except Exception:
            return self._failed()

    async def carry_out(self, later: Later) -> Outcome:
        """Await what a ``Later`` needs: the journal, news, or a delay."""
        try:
            return await later.start()
        except JournalFault as fault:
            return self._unavailable(fault, self.signer.mint())
        except Exception:
            return self._failed()

    def _respond(self, request: Request, caller: Caller) -> Outcome:
        if caller.may_name and is_of_a_page(request):
            return _OF_A_PAGE
        region = self._published.region
        question = question_of(request, lambda named: identify(region, caller, named), self._longest_wait)
        if isinstance(question, ErrorReply):
            return self._refuse(question, request, caller)
        outcome = self._decide(request, question, caller)
        if self._watched and isinstance(question, ReadDocument):
            return self._noting.noted(outcome, question, request)
        return outcome

    def _go_on(self, request: Request, caller: Caller) -> Outcome:
        region = self._published.region
        question = question_of(request, lambda named: identify(region, caller, named), self._longest_wait)
        if isinstance(question, ErrorReply):
            return self._refuse(question, request, caller)
        outcome = self._answer(request, question, caller)
        if self._watched and isinstance(question, ReadDocument):
            return self._noting.noted(outcome, question, request)
        return outcome

    def _decide(self, request: Request, question: Question, caller: Caller) -> Outcome:
        now = asyncio.get_running_loop().time()
        if self._throttle is not None and not self._throttle.admits(question.vm.key, now):
            return _THROTTLED
        rule = self._strike(question) if self._faults.active else None
        if rule is not None:
            return self._injure(rule, request, question, caller)
        return self._answer(request, question, caller)

    def _refuse(self, answer: ErrorReply, request: Request, caller: Caller) -> Reply:
        if answer is not errors.NOT_FOUND:
            return reply_to(answer)
        if self._plane.standing.stale:
            return STALE
        if not caller.may_name:
            return _NOT_FOUND
        return _NOT_FOUND.with_field(HINT_FIELD, hint_for(self._published.region, caller, read_target(request.target)))

    def _answer(self, request: Request, question: Question, caller: Caller) -> Outcome:
        if request.oversized:
            return _TOO_LARGE
        match question:
            case ReadDocument() | ReadInstance() if self._plane.standing.stale:
                return STALE
            case ReadDocument():
                return self.reading.read(question, caller)
            case ApproveEvents(vm=vm, body=body):
                return self._approve(vm, body)
            case ReadInstance(vm=vm, version=version, steps=steps, format=form):
                return reply_to(instance_answer(self._published.region, vm, version, steps, form))
            case ReadVersions():
                return _VERSIONS

    # Approvals

    def _approve(self, vm: Vm, body: bytes) -> Outcome:
        try:
            ids = decode_start_requests(body)
        except WireError as error:
            return reply_to(errors.bad_request(str(error)))
        return Later(partial(self._approve_later, vm, ids))

    async def _approve_later(self, vm: Vm, ids: tuple[str, ...]) -> Outcome:
        """The answer leaves when the approval is on disk."""
        request_id = self.signer.mint()
        command = Approve(ids, vm.resource_name, vm.scope, ignore_unknown=self._ignore_unknown)
        try:
            await self._plane.submit(command, Origin("vm", vm.name, request_id))
        except Refused as refused:
            return reply_to(errors.bad_request(refused.message))._replace(request_id=request_id)
        except JournalFault as fault:
            return self._unavailable(fault, request_id)
        return _EMPTY._replace(request_id=request_id)

    # What fault rules do

    def _strike(self, question: Question) -> FaultRule | None:
        kinds = _FOR_APPROVALS if isinstance(question, ApproveEvents) else _FOR_READS
        return self._faults.strike(question.vm.key, kinds)

    def _injure(self, rule: FaultRule, request: Request, question: Question, caller: Caller) -> Outcome:
        match FaultKind(rule.kind):
            case FaultKind.DROP:
                return DROPPED
            case FaultKind.DELAY:
                return Later(partial(self._delayed, rule.delay_seconds, request, question, caller))
            case kind:
                return _INJECTED[kind]

    async def _delayed(self, seconds: float, request: Request, question: Question, caller: Caller) -> Outcome:
        await asyncio.sleep(seconds)
        return self._answer(request, question, caller)

    # When the fault is ours

    def _unavailable(self, fault: JournalFault, request_id: str) -> Reply:
        """503 says that nothing was done; where it is not known, it is 500. Asking again is right in both cases."""
        _log.error("Request %s could not be kept: %s", request_id, fault)
        answer = errors.server_error if isinstance(fault, Uncertain) else errors.unavailable
        return reply_to(answer(request_id))._replace(request_id=request_id)

    def _failed(self) -> Reply:
        request_id = self.signer.mint()
        _log.exception("Request %s failed.", request_id)
        return reply_to(errors.server_error(request_id))._replace(request_id=request_id)
