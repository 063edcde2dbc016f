"""What a node counts of its writing, for figures: plain numbers that only the loop changes.

Each is a few additions for a transaction, never for a read. ``web.signals`` makes metrics of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from forewarn.core import facts as f
from forewarn.core.causes import CAUSES
from forewarn.core.refusal import Refused
from forewarn.core.region import Event, Region
from forewarn.plane.ports import Record
from forewarn.plane.tally.spread import Spread
from forewarn.plane.writer import Answer, Batch
from forewarn.terms import EventType


class Tally:
    """Counts since the process began."""

    def __init__(self) -> None:
        self.commands: Counter[tuple[str, str]] = Counter()  # by door, and by what came of them
        self.write_seconds = Spread()  # from the asking to the answer
        self.commit_seconds = Spread()  # of transactions: the head taken, stepped, on disk
        self.commits_failed = 0
        self.facts: Counter[str] = Counter()  # shown here, whichever node wrote them, by kind
        self.missed: Counter[EventType] = Counter()  # started by their deadline, because somebody had not approved

    def carried_out(self, batch: Batch, began: float, ended: float) -> None:
        """Count a transaction that is over; ``began`` and ``ended`` are by ``System.elapsed``."""
        written = batch.outcome
        answers: Sequence[Answer] = (written,) * len(batch.asked) if isinstance(written, Exception) else written.answers
        for asked, answer in zip(batch.asked, answers, strict=False):  # those without an answer are put back in line
            self.commands[asked.origin.door, _outcome(answer)] += 1
            self.write_seconds.note(ended - asked.since)
        if isinstance(written, Exception):
            self.commits_failed += 1
        else:
            self.commit_seconds.note(ended - began)

    def published(self, region: Region, records: Sequence[Record]) -> None:
        """Count what has happened; called by the plane after each publication."""
        kinds = Counter([type(record.fact) for record in records])
        self.facts.update({kind.__name__: number for kind, number in kinds.items()})
        if f.EventStarted in kinds:
            self._count_missed(region, records)

    def _count_missed(self, region: Region, records: Sequence[Record]) -> None:
        for fact in [record.fact for record in records if type(record.fact) is f.EventStarted]:
            event = region.events.get(fact.event_id)
            if event is not None and missed_deadline(event):
                self.missed[CAUSES[event.cause].type] += 1


def missed_deadline(event: Event) -> bool:
    """Whether it has started unapproved; what has no notice, such as a failure, has no deadline to miss."""
    noticed = event.not_before - event.scheduled_at >= timedelta(seconds=1)  # NotBefore is rounded up to a second
    return event.announced and noticed and event.started_at is not None and event.approved_at is None


def _outcome(answer: Answer) -> str:
    if isinstance(answer, Refused):
        return "refused"
    return "failed" if isinstance(answer, Exception) else "done"
