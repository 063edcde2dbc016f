"""How long to pause before trying again: the one rule of library and agent, whatever it is that failed. Pure."""

from __future__ import annotations

from dataclasses import dataclass

_MOST_DOUBLINGS = 30  # beyond any longest pause, and 2**30 is far from overflowing a float


@dataclass(frozen=True, slots=True)
class Backoff:
    """Twice as long after each try, up to a longest pause."""

    first_seconds: float
    longest_seconds: float

    def seconds(self, tries: int, chance: float = 1.0) -> float:
        """The pause after so many tries in a row. ``chance``, from 0 to 1, takes away up to half of it (jitter).

        Guests that lost the service at the same moment must not all come back at the same moment.
        """
        doubled = self.first_seconds * 2.0 ** min(tries - 1, _MOST_DOUBLINGS)
        return min(doubled, self.longest_seconds) * (0.5 + chance / 2)
