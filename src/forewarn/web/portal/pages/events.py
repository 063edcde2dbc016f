"""Events: what is coming, what has ended, and one of them with its whole life on an axis."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.core.looking.lookup import scope_named
from forewarn.core.phases import PENDING, Phase
from forewarn.core.refusal import Refused
from forewarn.web.documents.document import document_bytes
from forewarn.web.operator.desk import Look
from forewarn.web.operator.documents import find_version, seen_by
from forewarn.web.operator.errors import refusal_of
from forewarn.web.operator.routes import events, forecast
from forewarn.web.operator.routes.forecast import ForecastFact, ForecastQuery
from forewarn.web.operator.schema.fleet_answers import EventAnswer, EventsAnswer, EventStory
from forewarn.web.operator.schema.listing import EventPage
from forewarn.web.operator.telling.views import event_fields
from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.deeds.deed import PortalDeed
from forewarn.web.portal.doors.reading import options
from forewarn.web.portal.drawing.axis import Axis, Span, axis_of
from forewarn.web.portal.forms import NotRight, checked, refuse_other_words
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit, reverse_of
from forewarn.wire.versions import API_VERSIONS, NEWEST, ApiVersion

_ROWS = 50  # a screen and a half of a desk, as all lists of the portal
_A_DAY = timedelta(days=1)
_OPEN = ("scheduled", "approved")
_NAMED = 20  # ours, of events that go together: more than hosts have tenants as a rule
_FARTHEST = timedelta(days=8)  # the longest notice is a week, and a day after it
_NO_AZ = "az has no command that lists scheduled events; a VM reads its own."
_FILTERS = ("vm", "scope", "host", "type", "phase", "source", "campaign")


@dataclass(frozen=True)
class EventList:
    asked: str
    ended: bool  # the tab of those that have ended
    reverse: bool
    events: tuple[EventAnswer, ...] = ()
    following: str | None = None
    refusal: str = ""
    bulk: tuple[PortalDeed, ...] = (DEEDS["approve"], DEEDS["cancel"])


async def part_of(visit: Visit, after: str, limit: int) -> EventsAnswer:
    """Those of the chosen tab that the filter of the address chooses, from there on."""
    ended = _ended(visit)
    given = _filters(visit)
    refuse_other_words(visit.first("q"), _FILTERS)
    page = checked(EventPage, {**given, **_order(visit), "after": after, "limit": limit})
    found = await asyncio.to_thread(events.list_events, page, visit.desk, await visit.listed())
    shown = [each for each in found.events if (each.phase in ("completed", "canceled")) == ended]
    return found.model_copy(update={"events": shown})


def _filters(visit: Visit) -> dict[str, str]:
    words = (word.partition(":") for word in visit.first("q").split())
    return {name: value for name, colon, value in words if colon and name in _FILTERS}


def _reading(visit: Visit) -> Elsewhere:
    chosen = {**_filters(visit), **_order(visit)}
    return Elsewhere((("event", "list", *options(chosen)),), chosen, no_az=_NO_AZ)


def _reading_one(visit: Visit) -> Elsewhere:
    event = visit.path["id"]
    return Elsewhere((("event", "show", event), ("event", "export-test", event)), no_az=_NO_AZ)


def _ended(visit: Visit) -> bool:
    return visit.first("tab") == "ended"


def _backwards(visit: Visit) -> bool:
    """What is coming begins with the soonest, what has ended with the latest; an address may turn both around."""
    return _ended(visit) != bool(reverse_of(visit))


def _order(visit: Visit) -> dict[str, str]:
    since = {"since": f"{visit.look.now - _A_DAY:%Y-%m-%dT%H:%M:%SZ}"} if _ended(visit) else {}
    return {"order": "not_before", **since, **({"reverse": "yes"} if _backwards(visit) else {})}


async def view_list(visit: Visit) -> EventList:
    """Those that are open, by NotBefore; on the other tab those that ended in the last day, newest first."""
    asked, ended, reverse = visit.first("q"), _ended(visit), _backwards(visit)
    try:
        found = await part_of(visit, visit.first("after")[:512], _ROWS)
    except NotRight as problem:
        return EventList(asked, ended, reverse, refusal=problem.message)
    except Refused as problem:
        told = refusal_of(problem, visit.desk)
        return EventList(asked, ended, reverse, refusal=told[2] if told else problem.message)
    return EventList(asked, ended, reverse, tuple(found.events), found.next)


@dataclass(frozen=True)
class EventGroup:
    """The events that start together, one of which is looked at. Of those that are shown its own stands first."""

    whose: str  # what they are a part of: a host's work, or the deletions in a scale set
    total: int  # those that have not started; 1 for an event that stands alone
    awaited_total: int
    awaited: tuple[EventAnswer, ...]
    approved: tuple[EventAnswer, ...]


@dataclass(frozen=True)
class EventView:
    event: EventStory
    axis: Axis
    foreseen: tuple[ForecastFact, ...]
    offered: tuple[PortalDeed, ...]
    group: EventGroup
    version: str
    versions: tuple[str, ...]
    has_scope: bool  # still: an event that has ended may be about VMs that are gone
    as_told: tuple[str, ...]  # lines of the document's entry about it; none where no document tells of it


async def view_one(visit: Visit) -> EventView:
    event = await asyncio.to_thread(events.show, visit.path["id"], visit.desk, visit.look)
    foreseen = await _foreseen(visit, event)
    look = visit.look
    version = find_version(visit.first("api-version", NEWEST.date))
    return EventView(
        event=event,
        axis=axis_of(tuple(_spans(event, foreseen, look.now)), look.now),
        foreseen=foreseen,
        offered=tuple(DEEDS[key] for key in ("approve", "cancel")) if event.phase in _OPEN else (),
        group=_group_of(look, event),
        version=version.date,
        versions=tuple(each.date for each in reversed(API_VERSIONS)),
        has_scope=_is_there(look, event.scope),
        as_told=_as_told(visit, event, version),
    )


def _group_of(look: Look, event: EventStory) -> EventGroup:
    """Those of its group: who is awaited, and who is not any more. A group is over when it starts."""
    region, own = look.region, look.region.events.get(event.id)
    if own is None or own.phase not in PENDING:
        return EventGroup("", 0, 0, (), ())
    group = region.groups.get(own.group)
    others = [each for each in sorted(group.pending) if each != event.id] if group is not None else []
    awaited = (
        [event.id, *event.awaited] if own.phase is Phase.SCHEDULED and own.not_before > look.now else event.awaited
    )
    approved = [each for each in (event.id, *others) if region.events[each].phase is Phase.APPROVED]
    return EventGroup(
        whose=f"{event.host}'s work" if event.host else f"the deletions in {own.scope}",
        total=1 + len(others),
        awaited_total=len(awaited),
        awaited=tuple(event_fields(look, region.events[each]) for each in awaited[:_NAMED]),
        approved=tuple(event_fields(look, region.events[each]) for each in approved[:_NAMED]),
    )


def _is_there(look: Look, scope: str) -> bool:
    try:
        scope_named(look.region, scope)
    except Refused:
        return False
    return True


def _as_told(visit: Visit, event: EventStory, version: ApiVersion) -> tuple[str, ...]:
    """Its entry in the document of its scope, as that version has it. Looking is not reading."""
    if event.id not in visit.look.region.events:
        return ()
    region, scope, enabled = seen_by(visit.look, visit.desk.visible, event.vms[0], visit.desk.plane.rules)
    if not enabled:
        return ()
    told = json.loads(document_bytes(region, scope, version, visit.desk.not_before_format))["Events"]
    found = next((each for each in told if each["EventId"] == event.id), None)
    return () if found is None else tuple(json.dumps(found, indent=2, ensure_ascii=False).split("\n"))


async def _foreseen(visit: Visit, event: EventStory) -> tuple[ForecastFact, ...]:
    """What becomes of it if nobody acts; nothing, for one that has ended."""
    if event.id not in visit.look.region.events:
        return ()
    until = min(max(event.not_before, visit.look.now) + _A_DAY, visit.look.now + _FARTHEST)
    query = ForecastQuery.model_validate({"event": event.id, "until": until.isoformat()})
    return tuple((await forecast.show(query, visit.desk, visit.look)).facts)


def _spans(event: EventStory, foreseen: tuple[ForecastFact, ...], now: datetime) -> Iterator[Span]:
    """Notice, impact and recovery: from what has happened, and then from what is foreseen."""
    told = {each.fact: each.at for each in reversed(event.timeline)}
    coming = {each.fact: each.at for each in reversed(foreseen)}
    steps = (
        ("notice", event.scheduled_at, ("EventStarted", "EventCanceled", "EventBornStarted"), "Notice"),
        ("impact", _first(told, coming, "ImpactBegan"), ("ImpactEnded",), "Impact"),
        ("recovery", _first(told, coming, "ImpactEnded"), ("EventCompleted",), "Recovery"),
    )
    for kind, start, ends, text in steps:
        end = next((found for each in ends if (found := _first(told, coming, each)) is not None), None)
        if start is not None and end is not None and end >= start:
            yield Span(kind, start, end, text, foreseen=end > now)


def _first(told: dict[str, datetime], coming: dict[str, datetime], fact: str) -> datetime | None:
    return told.get(fact) or coming.get(fact)


PAGES = (
    PortalPage(
        "events",
        "/events",
        "Events",
        view_list,
        "pages/events.html",
        parts={"part-events": "parts/events.html"},
        api=("GET /v1/events",),
        reading=_reading,
        menu="Events",
    ),
    PortalPage(
        "event",
        "/events/{id}",
        "Event",
        view_one,
        "pages/event.html",
        parts={"part-event": "parts/event.html"},
        api=("GET /v1/events/{event_id}",),
        reading=_reading_one,
        under="events",
    ),
)
