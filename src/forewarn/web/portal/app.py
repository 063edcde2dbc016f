"""Putting the portal onto the operator's app: a route for each page, for static files, and for what is not there."""

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
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from forewarn.web.current import be_current
from forewarn.web.operator.desk import Desk, look_at
from forewarn.web.operator.errors import refusal_of
from forewarn.web.operator.live.changes import clock_fields
from forewarn.web.portal.addresses import ROOT, Addresses
from forewarn.web.portal.frame import frame_of
from forewarn.web.portal.page import PortalPage, Visit
from forewarn.web.portal.pages import PAGES
from forewarn.web.portal.preferences import preferences_of
from forewarn.web.portal.rendering import PART, answer, environment, rendered
from forewarn.web.portal.static_files import StaticFiles

Endpoint: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]

_FRAME_PARTS = {f"part-{name}": f"parts/{name}.html" for name in ("nav", "speed", "banner")}  # of every page
_PROBLEM = PortalPage("problem", "", "Problem", lambda visit: None, "pages/problem.html")

_log = logging.getLogger(__name__)


def add_portal(app: FastAPI) -> None:
    """Pages at ``/portal/``, and ``/`` that leads there. Reads templates and static files, so it blocks."""
    portal = Portal(app)
    for path in ("/", ROOT):
        app.router.routes.append(Route(path, _lead_in))
    app.router.routes.append(Mount(ROOT, portal))


async def _lead_in(request: Request) -> Response:
    return RedirectResponse(f"{ROOT}/", 303)


@dataclass(frozen=True)
class _Problem:
    status: int
    message: str
    request_id: str


class Portal:
    """The ASGI app below ``/portal``. Whatever fails in it is answered as a page."""

    def __init__(self, operator: FastAPI, pages: tuple[PortalPage, ...] = PAGES) -> None:
        self._operator = operator
        self._pages = pages
        self._files = StaticFiles()
        self._desk().changes.portal = self._files.digest
        addresses = Addresses({page.name: page.path for page in pages})
        self._env: Environment = environment(addresses, self._files)
        routes = [Route(page.path, self._endpoint(page)) for page in pages]
        static = Route("/static/{digest}/{name}", self._files.answer)
        self._router = Router([*routes, static], redirect_slashes=False, default=_nothing_here)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            await self._router(scope, receive, send)
        except Exception as problem:
            await self._apologize(request, problem)(scope, receive, send)

    def _endpoint(self, page: PortalPage) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await self._show(page, request)

        return endpoint

    async def _show(self, page: PortalPage, request: Request) -> Response:
        desk = self._desk()
        await be_current(desk.plane)
        visit = _visit(request, desk)
        templates = {**_FRAME_PARTS, **page.parts}
        parts = [templates[name] for name in request.headers.get(PART, "").split() if name in templates]
        if inspect.iscoroutinefunction(page.view):
            view = await page.view(visit)
            html = await asyncio.to_thread(self._html, page, visit, view, parts)
        else:
            html = await asyncio.to_thread(lambda: self._html(page, visit, page.view(visit), parts))
        return answer(request, html)

    def _html(self, page: PortalPage, visit: Visit, view: object, parts: Sequence[str] = ()) -> str:
        """Those parts one after the other, or the whole page."""
        context = self._context(page, visit, view)
        return "".join(rendered(self._env, template, context) for template in parts or (page.template,))

    def _context(self, page: PortalPage, visit: Visit, view: object) -> Mapping[str, Any]:
        return {
            "page": page,
            "view": view,
            "frame": frame_of(page, self._pages, visit),
            "now": visit.look.now,
            "here": visit.here,
            "preferences": visit.preferences,
            "who": visit.who,
        }

    def _apologize(self, request: Request, problem: Exception) -> ASGIApp:
        """A refusal, a store that is away, an address that leads nowhere, or a fault of our own, as a page."""
        desk = self._desk()
        request_id: str = request.state.request_id
        if isinstance(problem, HTTPException):
            status, message = problem.status_code, f"{problem.detail}."
        elif (found := refusal_of(problem, desk)) is not None:
            status, _, message = found
        else:
            _log.error("request %s failed: %s %s", request_id, request.method, request.url.path, exc_info=problem)
            status, message = 500, "Something is wrong inside forewarn. Its log tells more under this request id."
        html = self._html(_PROBLEM, _visit(request, desk), _Problem(status, message, request_id))
        return answer(request, html, status)

    def _desk(self) -> Desk:
        desk: Desk = self._operator.state.desk
        return desk


def _visit(request: Request, desk: Desk) -> Visit:
    query: dict[str, tuple[str, ...]] = {}
    for name, value in request.query_params.multi_items():
        query[name] = (*query.get(name, ()), value)
    asked = request.url.query
    look = look_at(desk.plane)
    return Visit(
        desk=desk,
        look=look,
        clock=clock_fields(desk.plane).model_copy(update={"now": look.now}),
        path=request.path_params,
        query=query,
        here=f"{request.url.path}{'?' if asked else ''}{asked}",
        preferences=preferences_of(request.cookies),
        request_id=request.state.request_id,
    )


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    raise HTTPException(404, "There is no such page; the navigation leads to those there are")
