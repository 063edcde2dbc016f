"""Events: what is coming, what became of it, and the operator's say in it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from forewarn.core.commands import Approve, CancelEvents
from forewarn.core.looking.story import remembered
from forewarn.core.refusal import no_event
from forewarn.web.operator.desk import TheAsker, TheDesk, TheListed, TheLook
from forewarn.web.operator.history.past_events import past_events
from forewarn.web.operator.history.spans import check_order
from forewarn.web.operator.listing.choosing_events import events_of, past_events_of
from forewarn.web.operator.records import MOST_STEPS, timeline
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.fleet_answers import EventsAnswer, EventStory, OutcomeAnswer
from forewarn.web.operator.schema.listing import EventPage
from forewarn.web.operator.schema.requests import EventIdsBody
from forewarn.web.operator.telling.machine_views import errands_of_story
from forewarn.web.operator.telling.outcomes import approved, canceled
from forewarn.web.operator.telling.views import event_fields, in_time

router = routes_below("/v1/events", "events")


@router.get("", summary="List events")
def list_events(page: Annotated[EventPage, Query()], desk: TheDesk, listed: TheListed) -> EventsAnswer:
    """In pages, those that documents show now and that fit all filters that are given.

    With `since` or `until` those that have ended are told as well, from the journal. A page may be short and go on: see
    `looked_at`.
    """
    check_order(page.since, page.until)
    look = listed.look
    if page.since is None and page.until is None:
        chosen = events_of(listed, page)
    else:
        chosen = past_events_of(past_events(desk.plane.journal, look, page.since, page.until), page)
    events = [event_fields(look, event) for event in chosen.things]
    return EventsAnswer(events=events, next=chosen.next, looked_at=chosen.looked_at, total=len(listed.register.events))


@router.get("/{event_id}", summary="Show an event")
def show(event_id: str, desk: TheDesk, look: TheLook) -> EventStory:
    """All that is known about it, who is awaited, and how it came so far; also after it has ended."""
    records = desk.plane.journal.about(event_id.upper(), MOST_STEPS)
    event = look.region.events.get(event_id.upper()) or remembered(record.fact for record in records)
    if event is None:
        raise no_event(f"There is and was no event {event_id}.", event_id)
    return EventStory(
        **dict(event_fields(look, event)),
        in_time=in_time(event),
        timeline=timeline(records),
        errands=errands_of_story(records),
    )


@router.post("/approve", summary="Approve events")
async def approve(body: EventIdsBody, asker: TheAsker) -> OutcomeAnswer:
    """Let events start before their NotBefore: all of them or, where one is unknown, none."""
    await asker.submit(Approve(tuple(body.ids), asker.name))
    return await asker.tell(approved, asker.look(), body.ids)


@router.post("/cancel", summary="Cancel events")
async def cancel(body: EventIdsBody, asker: TheAsker) -> OutcomeAnswer:
    """Take events back that have not started, and with each the others of the same host's work."""
    before = asker.look()
    facts = await asker.submit(CancelEvents(tuple(body.ids), f"taken back by {asker.name}"))
    return await asker.tell(canceled, before, asker.look(), facts)
