"""What a page is: an address, a view of the region, a template; and who is looking at it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from starlette.exceptions import HTTPException

from forewarn.web.operator.desk import Desk, Listed, Look, list_of
from forewarn.web.operator.schema.answers import ClockAnswer
from forewarn.web.portal.preferences import Preferences

_PATIENCE_SECONDS = 0.5


@dataclass(frozen=True)
class Visit:
    """One look at one page: the region as it was at one moment, and what the address asked for."""

    desk: Desk
    look: Look
    clock: ClockAnswer  # at the same moment
    path: Mapping[str, str]  # the fields of the page's path
    query: Mapping[str, tuple[str, ...]]
    here: str  # path and query, as the browser asked for them
    preferences: Preferences
    request_id: str
    who: str = ""  # the name that was given at sign-in

    def first(self, name: str, default: str = "") -> str:
        """The first value of a query parameter. Unknown parameters are nobody's business, missing ones are usual."""
        return self.query.get(name, (default,))[0]

    async def listed(self) -> Listed:
        """Register and census, for a page that chooses from many. Where they are yet to be made, the page says so."""
        plane = self.desk.plane
        found = await list_of(plane, _PATIENCE_SECONDS)
        if found is None:
            share = f"{plane.read_models.share:.0%}"
            raise HTTPException(503, f"All names are put in order for the first time: {share} done. Look again soon")
        return found


# A plain function is called in a thread: it may read the journal. A coroutine function is awaited on the loop.
View: TypeAlias = Callable[[Visit], Any] | Callable[[Visit], Awaitable[Any]]


@dataclass(frozen=True)
class PortalPage:
    """One row of the table of pages (``pages.PAGES``), of which routes, navigation and links are made.

    The template gets what ``view`` returns as ``view``. A part is a template that the page includes; it is answered
    alone to a request with ``X-Forewarn-Part: ID``, so it must contain the element with that id. A request may name
    several parts, with spaces between: a page asks for all that a hint touches at once.
    """

    name: str  # links are made of it: url("vm", name="web-0")
    path: str  # below /portal, with {fields}
    title: str
    view: View
    template: str
    parts: Mapping[str, str] = field(default_factory=dict)  # element id -> template
    api: tuple[str, ...] = ()  # the requests of the operator API that tell the same
    menu: str = ""  # its words in the navigation; empty: it is not there
    under: str = ""  # the page whose entry in the navigation is marked as current; its own if empty
