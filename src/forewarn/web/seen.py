"""What a metadata face answered to whom, for those who look on: the test kit, ``forewarn mock``, a server's terminal.

A face that nobody looks on to makes none of these and takes its short ways; see ``web.metadata.witnessed``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

MOST_SHOWN = 60  # letters of what a stranger asked for


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One request and its answer. ``vm`` is empty where nothing tells which VM asked."""

    at: datetime  # on the clock of the region
    seq: int  # the last fact that was published when it was answered
    vm: str
    verb: str
    target: str
    status: int  # 0: the connection was dropped
    reason: str  # of a refusal, in the words of the answer
    incarnation: int | None  # of the document that was given out
    fault: str = ""  # the kind of the fault rule that had its hand in it
    service: str = "scheduledevents"
    made: str = ""  # what the answer held, or what was approved

    @property
    def words(self) -> str:
        """What was asked and what came of it, without who and without how often."""
        return f"{self.verb}{self._about} {self.status or 'dropped'}"

    @property
    def _about(self) -> str:
        return "" if self.service == "scheduledevents" and self.vm else f" {_short(self.target)}"


Witness: TypeAlias = Callable[[SeenRequest], None]
Prelude: TypeAlias = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class LookingOn:
    """A witness that is told of requests, on the loop's thread; and what happens before each VM's first read."""

    witness: Witness
    prelude: Prelude | None = None


def _short(target: str) -> str:
    shown = "".join(letter if letter.isprintable() else "?" for letter in target)
    return shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}…"
