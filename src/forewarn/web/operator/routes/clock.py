"""Time: look at it and turn it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, timedelta
from typing import NamedTuple

from forewarn.core.refusal import Hint, Refused
from forewarn.web.operator.desk import Asker, Look, TheDesk, TheMover, ThePlane
from forewarn.web.operator.history.on_the_way import SeenMeanwhile, on_the_way
from forewarn.web.operator.live.changes import clock_fields
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.answers import ClockAnswer, ClockTurned, ClockTurnedToNext
from forewarn.web.operator.schema.requests import AdvanceBody, InstantBody, NothingBody, SpeedBody

router = routes_below("/v1/clock", "clock")


class _Turn(NamedTuple):
    """A turn of the clock: how things were before it, and who has seen what came of it."""

    before: Look
    seen: SeenMeanwhile


@router.get("", summary="Show the clock")
async def show_clock(plane: ThePlane) -> ClockAnswer:
    """The time of the region, how it passes, and when something is next due."""
    return clock_fields(plane)


@router.post("/advance", summary="Move the clock by some seconds")
async def advance(body: AdvanceBody, asker: TheMover) -> ClockTurned:
    """Everything that falls due on the way happens, at its own instant. A real clock cannot be moved."""
    now = asker.plane.now()
    try:
        to = now + timedelta(seconds=body.seconds)
    except OverflowError:
        raise Refused(Hint.INVALID, "The calendar ends before that.") from None
    with _looking_on(asker) as turn:
        await asker.plane.advance(to, asker.origin)
    return await _turned(asker, turn)


@router.post("/next", summary="Move the clock to the next change")
async def advance_to_next(asker: TheMover, body: NothingBody | None = None) -> ClockTurnedToNext:
    """To the instant at which something next happens by itself; nowhere if nothing is due."""
    with _looking_on(asker) as turn:
        moved_to = await asker.plane.advance_to_next(asker.origin)
    turned = await _turned(asker, turn)
    return ClockTurnedToNext(**dict(turned), moved=moved_to is not None)


@router.post("/to", summary="Move the clock to an instant")
async def advance_to(body: InstantBody, asker: TheMover) -> ClockTurned:
    """Everything that falls due on the way happens, at its own instant. Time never goes back."""
    try:
        to = body.instant.astimezone(UTC)
    except OverflowError:
        raise Refused(Hint.INVALID, "The calendar ends before that.") from None
    with _looking_on(asker) as turn:
        await asker.plane.advance(to, asker.origin)
    return await _turned(asker, turn)


@router.post("/speed", summary="Set how fast the clock runs")
async def set_speed(body: SpeedBody, plane: ThePlane, desk: TheDesk) -> ClockAnswer:
    """Region seconds in one real second; 0 makes it stand still. A real clock has one speed."""
    plane.set_speed(body.speed)
    desk.changes.clock_turned()
    desk.newsroom.clock_turned()
    return clock_fields(plane)


@contextmanager
def _looking_on(asker: Asker) -> Iterator[_Turn]:
    before = asker.look()
    turn = _Turn(before, SeenMeanwhile(before.seq))
    stop = asker.plane.subscribe(turn.seen.note)
    try:
        yield turn
    finally:
        stop()


async def _turned(asker: Asker, turn: _Turn) -> ClockTurned:
    plane = asker.plane
    clock = clock_fields(plane)
    happened, left_out = await asyncio.to_thread(on_the_way, plane.journal, turn.before, plane.seq, turn.seen)
    return ClockTurned(**dict(clock), happened=happened, happened_left_out=left_out)
