"""The barrier before a shared event: who is ready, who is silent, and whose part it is to approve. Pure.

An approval counts for every VM that an event names, so it is given when all of them are ready, by the first of them
that is alive. Two that both think they are the first do no harm: each of them knows that all are ready, and the
service takes a second approval for the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from forewarn.guest.instance import is_name
from forewarn.terms import ScheduledEvent

ASK_EVERY_SECONDS = 2.0  # a Preempt leaves 30 s: a dozen rounds, where some answers are lost
_HINT_SECONDS = 0.1  # ours: longer than an exchange between neighbours takes
AGREEING = ("ready", "agreed")
BELIEVED_SECONDS = 10.0  # five rounds of questions (ASK_EVERY_SECONDS): an older answer counts as none


class Ruling(StrEnum):
    """What the barrier says to a member that is ready itself."""

    APPROVE = "approve"
    WAIT = "wait"
    LEAVE = "leave"  # all are ready, and it is another's part


@dataclass(frozen=True, slots=True)
class Heard:
    """What a member last said of itself, and when (ticks of our own)."""

    stance: str
    at: float


@dataclass(frozen=True, slots=True)
class Gathering:
    """What is known about the members of one event since this VM was ready and began to ask."""

    heard: Mapping[str, Heard] = field(default_factory=dict)
    asked: Mapping[str, float] = field(default_factory=dict)  # when each was last asked
    first_asked: Mapping[str, float] = field(default_factory=dict)  # patience is counted from here

    def with_answer(self, name: str, stance: str, tick: float) -> Gathering:
        return replace(self, heard={**self.heard, name: Heard(stance, tick)})

    def with_question(self, name: str, tick: float) -> Gathering:
        first = self.first_asked if name in self.first_asked else {**self.first_asked, name: tick}
        return replace(self, asked={**self.asked, name: tick}, first_asked=first)

    def to_ask(self, names: Iterable[str], tick: float) -> list[str]:
        """Whose turn it is, the longest unasked first: where not all can be asked at once, none is left out."""
        never = float("-inf")
        due = [name for name in names if tick - self.asked.get(name, never) >= ASK_EVERY_SECONDS]
        return sorted(due, key=lambda name: self.asked.get(name, never))

    def with_hint(self, name: str, tick: float) -> Gathering:
        """A member has spoken: ask it at once, unless it is known to be ready or was asked just now.

        Without the exception two ready members would ask each other without end.
        """
        known = next((heard for other, heard in self.heard.items() if is_name(other, name)), None)
        is_news = known is None or known.stance not in AGREEING or tick - known.at > ASK_EVERY_SECONDS
        asked_at = next((at for other, at in self.asked.items() if is_name(other, name)), float("-inf"))
        if not is_news or tick - asked_at < _HINT_SECONDS:
            return self
        return replace(self, asked={other: at for other, at in self.asked.items() if not is_name(other, name)})


def members(event: ScheduledEvent) -> tuple[str, ...]:
    """The names as agents know themselves, in the order of the document, each once."""
    return tuple(dict.fromkeys(name.strip().removeprefix("_") for name in event.resources if name.strip()))


def others(event: ScheduledEvent, own_name: str) -> tuple[str, ...]:
    return tuple(name for name in members(event) if not is_name(name, own_name))


def is_shared(event: ScheduledEvent, own_name: str) -> bool:
    return bool(others(event, own_name))


def rule(
    event: ScheduledEvent, own_name: str, gathering: Gathering, tick: float, patience_seconds: float | None
) -> tuple[Ruling, str]:
    """What to do, and why in a sentence. A silent member is not ready until patience with it is over."""
    first: str | None = None
    missed: list[str] = []
    for name in members(event):
        if is_name(name, own_name):
            first = first or name
            continue
        found = gathering.heard.get(name)
        alive = found is not None and tick - found.at <= BELIEVED_SECONDS
        if alive and found is not None:
            if found.stance not in AGREEING:
                return Ruling.WAIT, f"{name} says that it is {found.stance}"
            if found.stance == "ready":  # one that only agrees will not approve, so it is not the first
                first = first or name
            continue
        silent_since = gathering.first_asked.get(name, tick) if found is None else found.at
        if patience_seconds is None or tick - silent_since < patience_seconds:
            return Ruling.WAIT, f"{name} is silent"
        missed.append(name)
    told = f"all are ready but {', '.join(missed)}, waited for long enough" if missed else "all are ready"
    if first is None or is_name(first, own_name):
        return Ruling.APPROVE, told
    return Ruling.LEAVE, f"{told}, and {first} comes first"
