"""The vocabulary that both sides of the wire share. It imports nothing of ours and does nothing but name things."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class EventType(StrEnum):
    """What an event will do to the machines it names."""

    FREEZE = "Freeze"
    REBOOT = "Reboot"
    REDEPLOY = "Redeploy"
    PREEMPT = "Preempt"
    TERMINATE = "Terminate"


class EventStatus(StrEnum):
    """The two states a document can show; an event that has ended is absent."""

    SCHEDULED = "Scheduled"
    STARTED = "Started"


class EventSource(StrEnum):
    """Who wanted the event."""

    PLATFORM = "Platform"
    USER = "User"


@dataclass(frozen=True, slots=True)
class ScheduledEvent:
    """One event as a VM may see it.

    ``type``, ``status`` and ``source`` are plain strings because a reader must survive values it does not know;
    what forewarn writes is always one of the enums above. ``None`` means that the api-version does not tell.
    """

    event_id: str
    status: str
    type: str
    resources: tuple[str, ...]
    not_before: datetime | None
    description: str | None = None
    source: str | None = None
    duration_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """All that one VM may see. The incarnation grows whenever the events change."""

    incarnation: int
    events: tuple[ScheduledEvent, ...] = ()
