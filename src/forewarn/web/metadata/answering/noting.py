"""Notes what VMs that are watched have read, from the answers that they get."""

from __future__ import annotations

import re
from functools import partial

from forewarn.web.metadata.answering.cache import STATUS, Reply
from forewarn.web.metadata.answering.outcomes import Later, Outcome, RememberedAnswer
from forewarn.web.metadata.asking.questions import ReadDocument
from forewarn.web.metadata.asking.request import Request
from forewarn.web.metadata.ground import Ground
from forewarn.web.watched import LONGEST_CLIENT, NotedRead, WatchedVms

_TAG = re.compile(rb'\r\nETag: "(\d+)"\r\n')


class Noting:
    """An answer is taken as it will be sent, whoever made it: a document, a throttle or a fault rule."""

    def __init__(self, plane: Ground, watched: WatchedVms) -> None:
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
        elapsed, now, date = self._plane.system.elapsed(), self._plane.now(), question.version.date
        read = NotedRead(elapsed, now, date, *status_and_tag(reply), _client(request))
        self._watched.note(question.vm.name, read)


def status_and_tag(reply: Reply) -> tuple[int, int | None]:
    """The status of an answer, and the incarnation of the document in it; None where it is none."""
    tag = _TAG.search(reply.before)
    return int(reply.before[STATUS]), int(tag[1]) if tag else None


def _client(request: Request) -> str:
    """What the client says of itself; empty where it says nothing."""
    said = b" ".join(request.values(b"user-agent")).decode("latin-1")
    return "".join(letter for letter in said if letter.isprintable()).strip()[:LONGEST_CLIENT]
