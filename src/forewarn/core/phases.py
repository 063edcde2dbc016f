"""Where an event is in its life. ``lifecycle`` says what leads from one phase to the next."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """Where an event is. A document shows the first two as Scheduled, the third as Started, the rest not at all."""

    SCHEDULED = "scheduled"
    APPROVED = "approved"
    STARTED = "started"
    COMPLETED = "completed"
    CANCELED = "canceled"


PENDING = frozenset({Phase.SCHEDULED, Phase.APPROVED})
ENDED = frozenset({Phase.COMPLETED, Phase.CANCELED})
