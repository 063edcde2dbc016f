"""Events that have ended, told from the journal: the region itself forgets them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from forewarn.core import facts as f
from forewarn.core.looking.story import remembered
from forewarn.core.looking.subjects import subject_of
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Event
from forewarn.plane.ports import Journal, Record
from forewarn.web.operator.desk import Look
from forewarn.web.operator.history.spans import last_before, last_until, records
from forewarn.web.operator.records import MOST_STEPS

MOST_RECORDS = 200_000  # ours: read for one answer, a matter of seconds

_OF_EVENTS = (
    f.EventScheduled,
    f.EventBornStarted,
    f.EventAnnounced,
    f.EventApproved,
    f.EventStarted,
    f.ImpactBegan,
    f.ImpactEnded,
    f.EventCanceled,
    f.EventCompleted,
)


def past_events(
    journal: Journal, look: Look, since: datetime | None, until: datetime | None, most: int = MOST_RECORDS
) -> list[Event]:
    """Announced events to which something happened in that time, as they are now or were at their end."""
    start = 0 if since is None else last_before(journal, since, look.seq)
    end = look.seq if until is None else last_until(journal, until, look.seq)
    if end - start > most:
        raise Refused(
            Hint.INVALID,
            f"In that time the journal has {end - start} records, and {most} are read at once; ask for a "
            "shorter time with 'since' and 'until'.",
        )
    stories: dict[str, list[Record]] = {}
    for record in records(journal, start, end):
        if isinstance(record.fact, _OF_EVENTS):
            stories.setdefault(subject_of(record.fact), []).append(record)
    found = (_as_it_is(journal, look, event_id, story, end) for event_id, story in stories.items())
    return [event for event in found if event is not None and event.announced]


def _as_it_is(journal: Journal, look: Look, event_id: str, story: list[Record], end: int) -> Event | None:
    """The region knows active ones; the story of an ended one is in the records at hand, or is looked up."""
    active = look.region.events.get(event_id)
    if active is not None:
        return active
    is_whole = end == look.seq and isinstance(story[0].fact, f.EventScheduled | f.EventBornStarted)
    records = story if is_whole else _up_to(journal.about(event_id, MOST_STEPS), look.seq)
    return remembered(record.fact for record in records)


def _up_to(story: Iterable[Record], seq: int) -> list[Record]:
    return [record for record in story if record.seq <= seq]
