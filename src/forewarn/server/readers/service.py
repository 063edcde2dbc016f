"""From a request to its outcome in a reader: documents that are there are answered here, all else by the server."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from forewarn.core.region import Vm
from forewarn.server.readers.ground import HandedPatience, ReaderGround
from forewarn.web.metadata.answering.outcomes import Later, Outcome
from forewarn.web.metadata.answering.serving import STALE
from forewarn.web.metadata.asking.callers import Caller, identify, is_of_a_page
from forewarn.web.metadata.asking.questions import ReadDocument, question_of
from forewarn.web.metadata.asking.request import Request
from forewarn.web.metadata.service import Service


class ReaderService(Service):
    """Before anything is answered, this reader knows all that had been published when the request was looked at.

    So a VM that is answered here sees no less than it was shown anywhere before it asked.
    """

    def __init__(self, ground: Any, *parts: Any) -> None:
        super().__init__(ground, *parts)
        self._ground = cast("ReaderGround", ground)

    def _respond(self, request: Request, caller: Caller) -> Outcome:
        wanted = self._ground.number.value
        if wanted <= self._ground.standing.edition:
            return self._respond_now(request, caller)
        patience = HandedPatience()
        return Later(partial(self._respond_at, wanted, request, caller, patience), patience)

    async def _respond_at(self, edition: int, request: Request, caller: Caller, patience: HandedPatience) -> Outcome:
        if not await self._ground.reach(edition):
            return STALE
        outcome = self._respond_now(request, caller)
        if isinstance(outcome, Later) and patience.over:  # the client, or the server, waits no longer
            outcome.patience.end()
        return outcome

    def _respond_now(self, request: Request, caller: Caller) -> Outcome:
        question = self._own_question(request, caller)
        if question is None:
            patience = HandedPatience()
            return Later(partial(self._ground.hand_on, request, caller, patience, held=False), patience)
        if self._ground.standing.stale:
            return STALE
        outcome = self.reading.read(question, caller)
        if not isinstance(outcome, Later):
            return outcome
        waiting = HandedPatience(question.wait_seconds or 0)
        return Later(partial(self._wait, request, caller, waiting), waiting)

    async def _wait(self, request: Request, caller: Caller, patience: HandedPatience) -> Outcome:
        """Hold a GET until there is news. Once only the server may answer it, it is handed on and waits there."""
        while True:
            if not await self._ground.reach(self._ground.number.value):
                return STALE
            question = self._own_question(request, caller)
            if question is None:
                return await self._ground.hand_on(request, caller, patience, held=True)
            if self._ground.standing.stale:
                return STALE
            reply = self.reading.news(question.vm, question, patience)
            if reply is not None:
                return reply
            await self.reading.until_news(self._published.region.scope_of(question.vm), patience)

    def _own_question(self, request: Request, caller: Caller) -> ReadDocument | None:
        """The question, where this reader may answer it; None where the server must."""
        if self._ground.faults.active or request.oversized or (caller.may_name and is_of_a_page(request)):
            return None
        region = self._published.region
        question = question_of(request, lambda named: identify(region, caller, named), self._longest_wait)
        if not isinstance(question, ReadDocument) or self._is_watched(question.vm):
            return None
        return question if self.reading.has_document(question.vm) else None

    def _is_watched(self, vm: Vm) -> bool:
        return vm.name in self._watched
