"""Requests that readers hand on, answered by the server's own service, as if they had come here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from forewarn.server.readers.messages import HandedAnswer, HandedRequest
from forewarn.web.metadata.answering.cache import STATUS, Reply
from forewarn.web.metadata.answering.outcomes import Later, Outcome, RememberedAnswer
from forewarn.web.metadata.answering.waiting import Patience
from forewarn.web.metadata.asking.callers import Caller
from forewarn.web.metadata.asking.request import Request
from forewarn.web.metadata.service import Service


class HandedOn:
    """The requests of one reader that are not answered yet."""

    def __init__(self, service: Service, answer: Callable[[HandedAnswer], None]) -> None:
        self._service = service
        self._answer = answer
        self._waiting: dict[int, Patience] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, asked: HandedRequest) -> None:
        """The answer is given at once where there is one."""
        caller = Caller(asked.claims, asked.may_name)
        answer = self._service.go_on if asked.held else self._service.respond
        self._settle(asked.number, answer(_request(asked), caller))

    def enough(self, number: int) -> None:
        """End the patience of a request that waits: it is answered with what there is."""
        if (patience := self._waiting.get(number)) is not None:
            patience.end()

    def forget(self) -> None:
        """The reader has ended. Requests that it handed on are carried out all the same; their answers go nowhere."""
        self._answer = lambda _answered: None
        for patience in tuple(self._waiting.values()):
            patience.end()

    def __len__(self) -> int:
        return len(self._tasks)

    def _settle(self, number: int, outcome: Outcome) -> None:
        if isinstance(outcome, Later):
            self._waiting[number] = outcome.patience
            task = asyncio.get_running_loop().create_task(self._carry_out(number, outcome))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif isinstance(outcome, Reply):
            self._answer(HandedAnswer(number, *outcome))
        elif isinstance(outcome, RememberedAnswer):
            self._service.answers.documents[outcome.reply.before[STATUS]].n += 1
            self._answer(HandedAnswer(number, *outcome.reply))
        else:
            self._answer(HandedAnswer(number, dropped=True))

    async def _carry_out(self, number: int, later: Later) -> None:
        outcome = await self._service.carry_out(later)
        del self._waiting[number]
        self._settle(number, outcome)


def _request(asked: HandedRequest) -> Request:
    return Request(
        asked.verb, asked.target, asked.fields, asked.body, asked.keep_alive, asked.http_1_0, asked.oversized
    )
