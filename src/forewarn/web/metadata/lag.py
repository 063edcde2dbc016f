"""What guests may see already: the region as it was a while ago."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from forewarn.core.region import Region, Scope, replace


class Lag:
    """Keeps the regions of the last while. They share their structure, so keeping one costs what changed in it."""

    def __init__(self, lag: timedelta, now: Callable[[], datetime], region: Region) -> None:
        self._lag = lag
        self._now = now
        self._past = deque([(datetime.min.replace(tzinfo=UTC), region)])

    def publish(self, at: datetime, region: Region) -> datetime:
        """Remember a new region; guests may see it from the instant that is returned."""
        visible_at = at + self._lag
        self._past.append((visible_at, region))
        return visible_at

    def region(self) -> Region:
        """The newest region that guests may see."""
        now = self._now()
        while len(self._past) > 1 and self._past[1][0] <= now:
            self._past.popleft()
        return self._past[0][1]


def as_seen(past: Region, present: Scope) -> Scope:
    """The scope as the past shows it; before it was enabled there was nothing to show."""
    scope = past.scopes.get(present.key)
    if scope is not None and scope.enabled_at == present.enabled_at:
        return scope
    return replace(present, incarnation=1, events=())
