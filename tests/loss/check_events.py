"""No event starts early, none is forgotten, and no machine is touched twice or before it is written down."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from forewarn.core import facts as f
from forewarn.core.phases import Phase
from forewarn.core.region import Event
from forewarn.plane.ports import Record
from tests.loss.check_writes import TOLERANCE
from tests.loss.history import Begun, History, Trouble
from tests.loss.replay import Replay

_ABOUT_EVENTS = (
    f.EventScheduled,
    f.EventBornStarted,
    f.EventAnnounced,
    f.EventApproved,
    f.EventStarted,
    f.ImpactBegan,
    f.ImpactEnded,
    f.EventCompleted,
    f.EventCanceled,
)
_BIRTHS = (f.EventScheduled, f.EventBornStarted)
_STARTS = (f.EventStarted, f.EventBornStarted)
_ENDS = (f.EventCompleted, f.EventCanceled)
_HANDOVER_SECONDS = 15.0  # how long after a fault the lead may still go from hand to hand


def of_events(history: History, replay: Replay) -> Iterator[str]:
    """Each event from its birth to its end."""
    stories: dict[str, list[Record]] = defaultdict(list)
    for record in history.journal:
        fact = record.fact
        if isinstance(fact, _BIRTHS):
            stories[fact.event.id].append(record)
        elif isinstance(fact, _ABOUT_EVENTS):
            stories[fact.event_id].append(record)
    for event_id, story in stories.items():
        first = story[0].fact
        if not isinstance(first, _BIRTHS):
            yield f"event {event_id} begins with {type(first).__name__}"
            continue
        yield from (f"event {event_id} {what}" for what in _of_one(history, replay, first.event, story))
    yield from _of_engine(history, stories)


def _of_one(history: History, replay: Replay, event: Event, story: Sequence[Record]) -> Iterator[str]:
    kinds = [type(record.fact) for record in story]
    again: dict[type, int] = {
        f.EventApproved: kinds.count(f.EventAnnounced)
    }  # who begins to read is asked, whoever was not before
    for kind in _ABOUT_EVENTS:
        if kinds.count(kind) > 1 + again.get(kind, 0):
            yield f"has {kind.__name__} more than once: records {[r.seq for r in story if type(r.fact) is kind]}"
    if sum(kind in _BIRTHS for kind in kinds) > 1:
        yield "was born twice"
    if any(kind in _ENDS for kind in kinds[:-1]):
        yield f"goes on after its end: {[kind.__name__ for kind in kinds]}"
    for record in story:
        if isinstance(record.fact, f.EventStarted):
            yield from _of_start(replay, event, record)
    if kinds[-1] not in _ENDS and event.not_before <= history.ended:
        yield f"is forgotten: its time came at {event.not_before}, and its last word is {kinds[-1].__name__}"


def _of_start(replay: Replay, event: Event, record: Record) -> Iterator[str]:
    """At NotBefore; earlier only when it was approved, and with it every other of its group."""
    if record.fact.at >= event.not_before or record.seq > len(replay.regions) - 1:
        return
    before = replay.regions[record.seq - 1]
    now = before.events.get(event.id)
    if now is None or now.phase is not Phase.APPROVED:
        yield f"started early, at {record.fact.at}: its NotBefore is {event.not_before}, and nobody had approved it"
        return
    awaited = [
        other.id
        for other in before.events.values()
        if event.group and other.group == event.group and other.phase is Phase.SCHEDULED
    ]
    if awaited:
        yield f"started early, at {record.fact.at}: {', '.join(awaited)} of the same work had not been approved"


def _of_engine(history: History, stories: dict[str, list[Record]]) -> Iterator[str]:
    """A machine is touched for what is written, and a second time only where a fault lay between."""
    calls: dict[str, list[Begun]] = defaultdict(list)
    for note in history.notes:
        if isinstance(note, Begun):
            calls[note.event_id].append(note)
    troubles = [note for note in history.notes if isinstance(note, Trouble) and not note.is_a_relays]
    for event_id, begun in calls.items():
        begun.sort(key=lambda call: call.at)
        start = _start_of(stories.get(event_id, ()))
        if start is None:
            yield f"event {event_id} was begun by {begun[0].node}, and the journal has no start of it"
        elif history.wall(begun[0].at) < start - TOLERANCE:
            yield f"event {event_id} was begun by {begun[0].node} before it had started"
        for one, two in pairwise(begun):
            if not any(_lies_between(trouble, one, two) for trouble in troubles):
                yield (
                    f"event {event_id} was begun twice, by {one.node} ({one.process}) and {two.node} ({two.process}), "
                    "and nothing was wrong meanwhile"
                )
    if calls:
        for event_id, story in stories.items():
            if any(isinstance(record.fact, f.ImpactBegan) for record in story) and event_id not in calls:
                yield f"event {event_id} has an impact that no engine began"


def _start_of(story: Sequence[Record]) -> datetime | None:
    return next((record.fact.at for record in story if isinstance(record.fact, _STARTS)), None)


def _lies_between(trouble: Trouble, one: Begun, two: Begun) -> bool:
    return trouble.began <= two.at and trouble.ended + _HANDOVER_SECONDS >= one.at
