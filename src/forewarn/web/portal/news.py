"""What just happened: the journal's own sentence about the request that a redirect names."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.plane.ports import JournalFault
from forewarn.web.operator.history.activity import Book, activity_fields
from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.page import Visit

_FAR = 2_000  # ours: records after the one that was the last when the request came


@dataclass(frozen=True)
class JustHappened:
    text: str
    outcome: str
    about: tuple[str, ...]


def news_of(visit: Visit) -> JustHappened | None:
    """Of ``?did=REQUEST_ID&since=SEQ``, or of ``?told=DEED`` for what is not written down.

    Reads the journal: not on the loop. An id that is not there is no news.
    """
    if (deed := DEEDS.get(visit.first("told"))) is not None and deed.unwritten:
        return JustHappened(deed.unwritten, "", ())
    request_id, since = visit.first("did"), visit.first("since")
    if not request_id or not since.isascii() or not since.isdigit() or len(since) > 18:
        return None
    journal = visit.desk.plane.journal
    try:
        run = [each for each in journal.read(int(since), _FAR) if each.origin.request_id == request_id]
        if not run:
            return JustHappened("Nothing had to be changed.", "", ())
        told = activity_fields([run], Book(visit.look.region, journal))
    except JournalFault:
        return None
    return JustHappened(told.text, told.outcome, tuple(told.about))
