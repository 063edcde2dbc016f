"""Records of the journal as answers."""

from __future__ import annotations

from typing import Any

import msgspec

from forewarn.core.facts import subject_of
from forewarn.plane.ports import Record
from forewarn.web.operator.schema.answers import RecordAnswer


def record_fields(record: Record) -> RecordAnswer:
    body: dict[str, Any] = msgspec.to_builtins(record.fact)
    kind = body.pop("fact")
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
