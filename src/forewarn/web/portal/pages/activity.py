"""Activity: who did what through which door, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from forewarn.web.operator.routes import activity
from forewarn.web.operator.schema.answers import ActivitiesAnswer, ActivityAnswer
from forewarn.web.operator.schema.requests import ActivityPage, Door
from forewarn.web.portal.doors.reading import options
from forewarn.web.portal.forms import NotRight, checked
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit

_LINES = 100  # ours: two or three screens


@dataclass(frozen=True)
class ActivityView:
    """The newest lines first."""

    door: str
    about: str
    doors: tuple[str, ...]
    lines: tuple[ActivityAnswer, ...] = ()
    head: int = 0
    stretch: tuple[int, int] | None = None  # of the journal, in which the lines lie, where an event was made in it
    refusal: str = ""


async def part_of(visit: Visit, after: str, limit: int) -> ActivitiesAnswer:
    """Those that the filters of the address choose, from that record on, oldest first."""
    page = checked(ActivityPage, {**_filters(visit), "after": after or 0, "limit": limit})
    return await asyncio.to_thread(activity.show, page, visit.desk, visit.look)


def _filters(visit: Visit) -> dict[str, str]:
    return {name: visit.first(name)[:512] for name in ("door", "about") if visit.first(name)}


def view(visit: Visit) -> ActivityView:
    """Reads the journal, so it is called in a thread."""
    door, about = visit.first("door"), visit.first("about")
    shown = ActivityView(door, about, get_args(Door))
    try:
        page = checked(ActivityPage, {"about": about, "limit": _LINES, **({"door": door} if door else {})})
    except NotRight as problem:
        return replace(shown, refusal=problem.message)
    found = activity.show(page, visit.desk, visit.look)
    lines = tuple(reversed(found.activity))
    return replace(shown, lines=lines, head=found.head, stretch=_stretch(lines))


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
        api=("GET /v1/activity",),
        reading=_reading,
        menu="Activity",
    ),
)
