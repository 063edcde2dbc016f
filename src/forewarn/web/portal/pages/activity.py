"""Activity: who did what through which door, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from forewarn.core.looking.story import tell
from forewarn.core.region import Region
from forewarn.web.operator.records import record_fields
from forewarn.web.operator.routes import activity
from forewarn.web.operator.schema.answers import ActivitiesAnswer, ActivityAnswer, RecordAnswer
from forewarn.web.operator.schema.requests import ActivityPage, Door
from forewarn.web.operator.telling.views import host_name
from forewarn.web.portal.doors.reading import options
from forewarn.web.portal.forms import NotRight, checked
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit

_LINES = 100  # ours: two or three screens
_MOST_FACTS = 50  # ours, of one request: a screen and a half; the journal has all of them
_FILTERS = ("about", "door", "who")


@dataclass(frozen=True)
class ToldFact:
    """A record of the journal, and the same as a sentence."""

    record: RecordAnswer
    text: str


@dataclass(frozen=True)
class ActivityView:
    """The newest lines first."""

    asked: dict[str, str]  # the filters, as the address has them
    doors: tuple[str, ...]
    lines: tuple[ActivityAnswer, ...] = ()
    head: int = 0
    stretch: tuple[int, int] | None = None  # of the journal, in which the lines lie, where an event was made in it
    opened: int = 0  # the first record of the line whose facts are shown
    facts: tuple[ToldFact, ...] = ()
    hosts: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""


async def part_of(visit: Visit, after: str, limit: int) -> ActivitiesAnswer:
    """Those that the filters of the address choose, from that record on, oldest first."""
    page = checked(ActivityPage, {**_filters(visit), "after": after or 0, "limit": limit})
    return await asyncio.to_thread(activity.show, page, visit.desk, visit.look)


def _filters(visit: Visit) -> dict[str, str]:
    return {name: visit.first(name)[:512] for name in _FILTERS if visit.first(name)}


def view(visit: Visit) -> ActivityView:
    """Reads the journal, so it is called in a thread."""
    asked = {name: visit.first(name) for name in _FILTERS}
    shown = ActivityView(asked, get_args(Door))
    try:
        page = checked(ActivityPage, {"limit": _LINES, **{name: value for name, value in asked.items() if value}})
    except NotRight as problem:
        return replace(shown, refusal=problem.message)
    found = activity.show(page, visit.desk, visit.look)
    lines = tuple(reversed(found.activity))
    opened = visit.first("open")
    line = next((line for line in lines if opened == str(line.first_seq)), None)
    facts = () if line is None else _facts(visit, line)
    first = line.first_seq if line else 0
    hosts = hosts_named(visit.look.region, lines)
    return replace(shown, lines=lines, head=found.head, stretch=_stretch(lines), opened=first, facts=facts, hosts=hosts)


def hosts_named(region: Region, lines: Iterable[ActivityAnswer]) -> dict[str, str]:
    """The hosts that lines are about, as the other pages call them: the journal knows each by its number."""
    told = {each for line in lines for each in line.about if each.startswith("host/")}
    numbers = {each: each.removeprefix("host/") for each in told}
    return {each: host_name(region, int(number)) or each for each, number in numbers.items() if number.isdigit()}


def _facts(visit: Visit, line: ActivityAnswer) -> tuple[ToldFact, ...]:
    """What the journal keeps of one request, at most a screen of it."""
    records = visit.desk.plane.journal.read(line.first_seq - 1, min(_MOST_FACTS, line.seq - line.first_seq + 1))
    return tuple(ToldFact(record_fields(record), tell(record.fact)) for record in records)


def _stretch(lines: Sequence[ActivityAnswer]) -> tuple[int, int] | None:
    """From before the first to the last, where a line tells of events that were scheduled."""
    if not any(" scheduled, not before" in line.outcome for line in lines):
        return None
    return lines[-1].first_seq - 1, lines[0].seq


def _reading(visit: Visit) -> Elsewhere:
    chosen = _filters(visit)
    return Elsewhere((("activity", *options(chosen)),), chosen, no_az="forewarn answers no activity log to az.")


PAGES = (
    PortalPage(
        "activity",
        "/activity",
        "Activity",
        view,
        "pages/activity.html",
        parts={"part-activity": "parts/activity.html"},
        api=("GET /v1/activity", "GET /v1/journal"),
        reading=_reading,
        menu="Activity",
    ),
)
