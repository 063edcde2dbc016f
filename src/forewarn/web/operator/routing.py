"""The routes of the face: loaded with the first request for their noun, made once for a process, shared by its apps.

FastAPI's ``include_router`` makes each route again for each app and searches a router's routes twice for a request.
Here a request is compared only with the routes of its noun, and with none where its path is plain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from forewarn.core.refusal import Hint, Refused
from forewarn.web.operator.schema.answers import ErrorAnswer

ERRORS: dict[int | str, dict[str, Any]] = {
    "default": {
        "model": ErrorAnswer,
        "description": "Refused or failed; nothing has changed, except perhaps by `uncertain`.",
    }
}
_ONLY_LOOK = ("GET", "HEAD")
_NO_DRY_RUN = (
    "There is no dry run of this request, and nothing was done: only what becomes a command of the region has one. "
    "What time will bring is told by GET /v1/forecast."
)
_NAMING = ("tags", "summary", "description", "operationId")  # what an operation in OpenAPI begins with
_BEARER = HTTPBearer(auto_error=False, description="The token of this server.")


class OperatorRoute(APIRoute):
    """Refuses query parameters that a route which changes something does not know.

    A misspelled ``dry_run`` would otherwise be a request in earnest.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def checked(request: Request) -> Response:
            if request.scope["query_string"] and request.method not in _ONLY_LOOK:
                _check(set(request.query_params) - set(_known(self.dependant)))
            return await answer(request)

        return checked


def _check(unknown: set[str]) -> None:
    if "dry_run" in unknown:
        raise Refused(Hint.INVALID, _NO_DRY_RUN)
    if unknown:
        raise Refused(Hint.INVALID, f"There is no query parameter '{min(unknown)[:100]}' here.")


def _known(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias for parameter in dependant.query_params)
    for each in dependant.dependencies:
        yield from _known(each)


def routes_below(prefix: str, tag: str) -> APIRouter:
    """Where a module of routes puts its own."""
    return APIRouter(prefix=prefix, tags=[tag], responses=ERRORS, route_class=OperatorRoute)


class PlainPaths(BaseRoute):
    """Finds a route by method and path where its path has no variable: a look instead of a search.

    Stands before those routes, and answers nothing that the search would not have answered in the same way.
    """

    def __init__(self, routes: Sequence[APIRoute]) -> None:
        self._routes = {
            (method, route.path): route
            for number, route in enumerate(routes)
            for method in route.methods or ()
            if "{" not in route.path and not any(_takes(earlier, method, route.path) for earlier in routes[:number])
        }

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        route = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if route is None:
            return Match.NONE, {}
        return Match.FULL, {"endpoint": route.endpoint, "path_params": {}, "route": route}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["route"].handle(scope, receive, send)


class RoutesByNoun(BaseRoute):
    """Routes below ``/v1/NOUN``, which are loaded when the first request for that noun comes.

    FastAPI and pydantic need a millisecond or two to prepare a route and its bodies: for all of them a fifth of a
    server's start, and most servers are asked for few. They are prepared in a thread: others are answered meanwhile.
    """

    def __init__(self, nouns: Collection[str], load: Callable[[str], Sequence[APIRoute]]) -> None:
        self._nouns = nouns
        self._load = load
        self._loaded: dict[str, tuple[BaseRoute, ...]] = {}

    def load_all(self) -> None:
        """Now, instead of with the first requests."""
        for noun in self._nouns:
            self._take(noun)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match as if all routes were loaded. Where a noun is not, its request is taken, and matched again then."""
        noun = _noun_of(scope["path"]) if scope["type"] == "http" else ""
        if noun not in self._loaded:
            return (Match.FULL, {"route": self}) if noun in self._nouns else (Match.NONE, {})
        found: tuple[Match, Scope] = Match.NONE, {}
        for route in self._loaded[noun]:
            match, told = route.matches(scope)
            if match is Match.FULL:
                return match, told
            if match is Match.PARTIAL and found[0] is Match.NONE:
                found = match, told
        return found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["route"] is not self:
            await scope["route"].handle(scope, receive, send)
            return
        await asyncio.to_thread(
            self._take, _noun_of(scope["path"])
        )  # two who come first may both load; the second finds it done
        await scope["app"].router(scope, receive, send)

    def _take(self, noun: str) -> None:
        routes = self._load(noun)
        self._loaded[noun] = (PlainPaths(routes), *routes)


def _noun_of(path: str) -> str:
    return path[4:].partition("/")[0] if path.startswith("/v1/") else ""


def _takes(route: APIRoute, method: str, path: str) -> bool:
    return method in (route.methods or ()) and route.path_regex.match(path) is not None


def tell_of_token(app: FastAPI) -> None:
    """In the OpenAPI document. The gate checks the token before any route is looked for."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = FastAPI.openapi(app)
            for path in found["paths"].values():
                path.update({method: _secured(operation) for method, operation in path.items()})
            scheme = _BEARER.model.model_dump(mode="json", by_alias=True, exclude_none=True)
            found["components"]["securitySchemes"] = {_BEARER.scheme_name: scheme}
        return FastAPI.openapi(app)

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to change the document


def _secured(operation: dict[str, Any]) -> dict[str, Any]:
    """With the key where FastAPI puts it, before parameters or else last: the document is the same to the byte."""
    first = {key: operation[key] for key in _NAMING} if "parameters" in operation else operation
    return {**first, "security": [{_BEARER.scheme_name: []}], **operation}
