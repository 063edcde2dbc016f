"""The metadata service's time, carried on between its answers. Pure: instants and ticks in, instants out."""

from __future__ import annotations

from datetime import datetime, timedelta

_RESOLUTION = timedelta(seconds=1)  # of a Date header


class ServiceTime:
    """What NotBefore is set against: right however wrong the VM's clock is.

    A Date has whole seconds, so it is up to a second behind what is already known by counting on from an earlier one.
    Only an answer that contradicts the count by more than that moves it: forward, or back where the region's clock
    was turned or stopped.
    """

    def __init__(self) -> None:
        self._at: datetime | None = None
        self._tick = 0.0

    def heard(self, at: datetime, tick: float) -> None:
        """An answer carried this Date, and came at this tick."""
        carried = self.now(tick)
        if carried is None or not at <= carried < at + _RESOLUTION:
            self._at, self._tick = at, tick

    def now(self, tick: float) -> datetime | None:
        """None before the first answer."""
        return None if self._at is None else self._at + timedelta(seconds=tick - self._tick)
