"""A rate limit for each VM."""

from __future__ import annotations

from collections import deque

_SWEEP_AT_LEAST = 1024  # callers; below that, looking for idle ones saves nothing


class Throttle:
    """At most so many requests in any stretch of time, for each VM by itself; what is refused does not count.

    It goes by real seconds, whatever the region's clock does: a guest retries in real time, and behind a clock that
    stands still it would never get another turn.
    """

    def __init__(self, per_second: float) -> None:
        self._burst = max(1, int(per_second))
        self._seconds = self._burst / per_second
        self._granted: dict[str, deque[float]] = {}
        self._sweep_at = _SWEEP_AT_LEAST

    def admits(self, vm: str, now: float) -> bool:
        """Whether this request may pass; if so, it counts."""
        granted = self._granted.get(vm)
        if granted is None:
            granted = self._granted[vm] = deque(maxlen=self._burst)
            self._sweep(now)
        if len(granted) == self._burst and now - granted[0] < self._seconds:
            return False
        granted.append(now)
        return True

    def __len__(self) -> int:
        """How many VMs are remembered."""
        return len(self._granted)

    def _sweep(self, now: float) -> None:
        """Forget VMs that have been silent, each time the number of VMs has doubled."""
        if len(self._granted) < self._sweep_at:
            return
        self._granted = {
            vm: granted for vm, granted in self._granted.items() if not granted or now - granted[-1] < self._seconds
        }
        self._sweep_at = max(_SWEEP_AT_LEAST, 2 * len(self._granted))
