"""Hints for pages that show a region while it changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from forewarn.web.operator.desk import TheDesk, ThePlane
from forewarn.web.operator.live.changes import hints
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.looks import StreamFrom
from forewarn.web.operator.stream import EventStream, LastEventId, returned_from, stream_responses

router = routes_below("/v1/changes", "journal")

_EXAMPLE = (
    'id: 57\ndata: {"seq":57,"at":"2026-01-01T12:00:00Z","clock":{"now":"2026-01-01T12:03:41Z","kind":"fast",'
    '"speed":60.0,"next_deadline":null},"subjects":["vm/web-0","availability-set/front"],"more":false,"faults":0,'
    '"events":4,"portal":""}\n\n'
)


@router.get(
    "/stream",
    summary="Be told that something changed",
    status_code=200,
    response_class=EventStream,
    responses=stream_responses(_EXAMPLE, "Hints."),
)
async def stream(
    start: Annotated[StreamFrom, Query()],
    desk: TheDesk,
    plane: ThePlane,
    last_event_id: LastEventId = "",
) -> EventStream:
    """Server-sent events, at most four a second: `id` is the number of the journal's last record and `data` a hint that
    names what to look at again (`subjects`, at most 50; `more` says that there are others, which may be any) and never
    what it has become. `faults` and `events` are how many there are at this node. The first hint sums up what has
    changed since the record that you know, at any node; a number that this journal does not have makes it say that
    anything may have changed.
    """
    returned = returned_from(last_event_id)
    after = start.after if returned is None else returned
    return EventStream(hints(desk.changes, plane.seq if after is None else after, desk.streams))
