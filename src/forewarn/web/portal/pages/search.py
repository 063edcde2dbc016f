"""Finding anything by a part of its name or id. The palette reads the same list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from forewarn.web.operator.routes.whole_fleet import find
from forewarn.web.operator.schema.counts import FoundThing, SearchAnswer
from forewarn.web.operator.schema.listing import SearchQuery
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit

_MOST = 50  # a screen and a half of a desk; a longer word finds less
# Kind of thing -> the page that shows it, and the field of its address that names it
_PLACES: Mapping[str, tuple[str, str]] = {
    "vm": ("vm", "name"),
    "scale-set": ("scale-set", "name"),
    "availability-set": ("scope", "name"),
    "cloud-service": ("scope", "name"),
    "host": ("host", "name"),
    "event": ("event", "id"),
    "campaign": ("campaign", "id"),
}


@dataclass(frozen=True)
class FoundPlace:
    """One thing that was found, and where it is shown."""

    thing: FoundThing
    page: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class SearchView:
    words: str
    places: tuple[FoundPlace, ...]
    answer: SearchAnswer | None  # none where nothing was asked, or what was asked is no name
    refusal: str = ""


async def view_search(visit: Visit) -> SearchView:
    words = visit.first("q").strip()
    if not words:
        return SearchView("", (), None)
    try:
        query = SearchQuery.model_validate({"q": words, "limit": _MOST})
    except ValidationError:
        return SearchView(words, (), None, "No name and no id looks like that.")
    found = await find(query, visit.desk.plane)
    return SearchView(words, tuple(map(_place, found.found)), found)


def _place(thing: FoundThing) -> FoundPlace:
    page, field = _PLACES[thing.kind]
    named = {field: thing.name if field == "name" else thing.id}
    return FoundPlace(thing, page, {**named, "kind": thing.kind} if page == "scope" else named)


def _reading(visit: Visit) -> Elsewhere:
    words = visit.first("q").strip()[:256] or "web"
    return Elsewhere((("search", words),), {"q": words}, no_az="az finds resources by their whole names.")


PAGES = (
    PortalPage(
        "search",
        "/search",
        "Search",
        view_search,
        "pages/search.html",
        parts={"part-found": "parts/found.html"},
        api=("GET /v1/search",),
        reading=_reading,
    ),
)
