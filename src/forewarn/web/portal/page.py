"""What a page is: an address, a view of the region, a template; and who is looking at it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from starlette.exceptions import HTTPException

from forewarn.core.tokens.values import Role
from forewarn.plane.ports import Origin
from forewarn.web.operator.desk import Asker, Desk, DryRun, Listed, Look, list_of
from forewarn.web.operator.schema.answers import ClockAnswer
from forewarn.web.portal.preferences import Preferences
from forewarn.web.portal.session import TokenSessions

_PATIENCE_SECONDS = 0.5  # ours: longer than lists of ten thousand VMs take; then the page says how far they are
_PART_PATIENCE_SECONDS = 10.0  # ours: who waits for a part has the page before their eyes


@dataclass(frozen=True)
class Visit:
    """One look at one page: the region as it was at one moment, and what the address asked for."""

    desk: Desk
    look: Look
    clock: ClockAnswer  # at the same moment
    events_shown: int | None  # how many events documents show; None where there are very many, not counted yet
    path: Mapping[str, str]  # the fields of the page's path
    query: Mapping[str, tuple[str, ...]]
    here: str  # path and query, as the browser asked for them, but for what passes: see ``addresses.lasting``
    preferences: Preferences
    request_id: str
    sessions: TokenSessions
    scheme: str
    host: str  # with its port, as the browser reached this server
    caller: str = ""  # the address of the browser, as far as trusted proxies tell
    who: str = ""  # the name that was given at sign-in, or that the token has
    role: Role = Role.ADMIN  # what the visitor may do
    parts: frozenset[str] = frozenset()  # of the page that are asked for; none means the whole page
    form: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of a POST
    behind: list[int] = field(default_factory=list)  # the records up to which lists of the page know, if not up to all

    def shows(self, part: str) -> bool:
        """Whether this part of the page is asked for: a hint makes a browser ask for some, else it wants the whole."""
        return not self.parts or part in self.parts

    def first(self, name: str, default: str = "") -> str:
        """The first value of a query parameter, or ``default`` where it is missing. Unknown parameters are ignored."""
        return self.query.get(name, (default,))[0]

    async def listed(self) -> Listed:
        """Register and census, for a page that chooses from many. Where they are yet to be made, the page says so.

        While very much is written they may be some records behind. Then a page shows them as they are, and asks for its
        parts as soon as it hears of the first change: it was made from an older record.
        """
        models = self.desk.plane.read_models
        found = await list_of(self.desk.plane, _PART_PATIENCE_SECONDS if self.parts else _PATIENCE_SECONDS)
        if found is not None:
            return found
        if models.latest is None:
            done = f"{models.share:.0%} done"
            raise HTTPException(503, f"All names are put in order for the first time: {done}. Look again soon")
        if self.parts:
            raise HTTPException(503, "Very much is written: the lists are being brought up to date. Look again soon")
        self.behind.append(models.latest.seq)
        look = Look(models.latest.region, models.latest.seq, self.look.now)
        return Listed(look, models.latest.register, models.latest.census)

    def typed(self, name: str) -> str:
        """The first value of a field of the form that was sent."""
        return self.form.get(name, ("",))[0]

    @property
    def base(self) -> str:
        """The address of this server as this browser reaches it, for commands that a person copies from a page."""
        return f"{self.scheme}://{self.host}"

    def asker(self) -> Asker:
        """An ``Asker`` for this visitor: the journal records its commands with the portal's door and the name given at
        sign-in.
        """
        return Asker(self.desk.plane, self._origin())

    def rehearsal(self) -> Asker:
        """A ``DryRun`` for this visitor: the same commands, without effect."""
        return DryRun(self.desk.plane, self._origin())

    def _origin(self) -> Origin:
        return Origin(door="portal", who=self.who, request_id=self.request_id)


def reverse_of(visit: Visit) -> dict[str, str]:
    """For a list: the parameter of the API where the address asks for it from the last one to the first."""
    return {"reverse": "yes"} if visit.first("reverse") else {}


@dataclass(frozen=True)
class GoTo:
    """What a view returns instead of something to show: the browser goes there with a GET."""

    location: str
    cookies: tuple[str, ...] = ()  # as Set-Cookie says them


@dataclass(frozen=True)
class Elsewhere:
    """What a page shows, asked for at the other doors. Words are those of a command line."""

    forewarn: tuple[tuple[str, ...], ...]
    query: Mapping[str, str] = field(default_factory=dict)  # of the page's first request
    az: tuple[tuple[str, ...], ...] = ()
    no_az: str = "Azure shows this to nobody, so az has no command for it."


# A plain function is called in a thread: it may read the journal. A coroutine function is awaited on the loop.
View: TypeAlias = Callable[[Visit], Any] | Callable[[Visit], Awaitable[Any]]


@dataclass(frozen=True)
class PortalPage:
    """One row of the table of pages (``pages.PAGES``), of which routes, navigation and links are made.

    The template gets what ``view`` returns as ``view``, unless that is a whole answer, such as a file. A refused form
    may have another ``status`` there than 200. A part is a template that the page includes, and is the element with
    that id: it is answered alone to a request with ``X-Forewarn-Part: ID``. A request may name several parts, with
    spaces between: a page asks at once for all that a hint touches.
    """

    name: str  # links are made of it: url("vm", name="web-0")
    path: str  # below /portal, with {fields}
    title: str
    view: View
    template: str
    parts: Mapping[str, str] = field(default_factory=dict)  # element id -> template
    post: View | None = None  # what a form that is sent here does; it returns a GoTo, or the view to show again
    api: tuple[str, ...] = ()  # the requests of the operator API that tell the same
    reading: Callable[[Visit], Elsewhere] | None = None  # the same in other programs' words, for "How to do this"
    bare: bool = False  # shown to whoever has not signed in: it tells nothing about the region
    menu: str = ""  # its words in the navigation; empty: it is not there
    under: str = ""  # the page whose entry in the navigation is marked as current; its own if empty
