"""Notes what VMs that are watched have read, from the answers that they get."""

from __future__ import annotations

import re
from functools import partial

from forewarn.plane.plane import Plane
from forewarn.web.metadata.answering.cache import Reply
from forewarn.web.metadata.answering.outcomes import Later, Outcome, RememberedAnswer
from forewarn.web.metadata.asking.questions import ReadDocument
from forewarn.web.metadata.asking.request import Request
from forewarn.web.watched import LONGEST_CLIENT, NotedRead, WatchedVms

_STATUS = slice(9, 12)  # of "HTTP/1.1 200 OK"
_TAG = re.compile(rb'\r\nETag: "(\d+)"\r\n')


class Noting:
    """An answer is taken as it will be sent, whoever made it: a document, a throttle or a fault rule."""

    def __init__(self, plane: Plane, watched: WatchedVms) -> None:
        self._plane = plane
        self._watched = watched

    def noted(self, outcome: Outcome, question: ReadDocument, request: Request) -> Outcome:
        """The same outcome; an answer that comes later is noted when it comes."""
        if question.vm.name not in self._watched.names:
            return outcome
        if isinstance(outcome, Later):
            return Later(partial(self._later, outcome, question, request), outcome.patience)
        if isinstance(outcome, RememberedAnswer):
            self._note(outcome.reply, question, request)
        elif isinstance(outcome, Reply):
            self._note(outcome, question, request)
        return outcome

    async def _later(self, later: Later, question: ReadDocument, request: Request) -> Outcome:
        return self.noted(await later.start(), question, request)

    def _note(self, reply: Reply, question: ReadDocument, request: Request) -> None:
        tag = _TAG.search(reply.before)
        read = NotedRead(
            self._plane.system.elapsed(),
            self._plane.now(),
            question.version.date,
            int(reply.before[_STATUS]),
            int(tag[1]) if tag else None,
            _client(request),
        )
        self._watched.note(question.vm.name, read)


def _client(request: Request) -> str:
    """What the client says of itself; empty where it says nothing."""
    said = b" ".join(request.values(b"user-agent")).decode("latin-1")
    return "".join(letter for letter in said if letter.isprintable()).strip()[:LONGEST_CLIENT]
