"""How a request gets to the program and its answer back, whatever carries both."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

ANSWER_MOST = 16 * 1024 * 1024  # bytes of one answer: a listing of 20 000 machines has some 4 MB; ours


class WireAnswer(Struct, frozen=True):
    """What was said to one request."""

    status: int
    body: bytes


class EngineWire(Protocol):
    """May be used by several threads at once. What goes wrong is an ``EngineFault``."""

    @property
    def where(self) -> str:
        """For people: the address or the program. Never a secret."""

    def ask(self, method: str, target: str, body: bytes | None, seconds: float) -> WireAnswer:
        """One request, which has its answer within so many seconds or fails."""

    def close(self) -> None:
        """What is under way ends now, with an ``EngineFault``."""
