"""Started events on their way to the engine. Impacts that could not be begun or recorded are owed, and retried."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from datetime import datetime

from forewarn.core.commands import BeginImpact, Tick
from forewarn.core.facts import EventBornStarted, EventStarted
from forewarn.core.phases import Phase
from forewarn.core.region import Event, Region
from forewarn.plane.ports import CLOCK, JournalFault, PretendedMachines, Record, Writes
from forewarn.plane.standing import Standing

_log = logging.getLogger(__name__)
_STARTS = (EventStarted, EventBornStarted)


class Impacts:
    """Only events whose start is on disk come here, so no machine is touched before. Only the leader begins impacts."""

    def __init__(self, engine: PretendedMachines, standing: Standing) -> None:
        self._engine = engine
        self._standing = standing
        self._owed: list[str] = []
        self._indebted = asyncio.Event()

    def take_up(self, region: Region) -> None:
        """Owe what an earlier run, or an earlier leader, left: started events whose impact has no end yet."""
        self._owed = sorted(event.id for event in region.events.values() if _is_to_begin(event))

    def follow_lead(self, leads: bool, region: Region) -> None:
        """A new leader takes up what the last one left.

        A former leader forgets what it owes: that is the new one's to do.
        """
        if leads:
            self.take_up(region)
            self._indebted.set()
        else:
            self._owed = []

    def owe(self, begun: Sequence[BeginImpact], fault: Exception) -> None:
        """Note impacts that were begun and could not be recorded."""
        self._owe([each.event_id for each in begun], fault)

    def _owe(self, event_ids: list[str], fault: Exception) -> None:
        if isinstance(fault, JournalFault):
            _log.warning("Impacts could not be recorded, trying again in a moment: %s", fault)
        else:
            _log.error("Impacts could not be begun or recorded; trying again in a moment.", exc_info=fault)
        self._owed += event_ids
        self._indebted.set()

    def begin(self, region: Region, records: Sequence[Record], now: datetime) -> list[BeginImpact]:
        """Hand to the engine what has just started, and what it could not be handed before.

        Returns the commands that record it. For a node that leads.
        """
        owed, self._owed = self._owed, []
        begun: list[BeginImpact] = []
        for event_id in dict.fromkeys((*owed, *_just_started(region, records))):
            if event_id in region.events and _is_to_begin(region.events[event_id]):
                try:
                    begun.append(BeginImpact(event_id, self._engine.begin(region.events[event_id], now)))
                except Exception as fault:
                    self._owe([event_id], fault)
        return begun

    async def retry_on(self, writing: Writes, retry_seconds: float) -> None:
        """Tick while something is owed, so that it is tried again where nothing else is written for a long time."""
        while True:
            await self._indebted.wait()
            self._indebted.clear()
            await asyncio.sleep(retry_seconds)
            if self._standing.leads:
                await writing.submit_ours(Tick(), CLOCK)
                if self._owed:  # the tick itself failed
                    self._indebted.set()


def _is_to_begin(event: Event) -> bool:
    return event.phase is Phase.STARTED and event.impact_ended_at is None and event.impact_ends_at is None


def _just_started(region: Region, records: Sequence[Record]) -> Iterator[str]:
    """Events that these records have started, except those begun already: records may come late, from other nodes."""
    for fact in [record.fact for record in records if isinstance(record.fact, _STARTS)]:
        event_id = fact.event_id if isinstance(fact, EventStarted) else fact.event.id
        event = region.events.get(event_id)
        if event is not None and event.impact_began_at is None:
            yield event_id
