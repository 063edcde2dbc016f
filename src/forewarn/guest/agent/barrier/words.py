"""The barrier's messages, authenticated by an HMAC with the shared secret.

A question carries a nonce; the answer's HMAC covers it, so an answer cannot be replayed: only answers are believed. A
question is authenticated too, with its time, so that without the secret nothing can be learned and no agent be made to
work; what it says of its sender is no more than a hint.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.guest.system.parts import Chance
from forewarn.wire.json_bytes import WireError, read_json, write_json
from forewarn.wire.times import format_iso8601, parse_instant

PATH = "/forewarn/barrier/v1"
SEAL_HEADER = "X-Forewarn-Seal"
CLOCKS_APART = timedelta(minutes=5)  # as Kerberos allows by default
_MOST_REMEMBERED = 10_000  # nonces: a set of 100 that asks every 2 s uses as many in 200 s


@dataclass(frozen=True, slots=True)
class Question:
    """How are you with this event? And this is how I am."""

    asker: str
    asked: str
    event_id: str
    stance: str
    number: str
    at: datetime


class Seal:
    """Makes and checks words under one secret."""

    def __init__(self, secret: bytes, chance: Chance) -> None:
        self._secret = secret
        self._chance = chance
        self._used: OrderedDict[str, None] = OrderedDict()

    def question(
        self, asker: str, asked: str, event_id: str, stance: str, now: datetime
    ) -> tuple[Question, bytes, str]:
        """A new question, its bytes and its seal."""
        question = Question(asker, asked, event_id, stance, f"{self._chance.getrandbits(128):032x}", now)
        fields = {
            "asker": asker,
            "asked": asked,
            "event_id": event_id,
            "stance": stance,
            "number": question.number,
            "at": format_iso8601(now),
        }
        body = write_json(fields)
        return question, body, self._seal(b"question", body)

    def read_question(self, body: bytes, seal: str, now: datetime) -> Question | str:
        """The question, or why it is not believed. Each is believed once."""
        if not _same(self._seal(b"question", body), seal):
            return "the seal is not ours"
        fields = _fields(body, ("asker", "asked", "event_id", "stance", "number", "at"))
        if fields is None:
            return "it is not a question"
        try:
            at = parse_instant(fields["at"])
        except WireError:
            at = None
        if at is None or abs(at - now) > CLOCKS_APART:
            return "its time is not now; are the clocks right?"
        if fields["number"] in self._used:
            return "it was asked before"
        self._used[fields["number"]] = None
        if len(self._used) > _MOST_REMEMBERED:
            self._used.popitem(last=False)
        return Question(fields["asker"], fields["asked"], fields["event_id"], fields["stance"], fields["number"], at)

    def answer(self, question: Question, name: str, stance: str) -> tuple[bytes, str]:
        body = write_json({"name": name, "event_id": question.event_id, "stance": stance})
        return body, self._seal(b"answer " + question.number.encode(), body)

    def read_answer(self, question: Question, body: bytes, seal: str) -> str | None:
        """The stance of the one that was asked; None where it is not its answer to this question."""
        if not _same(self._seal(b"answer " + question.number.encode(), body), seal):
            return None
        fields = _fields(body, ("name", "event_id", "stance"))
        if fields is None or fields["name"].casefold() != question.asked.casefold():
            return None
        return fields["stance"] if fields["event_id"].upper() == question.event_id.upper() else None

    def _seal(self, what: bytes, body: bytes) -> str:
        return hmac.new(self._secret, b"forewarn barrier 1 " + what + b"\n" + body, hashlib.sha256).hexdigest()


def _same(ours: str, theirs: str) -> bool:
    """Compare in constant time, as bytes: ``compare_digest`` refuses texts with characters that a header may hold."""
    return hmac.compare_digest(ours.encode(), theirs.encode("utf-8", "replace"))


def _fields(body: bytes, names: tuple[str, ...]) -> dict[str, str] | None:
    try:
        found = read_json(body)
    except WireError:
        return None
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in names):
        return None
    return {name: found[name] for name in names}
