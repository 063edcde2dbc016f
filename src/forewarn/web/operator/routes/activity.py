"""Activity: who did what through which door, and what came of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from forewarn.web.operator.activity import Book, Wanted, activity_fields, after, newest
from forewarn.web.operator.desk import TheDesk, TheLook
from forewarn.web.operator.schema.answers import ActivitiesAnswer
from forewarn.web.operator.schema.requests import ActivityPage

router = APIRouter(prefix="/v1/activity", tags=["journal"])


@router.get("", summary="Show activity")
def show(page: Annotated[ActivityPage, Query()], desk: TheDesk, look: TheLook) -> ActivitiesAnswer:
    """One line for each request that changed something; the newest, or those after a record of the journal.

    What was refused or changed nothing is not in the journal, and so not here; nor are fault rules and the speed of
    the clock.
    """
    journal, head = desk.plane.journal, look.seq
    book, wanted = Book(look.region, journal), Wanted(page.door or "", page.about)
    if page.after is None:
        runs, looked_at = newest(journal, book, wanted, head, page.limit), head
    else:
        runs, looked_at = after(journal, book, wanted, page.after, head, page.limit)
    return ActivitiesAnswer(
        activity=[activity_fields(run, book) for run in runs],
        next=looked_at if looked_at < head else None,
        head=head,
    )
