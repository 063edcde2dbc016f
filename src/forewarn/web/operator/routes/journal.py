"""The journal: everything that has happened, by cursor or as it happens."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Query

from forewarn.core.refusal import Hint, Refused
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Journal, Record
from forewarn.web.operator.desk import TheDesk, TheLook, ThePlane
from forewarn.web.operator.records import as_subject, record_fields
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.answers import RecordsAnswer, VerifyAnswer
from forewarn.web.operator.schema.looks import JournalPage, StreamFrom
from forewarn.web.operator.stream import EventStream, LastEventId, follow, returned_from, server_sent, stream_responses

router = routes_below("/v1/journal", "journal")

_MOST_ABOUT = 100_000  # ours: bounds how long one answer reads
_STREAM_EXAMPLE = 'id: 57\ndata: {"seq":57,"fact":"EventApproved",...}\n\n'


@router.get("", summary="Read the journal")
def read(page: Annotated[JournalPage, Query()], desk: TheDesk, look: TheLook) -> RecordsAnswer:
    """In order, after a number; about one thing, if that is asked for."""
    records = _read(desk.plane, page, look.seq)
    return RecordsAnswer(records=[record_fields(record) for record in records], head=look.seq)


def _read(plane: Plane, page: JournalPage, head: int) -> list[Record]:
    if not page.about:
        return plane.journal.read(page.after, min(page.limit, max(0, head - page.after)))
    story = plane.journal.about(as_subject(page.about), _MOST_ABOUT)
    return [record for record in story if page.after < record.seq <= head][: page.limit]


@router.get(
    "/stream",
    summary="Follow the journal",
    status_code=200,
    response_class=EventStream,
    responses=stream_responses(_STREAM_EXAMPLE, "Records."),
)
async def stream(
    start: Annotated[StreamFrom, Query()],
    desk: TheDesk,
    plane: ThePlane,
    last_event_id: LastEventId = "",
) -> EventStream:
    """Server-sent events: `id` is the record's number and `data` the record, the same as in the journal's pages."""
    after = _start(start.after, last_event_id, plane.seq)
    return EventStream(server_sent(follow(plane, after, desk.streams)))


def _start(asked: int | None, last_event_id: str, head: int) -> int:
    """The record to go on after: Last-Event-ID of a browser that reconnects wins over the query of its address."""
    returned = returned_from(last_event_id)
    after = returned if returned is not None else asked
    if after is not None and after > head:
        raise Refused(Hint.INVALID, f"The journal ends at {head}, so nothing can be after {after}; is it another one?")
    return head if after is None else after


@router.post("/verify", summary="Verify the journal")
async def verify(desk: TheDesk, look: TheLook) -> VerifyAnswer:
    """Read everything that is stored and tell what is wrong with it. Nothing is changed."""
    faults = await asyncio.to_thread(_faults, desk.plane.journal)
    return VerifyAnswer(faults=faults, records=look.seq)


def _faults(journal: Journal) -> list[str]:
    return list(journal.verify())
