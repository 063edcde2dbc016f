"""A route is found at once where its path is plain: the one that a search would have found."""

from __future__ import annotations

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from forewarn.web.operator.app import operator_routes
from forewarn.web.operator.routing import PlainPaths


def asked(method: str, path: str) -> Scope:
    return {"type": "http", "method": method, "path": path}


def searched(routes: tuple[APIRoute, ...], scope: Scope) -> APIRoute | None:
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
PATHS = sorted({route.path for route in operator_routes()} | {"/", "/v1", "/v1/vms/", "/v1/vms/web-0", "/v1/nothing"})


@pytest.mark.parametrize("method", METHODS)
def test_the_route_that_is_found_at_once_is_the_one_that_a_search_finds(method: str) -> None:
    plain, found = PlainPaths(operator_routes()), []
    for path in PATHS:
        match, told = plain.matches(asked(method, path))
        if match is Match.FULL:
            found.append(path)
            assert told["route"] is searched(operator_routes(), asked(method, path))
        else:
            assert (match, told) == (Match.NONE, {})
            wanted = searched(operator_routes(), asked(method, path))
            assert wanted is None or "{" in wanted.path
    assert ("/v1/vms/restart" in found) == (method == "POST")


def test_a_plain_path_behind_a_variable_one_stays_behind_it() -> None:
    router = APIRouter()

    @router.get("/things/{name}")
    def named(name: str) -> str:
        return name

    @router.get("/things/all")
    @router.post("/things/all")
    def all_of_them() -> str:
        return ""

    plain = PlainPaths([route for route in router.routes if isinstance(route, APIRoute)])

    assert plain.matches(asked("GET", "/things/all"))[0] is Match.NONE
    assert plain.matches(asked("POST", "/things/all"))[1]["endpoint"] is all_of_them
    assert plain.matches({"type": "websocket", "path": "/things/all"})[0] is Match.NONE
