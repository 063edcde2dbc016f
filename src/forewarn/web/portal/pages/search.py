"""Search: anything by a part of its name or id. The palette takes what it offers from here."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.web.operator.routes.whole_fleet import find
from forewarn.web.operator.schema.counts import FoundThing, SearchAnswer
from forewarn.web.operator.schema.listing import SearchQuery
from forewarn.web.portal.page import PortalPage, Visit


@dataclass(frozen=True)
class Search:
    q: str
    answer: SearchAnswer


async def view(visit: Visit) -> Search:
    q = "".join(letter for letter in visit.first("q").strip() if letter.isprintable())[:256]
    if not q:
        return Search("", SearchAnswer(found=list[FoundThing](), more=False, ready=True, share=1.0))
    return Search(q, await find(SearchQuery.model_validate({"q": q}), visit.desk.plane))


PAGES = (
    PortalPage(
        "search",
        "/search",
        "Search",
        view,
        "pages/search.html",
        parts={"part-found": "parts/found.html"},
        api=("GET /v1/search",),
    ),
)
