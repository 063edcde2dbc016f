"""Records of the journal as answers: as they are kept, and as the life of one event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from forewarn.core.looking.story import tell
from forewarn.core.looking.subjects import subject_of
from forewarn.core.machines.facts import MachineDefined
from forewarn.plane.ports import Record
from forewarn.web.operator.schema.answers import RecordAnswer
from forewarn.web.operator.schema.fleet_answers import TimelineEntry

MOST_STEPS = 1_000  # ours: of one event; they are all read before the answer is made


def record_fields(record: Record) -> RecordAnswer:
    body: dict[str, Any] = msgspec.to_builtins(record.fact)
    kind = body.pop("fact")
    if isinstance(record.fact, MachineDefined):  # a container's environment stands in it, and passwords there
        body["definition"] = f"{len(record.fact.definition)} characters, kept in the journal"
    del body["at"]
    return RecordAnswer(
        seq=record.seq,
        at=record.fact.at,
        fact=kind,
        subject=subject_of(record.fact),
        command=record.command,
        door=record.origin.door,
        who=record.origin.who,
        request_id=record.origin.request_id,
        body=body,
    )


def as_subject(text: str) -> str:
    """A subject in the spelling of the journal: names in lower case, ids in upper case."""
    return text.lower() if "/" in text or text.lower() == "clock" else text.upper()


def timeline(records: Iterable[Record]) -> list[TimelineEntry]:
    """The life of one event: each of its facts as a sentence with its origin, in the journal's order."""
    return [
        TimelineEntry(
            at=record.fact.at, fact=type(record.fact).__name__, by=record.origin.label, text=tell(record.fact)
        )
        for record in records
    ]
