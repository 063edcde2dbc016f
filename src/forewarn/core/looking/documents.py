"""What a VM may see of a region."""

from __future__ import annotations

from forewarn.core.causes import CAUSES
from forewarn.core.phases import Phase
from forewarn.core.region import Event, Region, Scope
from forewarn.terms import Document, EventStatus, ScheduledEvent


def document_for(region: Region, scope: Scope) -> Document:
    """The document that every VM of the scope sees: its announced events, oldest first."""
    return Document(scope.incarnation, tuple(shown(region.events[event_id]) for event_id in scope.events))


def shown(event: Event) -> ScheduledEvent:
    """An event as a document shows it: approval is not visible, and once started there is no NotBefore."""
    row = CAUSES[event.cause]
    started = event.phase is Phase.STARTED
    return ScheduledEvent(
        event_id=event.id,
        status=EventStatus.STARTED if started else EventStatus.SCHEDULED,
        type=row.type,
        resources=event.resources,
        not_before=None if started else event.not_before,
        description=row.description,
        source=row.source,
        duration_seconds=event.duration_seconds,
    )
