"""What guests may see already: the region as it was a while ago."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from forewarn.core.region import Region


class Lag:
    """Keeps the regions of the last while. They share their structure, so keeping one costs what changed in it.

    An enabling shows at once, with the document that it made: before it there was none, and a number must not be
    shown with any other document than its own.
    """

    def __init__(self, lag: timedelta, now: Callable[[], datetime], region: Region) -> None:
        self._lag = lag
        self._now = now
        self._past: deque[tuple[datetime, Region]] = deque()
        self._enablings: dict[str, tuple[datetime, Region]] = {}  # by scope, those that the past does not show yet
        self.begin(region)

    def begin(self, region: Region) -> None:
        """Every later region is published here; this one shows from the start."""
        self._past = deque([(datetime.min.replace(tzinfo=UTC), region)])
        self._enablings.clear()

    def publish(self, at: datetime, region: Region, enabled: Iterable[str]) -> datetime:
        """Remember a new region, with the scopes enabled in it; guests may see it from the instant that is returned."""
        visible_at = at + self._lag
        self._past.append((visible_at, region))
        for scope in enabled:
            self._enablings.pop(scope, None)  # put last, for they are dropped in order
            self._enablings[scope] = (visible_at, region)
        return visible_at

    def region(self, scope: str = "") -> Region:
        """The newest region that guests may see; those of ``scope`` at least the one that it was enabled in."""
        now = self._now()
        while len(self._past) > 1 and self._past[1][0] <= now:
            self._past.popleft()
        while self._enablings and next(iter(self._enablings.values()))[0] <= now:
            del self._enablings[next(iter(self._enablings))]
        return self._enablings[scope][1] if scope in self._enablings else self._past[0][1]
