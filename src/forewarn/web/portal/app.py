"""The portal put together: a route for each page, for static files, and for what is not there."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fastapi import FastAPI
from jinja2 import Environment
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from forewarn.core.tokens.values import Role
from forewarn.plane.plane import Plane
from forewarn.web.access import EVERYTHING
from forewarn.web.current import be_current
from forewarn.web.operator.desk import Desk, look_at
from forewarn.web.operator.errors import refusal_of
from forewarn.web.operator.live.changes import clock_fields
from forewarn.web.portal.addresses import Addresses, lasting
from forewarn.web.portal.doors.reading import doors_of
from forewarn.web.portal.forms import Given, NotRight, gathered, read_form
from forewarn.web.portal.frame import frame_of
from forewarn.web.portal.news import news_of
from forewarn.web.portal.page import GoTo, PortalPage, View, Visit
from forewarn.web.portal.pages import PAGES
from forewarn.web.portal.preferences import preferences_of
from forewarn.web.portal.rendering import PART, answer, environment, rendered, without_deeds
from forewarn.web.portal.session import TokenSessions
from forewarn.web.portal.static_files import StaticFiles

Endpoint: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]

_FRAME_PARTS = {f"part-{name}": f"parts/{name}.html" for name in ("nav", "speed", "banner")}  # of every page
_FEW_EVENTS = 1_000  # ours: to count so many takes a fraction of a millisecond
_PATIENCE_SECONDS = 0.05  # ours: no page waits longer for the number of events beside its menu
_PROBLEM = PortalPage("problem", "", "Problem", lambda visit: None, "pages/problem.html")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Problem:
    status: int
    message: str
    request_id: str


class Portal:
    """The ASGI app below ``/portal``. Every failure in it is answered as a page."""

    def __init__(
        self, sessions: TokenSessions, files: StaticFiles, operator: FastAPI, pages: tuple[PortalPage, ...] = PAGES
    ) -> None:
        self._sessions, self._operator, self._pages = sessions, operator, pages
        addresses = Addresses({page.name: page.path for page in pages})
        self._env: Environment = environment(addresses, files)
        routes = [Route(page.path, self._endpoint(page), methods=_methods(page)) for page in pages]
        static = Route("/static/{digest}/{name}", files.answer)
        self._router = Router([*routes, static], redirect_slashes=False, default=_nothing_here)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            await self._router(scope, receive, send)
        except HTTPException as problem:  # no such address, or not with this method
            await self._apologize(request, problem)(scope, receive, send)

    def _endpoint(self, page: PortalPage) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            try:
                return await self._show(page, request)
            except Exception as problem:  # else the operator's app would answer it, in JSON
                return self._apologize(request, problem)

        return endpoint

    async def _show(self, page: PortalPage, request: Request) -> Response:
        await be_current(self._desk().plane)
        posted = request.method == "POST"
        form = await read_form(request) if posted else {}
        visit = self._visit(request, form, await _counted(self._desk().plane))
        view = await _seen(page.post if posted and page.post else page.view, visit)
        if isinstance(view, GoTo):
            return _redirect(view)
        if isinstance(view, Response):
            return view
        templates = {**_FRAME_PARTS, **page.parts}
        parts = [templates[name] for name in request.headers.get(PART, "").split() if name in templates]
        html = await asyncio.to_thread(self._html, page, visit, view, parts)
        return answer(request, html, getattr(view, "status", 200) if posted else 200)

    def _html(self, page: PortalPage, visit: Visit, view: object, parts: Sequence[str] = ()) -> str:
        """Those parts one after the other, or the whole page."""
        context = self._context(page, visit, view)
        html = "".join(rendered(self._env, template, context) for template in parts or (page.template,))
        return html if visit.role.may(Role.OPERATE) else without_deeds(html)

    def _context(self, page: PortalPage, visit: Visit, view: object) -> Mapping[str, Any]:
        return {
            "page": page,
            "view": view,
            "doors": doors_of(page, visit),
            "frame": frame_of(page, self._pages, visit),
            "news": None if page.bare else news_of(visit),
            "now": visit.look.now,
            "here": visit.here,  # with what just happened left out, so that going back does not tell it again
            "preferences": visit.preferences,
            "who": visit.who,
            "signed_in": visit.sessions.wanted,
            "role": visit.role,
        }

    def _apologize(self, request: Request, problem: Exception) -> Response:
        """The page for a refusal, a store that is away, an unknown address, or a fault of our own."""
        desk = self._desk()
        request_id: str = request.state.request_id
        if isinstance(problem, HTTPException):
            status, message = problem.status_code, f"{problem.detail}."
        elif isinstance(problem, NotRight):  # in the address; what is in a form is told at its field
            status, message = 400, problem.message
        elif (found := refusal_of(problem, desk)) is not None:
            status, _, message = found
        else:
            _log.error("request %s failed: %s %s", request_id, request.method, request.url.path, exc_info=problem)
            status, message = 500, "Something is wrong inside forewarn. Its log tells more under this request id."
        html = self._html(_PROBLEM, self._visit(request), _Problem(status, message, request_id))
        return answer(request, html, status)

    def _visit(self, request: Request, form: Given | None = None, events: int | None = None) -> Visit:
        desk, asked = self._desk(), request.url.query
        look = look_at(desk.plane)
        few = len(look.region.events) <= _FEW_EVENTS
        return Visit(
            desk=desk,
            look=look,
            clock=clock_fields(desk.plane).model_copy(update={"now": look.now}),
            events_shown=sum(event.announced for event in look.region.events.values()) if few else events,
            path=request.path_params,
            query=gathered(request.query_params.multi_items()),
            here=lasting(f"{request.url.path}{'?' if asked else ''}{asked}"),
            preferences=preferences_of(request.cookies),
            request_id=request.state.request_id,
            sessions=self._sessions,
            scheme=request.url.scheme,
            host=request.headers["host"],
            caller=request.client.host if request.client else "",
            who=getattr(request.state, "visitor", ""),
            role=getattr(request.state, "grant", EVERYTHING).role,
            parts=frozenset(request.headers.get(PART, "").split()),
            form=form or {},
        )

    def _desk(self) -> Desk:
        desk: Desk = self._operator.state.desk
        return desk


async def _counted(plane: Plane) -> int | None:
    """How many events documents show, where there are so many that only the register knows; None if it is not ready."""
    if len(plane.region.events) <= _FEW_EVENTS:
        return None
    models = await plane.read_models.at_hand(_PATIENCE_SECONDS)
    return None if models is None else len(models.register.events)


def _methods(page: PortalPage) -> list[str]:
    return ["GET", "POST"] if page.post else ["GET"]


async def _seen(view: View, visit: Visit) -> Any:
    if inspect.iscoroutinefunction(view):
        return await view(visit)
    return await asyncio.to_thread(view, visit)


def _redirect(to: GoTo) -> Response:
    found = RedirectResponse(to.location, 303)
    for cookie in to.cookies:
        found.headers.append("Set-Cookie", cookie)
    return found


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    raise HTTPException(404, "There is no such page; the navigation leads to those there are")
