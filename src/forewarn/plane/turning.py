"""Turning a region's clock: every instant is stopped at where something happens on the way.

What happens there is time's own doing; that the clock was moved is its mover's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from forewarn.core.commands import Command, Tick
from forewarn.core.facts import Fact, ScopeRead, ScopesRead
from forewarn.core.region import Region
from forewarn.plane.clock import Clock, check_forward
from forewarn.plane.ports import Origin, Record

CLOCK = Origin("clock")


class Turned(Protocol):
    """The plane whose clock is turned."""

    region: Region
    clock: Clock

    def next_deadline(self) -> datetime | None: ...

    async def submit(self, command: Command, origin: Origin) -> tuple[Fact, ...]: ...

    async def settled(self) -> None: ...

    def subscribe(self, listener: Callable[[Region, Sequence[Record]], None]) -> Callable[[], None]: ...


class Turning:
    """One turn at a time."""

    def __init__(self, plane: Turned) -> None:
        self._plane = plane
        self._moving = asyncio.Lock()

    async def advance(self, to: datetime, origin: Origin) -> None:
        plane = self._plane
        async with self._moving:
            await plane.settled()  # an impact that is just being recorded has a deadline too
            check_forward(plane.clock.now(), to)
            while (due := plane.next_deadline()) is not None and due <= to:
                await self._tick_at(due)
                assert plane.next_deadline() != due, "ticks did not do what was due"
            await self._tick_at(to, moved_by=origin)

    async def advance_to_next(self, origin: Origin) -> datetime | None:
        """That a read was kept, which puts off the end of its scope, is no change that anybody waits for."""
        plane, changes = self._plane, list[Record]()

        def note(_: Region, records: Sequence[Record]) -> None:
            changes.extend(record for record in records if not isinstance(record.fact, ScopeRead | ScopesRead))

        async with self._moving:
            await plane.settled()
            if plane.next_deadline() is None and plane.clock.kind == "real":
                plane.clock.move_to(plane.clock.now())  # which it refuses, whether something is due or not
            forget = plane.subscribe(note)
            try:
                while (due := plane.next_deadline()) is not None:
                    await self._tick_at(due)
                    assert plane.next_deadline() != due, "ticks did not do what was due"
                    if changes:
                        await self._tick_at(due, moved_by=origin)
                        return due
            finally:
                forget()
            return None

    async def _tick_at(self, at: datetime, *, moved_by: Origin | None = None) -> None:
        """Let all happen that is due at an instant, which may take a tick and more."""
        plane = self._plane
        plane.clock.move_to(max(at, plane.clock.now()))
        await plane.submit(Tick(moved=moved_by is not None), moved_by or CLOCK)
        await plane.settled()
        while (due := plane.region.agenda.first()) is not None and due.at <= at:
            await plane.submit(Tick(), CLOCK)
            await plane.settled()
