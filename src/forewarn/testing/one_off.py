"""A notice and a duration for one event alone, laid over the region's own while its command is carried out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from msgspec.structs import replace

from forewarn.core.causes import Cause
from forewarn.core.forecast import Lasting
from forewarn.core.region import Event
from forewarn.core.rules import Rules
from forewarn.engines.simulated import SimulatedEngine


class OneOffs(SimulatedEngine):
    """Pretended machines whose impacts last as long as the test has chosen for each event.

    ``rules`` are the region's, with tables of their own: an event is made from them in one command, which the test
    waits for, and facts carry what came of it. So what is laid over them for that long holds for that event alone.
    """

    def __init__(self, rules: Rules, usual: SimulatedEngine) -> None:
        super().__init__()
        self._usual = usual
        self._lasting: dict[str, timedelta] = {}
        self._now: tuple[Cause, timedelta | None] | None = None  # for what begins before its id is known
        self.rules = replace(rules, notices=dict(rules.notices), durations=dict(rules.durations))

    def lasting(self, event: Event) -> Lasting:
        chosen = self._lasting.get(event.id)
        if chosen is None and self._now is not None and self._now[0] is event.cause:
            chosen = self._now[1]
        return self._usual.lasting(event) if chosen is None else Lasting(chosen)

    def begin(self, event: Event, now: datetime) -> datetime | None:
        return now + self.lasting(event).duration

    @contextmanager
    def chosen(self, cause: Cause, notice: timedelta | None, duration: timedelta | None) -> Iterator[list[str]]:
        """Lay a notice and a duration over the region's for one command.

        The caller puts the ids of the events that it made into the list: their impacts last as chosen.
        """
        made: list[str] = []
        notices, durations = dict(self.rules.notices), dict(self.rules.durations)
        if notice is not None:
            self.rules.notices[cause] = notice
        if duration is not None and self.rules.duration_seconds(cause) >= 0:  # -1: documents announce none
            self.rules.durations[cause] = round(duration.total_seconds())
        self._now = (cause, duration)
        try:
            yield made
        finally:
            self._now = None
            _put_back(self.rules.notices, notices)
            _put_back(self.rules.durations, durations)
            if duration is not None:
                self._lasting.update(dict.fromkeys(made, duration))


def _put_back(table: dict[Cause, timedelta] | dict[Cause, int], was: dict[Cause, timedelta] | dict[Cause, int]) -> None:
    table.clear()
    table.update(was)  # type: ignore[arg-type]  # both are of the same kind
