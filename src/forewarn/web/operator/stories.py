"""The life of one event, told from the journal: how it is known after it has left the region."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forewarn.core import facts as f
from forewarn.core.causes import CAUSES
from forewarn.core.lifecycle import after
from forewarn.core.region import Event, replace
from forewarn.plane.ports import Origin, Record
from forewarn.web.operator.schema.fleet_answers import TimelineEntry

MOST_STEPS = 1_000


def remembered(records: Iterable[Record]) -> Event | None:
    """The event as its own facts leave it; None if they tell of no event."""
    event: Event | None = None
    for record in records:
        fact = record.fact
        if isinstance(fact, f.EventScheduled | f.EventBornStarted):
            event = fact.event
            phase = after(None, type(fact).__name__)
        elif event is None:
            return None
        else:
            phase = after(event.phase, type(fact).__name__)
        event = replace(event, phase=phase, **_changes(fact))
    return event


def _changes(fact: f.Fact) -> dict[str, Any]:
    match fact:
        case f.EventAnnounced(recovery=recovery):
            return {"announced": True, "recovery": recovery, "approved_at": None, "approved_by": ""}
        case f.EventApproved(at=at, by=by):
            return {"approved_at": at, "approved_by": by}
        case f.EventStarted(at=at) | f.EventBornStarted(at=at):
            return {"started_at": at}
        case f.ImpactBegan(at=at, ends_at=ends_at):
            return {"impact_began_at": at, "impact_ends_at": ends_at}
        case f.ImpactEnded(at=at):
            return {"impact_ended_at": at}
    return {}


def timeline(records: Iterable[Record]) -> list[TimelineEntry]:
    """The same facts, each as a sentence."""
    return [
        TimelineEntry(at=record.fact.at, fact=type(record.fact).__name__, by=by(record.origin), text=tell(record.fact))
        for record in records
    ]


def by(origin: Origin) -> str:
    return f"{origin.door} {origin.who}".strip()


def tell(fact: f.Fact) -> str:
    """One step as a sentence."""
    match fact:
        case f.EventScheduled(event=event):
            return f"{_what(event)} scheduled, not before {event.not_before:%Y-%m-%dT%H:%M:%SZ}."
        case f.EventBornStarted(event=event):
            return f"{_what(event)} started without waiting for anybody."
        case f.EventAnnounced():
            return "Announced: somebody in its scope has begun to read."
        case f.EventApproved(by=who):
            return f"Approved by {who}."
        case f.EventStarted():
            return "Started."
        case f.EventCanceled(why=why):
            return f"Canceled: {why}."
        case f.ImpactBegan(ends_at=ends_at):
            until = "" if ends_at is None else f", until {ends_at:%Y-%m-%dT%H:%M:%SZ}"
            return f"Impact began{until}."
        case f.ImpactEnded():
            return "Impact over."
        case f.EventCompleted():
            return "Completed: gone from the document."
    return type(fact).__name__


def _what(event: Event) -> str:
    return f"{CAUSES[event.cause].type.value} of {', '.join(event.resources)} ({event.cause.value})"
