"""Events: what is coming, what became of it, and the operator's say in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Query

from forewarn.core.commands import Approve, CancelEvents
from forewarn.core.looking.story import remembered
from forewarn.core.lookup import scope_named, vm_named
from forewarn.core.refusal import no_event
from forewarn.core.region import Event, Region, fold
from forewarn.web.operator.desk import Desk, Look, TheAsker, TheDesk, TheLook
from forewarn.web.operator.outcomes import approved, canceled
from forewarn.web.operator.paging import instant_key, page_of
from forewarn.web.operator.past_events import events_of
from forewarn.web.operator.records import MOST_STEPS, timeline
from forewarn.web.operator.schema.fleet_answers import EventsAnswer, EventStory, OutcomeAnswer
from forewarn.web.operator.schema.requests import EventIdsBody, EventPage
from forewarn.web.operator.spans import check_order
from forewarn.web.operator.views import event_fields

router = APIRouter(prefix="/v1/events", tags=["events"])


@router.get("", summary="List events")
def list_events(page: Annotated[EventPage, Query()], desk: TheDesk, look: TheLook) -> EventsAnswer:
    """In pages, oldest first: those that a document shows now, of one scope or VM if that is asked for.

    With `since` or `until` those that have ended are told as well, from the journal.
    """
    check_order(page.since, page.until)
    chosen = _chosen(look.region, page) if page.since is None and page.until is None else _past(desk, look, page)
    events, following = page_of(chosen, _in_order, page)
    return EventsAnswer(events=[event_fields(look, event) for event in events], next=following)


def _past(desk: Desk, look: Look, page: EventPage) -> list[Event]:
    """Whom an ended event named may be gone by now, so that nobody is asked whether a VM or a scope exists."""
    vm, scope = fold(page.vm), fold(page.scope)
    found = events_of(desk.plane.journal, look, page.since, page.until)
    return [event for event in found if (not vm or vm in event.vms) and scope in ("", event.scope)]


def _chosen(region: Region, page: EventPage) -> list[Event]:
    ids: Iterable[str] = region.events
    scope = scope_named(region, page.scope) if page.scope else None
    if page.vm:
        ids = vm_named(region, page.vm).events
    elif scope is not None:
        ids = scope.events
    events = (region.events[event_id] for event_id in ids)
    return [event for event in events if event.announced and (scope is None or scope.key == event.scope)]


def _in_order(event: Event) -> str:
    return instant_key(event.scheduled_at, event.id)


@router.get("/{event_id}", summary="Show an event")
def show(event_id: str, desk: TheDesk, look: TheLook) -> EventStory:
    """All that is known about it, who is awaited, and how it came so far; also after it has ended."""
    records = desk.plane.journal.about(event_id.upper(), MOST_STEPS)
    event = look.region.events.get(event_id.upper()) or remembered(record.fact for record in records)
    if event is None:
        raise no_event(f"There is and was no event {event_id}.", event_id)
    return EventStory(**dict(event_fields(look, event)), timeline=timeline(records))


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
