"""How long things took, as a histogram: counts within bounds, so that figures of many servers can be added up."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

# Ours, in seconds: from a commit on a fast disk to one that waited for a store that had gone
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Spread:
    """How long things took: how many within each bound, how many in all, and their sum."""

    def __init__(self, bounds: Sequence[float] = BOUNDS) -> None:
        self.bounds = tuple(bounds)
        self.within = [0] * (len(self.bounds) + 1)  # each beside its bound alone; the last is beyond all of them
        self.sum = 0.0

    def note(self, seconds: float) -> None:
        self.within[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds

    @property
    def count(self) -> int:
        return sum(self.within)

    def cumulative(self) -> list[tuple[float, int]]:
        """How many took at most each bound."""
        total, found = 0, []
        for bound, number in zip((*self.bounds, float("inf")), self.within, strict=True):
            total += number
            found.append((bound, total))
        return found
