"""Machines that are only pretended: an impact is time that passes, and the region tells what became of the VM."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from forewarn.core.causes import CAUSES, Effect
from forewarn.core.forecast import Lasting
from forewarn.core.region import Event


class Durations(Struct, frozen=True):
    """How long an impact takes where the event itself does not announce it."""

    restart: timedelta = timedelta(seconds=30)  # ours: a Linux VM boots in about so long
    redeploy: timedelta = timedelta(seconds=60)  # ours: a restart, and a machine to be found
    evict: timedelta = timedelta(seconds=5)  # ours: a VM that is switched off
    delete: timedelta = timedelta(seconds=5)  # ours: the same
    reimage: timedelta = timedelta(seconds=60)  # ours: a disk to be written, and a restart


class SimulatedEngine:
    """Knows in advance when it will be done, so a turned clock can jump straight there."""

    def __init__(self, durations: Durations | None = None) -> None:
        durations = durations or Durations()
        self._by_effect = {
            Effect.RESTART: durations.restart,
            Effect.REDEPLOY: durations.redeploy,
            Effect.EVICT: durations.evict,
            Effect.DELETE: durations.delete,
            Effect.REIMAGE: durations.reimage,
        }

    def begin(self, event: Event, now: datetime) -> datetime | None:
        return now + self.lasting(event).duration

    def lasting(self, event: Event) -> Lasting:
        """Exact, for that is how long it pretends."""
        announced = timedelta(seconds=max(event.duration_seconds, 0))
        return Lasting(self._by_effect.get(CAUSES[event.cause].effect, announced))
