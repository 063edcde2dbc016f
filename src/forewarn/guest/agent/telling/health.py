"""Whether the agent does its work (healthy), and whether this VM should be given work (ready). Two questions."""

from __future__ import annotations

from collections.abc import Callable

from forewarn.guest.system.parts import Threads

# The first answer of a metadata service may take two minutes; until then its absence is no illness.
FIRST_READ_SECONDS = 150.0


class AgentHealth:
    """Noted by the loop, asked by others, from any thread. The clock gives seconds that only grow."""

    def __init__(
        self,
        threads: Threads,
        clock: Callable[[], float],
        unhealthy_after_seconds: float,
        *,
        first_read_seconds: float = FIRST_READ_SECONDS,
    ) -> None:
        self._clock = clock
        self._unhealthy_after = unhealthy_after_seconds
        self._first_read = max(first_read_seconds, unhealthy_after_seconds)
        self._lock = threads.lock()
        self._began = clock()
        self._last_good_read: float | None = None
        self._out: dict[str, str] = {}

    def good_read(self) -> None:
        """The metadata service has just answered as it should."""
        self._last_good_read = self._clock()

    def leave_service(self, key: str, why: str) -> None:
        """Not ready until ``return_to_service`` with the same key: one for each event, since they may overlap."""
        with self._lock:
            self._out[key] = why

    def return_to_service(self, key: str) -> None:
        with self._lock:
            self._out.pop(key, None)

    @property
    def last_good_read_age_seconds(self) -> float | None:
        """Seconds since the last good read; None before the first."""
        last = self._last_good_read
        return None if last is None else self._clock() - last

    def why_unhealthy(self) -> str:
        """A sentence, empty where all is well."""
        age = self.last_good_read_age_seconds
        if age is None:
            waited = self._clock() - self._began
            return f"no good read in {waited:.0f} s since the start" if waited > self._first_read else ""
        return f"the last good read is {age:.0f} s old" if age > self._unhealthy_after else ""

    def why_not_ready(self) -> str:
        """A sentence, empty where this VM may be given work."""
        if self._last_good_read is None:
            return "the metadata service has not answered yet"
        with self._lock:
            return "; ".join(self._out.values())
