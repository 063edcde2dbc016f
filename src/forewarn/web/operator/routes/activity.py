"""Activity: who did what through which door, and what came of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from forewarn.web.operator.desk import TheDesk, TheLook
from forewarn.web.operator.history.activity import Book, Wanted, activity_fields, after, newest
from forewarn.web.operator.history.recent import recent_of
from forewarn.web.operator.history.spans import check_order, last_before, last_until
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.answers import ActivitiesAnswer
from forewarn.web.operator.schema.requests import ActivityPage

router = routes_below("/v1/activity", "journal")


@router.get("", summary="Show activity")
def show(page: Annotated[ActivityPage, Query()], desk: TheDesk, look: TheLook) -> ActivitiesAnswer:
    """One line for each request that changed something; the newest, or those after a record or since an instant.

    What was refused or changed nothing is not in the journal, and so not here; nor are fault rules and the speed of
    the clock.
    """
    journal, head = desk.plane.journal, look.seq
    check_order(page.since, page.until)
    book, wanted = Book(look.region, journal), Wanted(page.door or "", page.about, page.who, page.fold)
    end = head if page.until is None else last_until(journal, page.until, head)
    start = None if page.since is None else last_before(journal, page.since, end)
    if page.after is None and start is None:
        known = recent_of(journal).newest(journal, book, wanted, head, page.limit) if end == head else None
        if known is not None:
            return ActivitiesAnswer(activity=known, next=None, head=head)
        found, looked_at = newest(journal, book, wanted, end, page.limit), end
    else:
        found, looked_at = after(journal, book, wanted, max(page.after or 0, start or 0), end, page.limit)
    return ActivitiesAnswer(
        activity=[activity_fields(runs, book) for runs in found],
        next=looked_at if looked_at < end else None,
        head=head,
    )
