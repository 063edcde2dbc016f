"""The moments at which people may want to be told something."""

from __future__ import annotations

from enum import StrEnum


class Occasion(StrEnum):
    """What has just happened to an event, or to the work that it asks for."""

    SCHEDULED = "scheduled"
    PREPARING = "preparing"
    PREPARED = "prepared"
    FAILED = "failed"
    APPROVED = "approved"
    STARTED = "started"
    COMPLETED = "completed"
    CANCELED = "canceled"


OCCASIONS = tuple(each.value for each in Occasion)
