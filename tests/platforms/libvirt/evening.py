"""Whether a guest tells of an evening what the journal tells: which events it prepared for, and what it put right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_ENDS = ("EventCompleted", "EventCanceled")


@dataclass(frozen=True)
class Spell:
    """A part of the journal, by the place of its records, in which a guest was down or coming up again: nobody can say
    what it was able to read then. Empty for a guest that was up all evening."""

    begins: int
    ends: int


def announced(facts: Sequence[dict[str, Any]], vm: str) -> dict[str, int]:
    """Events of that VM that it was told of while they were ahead, in the journal's order, with their places there."""
    return {
        fact["body"]["event"]["id"]: place
        for place, fact in enumerate(facts)
        if fact["fact"] == "EventScheduled" and f'"{vm}"' in json.dumps(fact["body"])
    }


def over(facts: Sequence[dict[str, Any]]) -> set[str]:
    return {fact["body"]["event_id"] for fact in facts if fact["fact"] in _ENDS}


def prepared(lines: Sequence[str]) -> list[str]:
    return [line.split()[-1] for line in lines if line.startswith("prepared ")]


def restored(lines: Sequence[str]) -> list[str]:
    return [line.split()[-1] for line in lines if line.startswith("restored ")]


def faults(lines: Sequence[str], facts: Sequence[dict[str, Any]], vm: str, down: Spell) -> list[str]:
    """What is wrong with the lines of a guest whose agent prepares for everything; nothing, if both tell the same."""
    events, told = announced(facts, vm), prepared(lines)
    open_to_doubt = {event for event, place in events.items() if down.begins <= place < down.ends}
    expected = [event for event in events if event not in open_to_doubt or event in told]
    found = []
    if told != expected:
        found.append(f"{vm} was told of {expected}, in this order, and prepared for {told}")
    put_right = restored(lines)
    for event in told:
        if event in over(facts) and put_right.count(event) != 1:
            found.append(f"{vm} put right {event} {put_right.count(event)} times, which it had prepared for")
        if event not in over(facts) and event in put_right:
            found.append(f"{vm} put right {event}, which is not over")
    words = [line.split() for line in lines if line.startswith(("prepared ", "restored "))]
    for event in set(told) & set(put_right):
        order = [first for first, *_, last in words if last == event]
        if order[0] != "prepared":
            found.append(f"{vm} put right {event} before it had prepared for it")
    return found
