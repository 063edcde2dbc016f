"""Activity: who did what through which door, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from forewarn.web.operator.routes import activity
from forewarn.web.operator.schema.answers import ActivityAnswer
from forewarn.web.operator.schema.requests import ActivityPage, Door
from forewarn.web.portal.forms import NotRight, checked
from forewarn.web.portal.page import PortalPage, Visit

_LINES = 100  # ours: two or three screens


@dataclass(frozen=True)
class ActivityView:
    """The newest lines first."""

    door: str
    about: str
    doors: tuple[str, ...]
    lines: tuple[ActivityAnswer, ...] = ()
    head: int = 0
    refusal: str = ""


def view(visit: Visit) -> ActivityView:
    """Reads the journal, so it is called in a thread."""
    door, about = visit.first("door"), visit.first("about")
    shown = ActivityView(door, about, get_args(Door))
    try:
        page = checked(ActivityPage, {"about": about, "limit": _LINES, **({"door": door} if door else {})})
    except NotRight as problem:
        return replace(shown, refusal=problem.message)
    found = activity.show(page, visit.desk, visit.look)
    return replace(shown, lines=tuple(reversed(found.activity)), head=found.head)


PAGES = (
    PortalPage(
        "activity",
        "/activity",
        "Activity",
        view,
        "pages/activity.html",
        parts={"part-activity": "parts/activity.html"},
        api=("GET /v1/activity",),
        menu="Activity",
    ),
)
