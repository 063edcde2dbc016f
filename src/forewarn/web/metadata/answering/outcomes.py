"""What can come of a request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from forewarn.web.answers import Count
from forewarn.web.metadata.answering.cache import Reply
from forewarn.web.metadata.answering.waiting import Patience
from forewarn.web.metadata.asking.callers import Caller
from forewarn.web.metadata.asking.questions import ReadDocument


@dataclass(slots=True, eq=False)
class RememberedAnswer:
    """An answer as of ``seq``, to a question that may be asked again in the same words."""

    question: ReadDocument
    vm: str  # its name, as it is noted with each read
    caller: Caller
    seq: int
    reply: Reply
    cell: Count  # where its answers are counted
    is_last: bool = False  # the client wants the connection closed after it

    def say(self, reply: Reply) -> None:
        """From now on this is the answer."""
        self.reply = reply.with_field("Connection", "close") if self.is_last else reply


@dataclass(frozen=True, slots=True)
class Dropped:
    """There is no answer: the connection just goes."""


@dataclass(frozen=True, slots=True)
class Later:
    """An answer that something must happen for. Ending the patience brings it forward where that makes sense."""

    start: Callable[[], Coroutine[Any, Any, Outcome]]
    patience: Patience = field(default_factory=Patience)


Outcome: TypeAlias = "Reply | RememberedAnswer | Later | Dropped"
DROPPED: Final = Dropped()
