"""The life of one event as the API tells it: its facts, each with its sentence and who caused it."""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.core.story import tell
from forewarn.plane.ports import Record
from forewarn.web.operator.schema.fleet_answers import TimelineEntry

MOST_STEPS = 1_000


def timeline(records: Iterable[Record]) -> list[TimelineEntry]:
    """One entry for each record, in the journal's order."""
    return [
        TimelineEntry(
            at=record.fact.at, fact=type(record.fact).__name__, by=record.origin.label, text=tell(record.fact)
        )
        for record in records
    ]
