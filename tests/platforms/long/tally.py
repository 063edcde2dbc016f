"""What was killed, and what was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

KINDS = ("restart", "pause", "migrate", "redeploy", "create", "start", "stop", "deallocate", "reimage", "delete")
VICTIMS = ("node", "source", "target", "qemu", "qemu-target", "host")


def is_a_case(kind: str, victim: str) -> bool:
    """Only a migration has a QEMU at its target, beside the one that runs."""
    return victim != "qemu-target" or kind == "migrate"


@dataclass
class Tally:
    """Over all cases. Each list names the case in which it was so."""

    cases: Counter[str] = field(default_factory=Counter)
    troubles: dict[str, str] = field(default_factory=dict)  # cases of their own -> what came of them
    doubled: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # of machines that were made and deleted
    known: list[str] = field(default_factory=list)  # what is left where the page says that it is: no fault

    @property
    def is_fine(self) -> bool:
        failed = any(not told.startswith("ok") for told in self.troubles.values())
        return not (failed or self.found)

    @property
    def found(self) -> list[str]:
        """All that should not have been, in groups."""
        return [*self.doubled, *self.twice, *self.forgotten, *self.early, *self.stuck, *self.left]

    def table(self) -> str:
        count = sum(self.cases.values())
        rows = [f"{'kills':<12}" + "".join(f"{victim:>12}" for victim in VICTIMS)]
        for kind in KINDS:
            counts = (self.cases[f"{kind} {victim}"] if is_a_case(kind, victim) else "" for victim in VICTIMS)
            rows.append(f"{kind:<12}" + "".join(f"{count:>12}" for count in counts))
        for what, found in (
            ("machines doubled", self.doubled),
            ("errands doubled", self.twice),
            ("pauses forgotten", self.forgotten),
            ("events early", self.early),
            ("not at rest within five minutes", self.stuck),
            ("something left of a machine that was deleted", self.left),
            ("something left at a host that was lost while it made a machine or a disk", self.known),
        ):
            rows.append(f"{what}: {len(found)} of {count} kills")
            rows += [f"    {each}" for each in found]
        return "\n".join([*rows, *(f"{name}: {told}" for name, told in self.troubles.items())])


def early(facts: Sequence[dict[str, Any]], unasked: frozenset[str] = frozenset()) -> list[str]:
    """Events that started before their time and were not approved, or by one of ``unasked``, who approve nothing."""
    due = {
        each["body"]["event"]["id"]: datetime.fromisoformat(each["body"]["event"]["not_before"])
        for each in facts
        if each["fact"] == "EventScheduled"
    }
    started = [each for each in facts if each["fact"] == "EventStarted" and each["body"]["event_id"] in due]
    approved = {each["body"]["event_id"] for each in facts if each["fact"] == "EventApproved"} - unasked
    return [
        each["body"]["event_id"]
        for each in started
        if datetime.fromisoformat(each["at"]) < due[each["body"]["event_id"]]
        and each["body"]["event_id"] not in approved
    ]
