"""The vocabulary that both sides of the wire share. It imports nothing of ours and does nothing but name things."""

from __future__ import annotations

import hashlib
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


def derive_guid(*parts: str) -> str:
    """A GUID that the same parts always give: how pure code names new things.

    Upper case, as the service writes event ids. The bits follow RFC 9562's version 8 (custom).
    """
    digest = bytearray(hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest())
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex().upper()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
