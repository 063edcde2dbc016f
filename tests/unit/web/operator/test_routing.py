"""A route is found at once where its path is plain: the one that a search would have found."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

import httpx
import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from forewarn.web.operator import routes as modules
from forewarn.web.operator.app import OperatorApp, operator_routes
from forewarn.web.operator.routing import PlainPaths

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import OpenBench


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


@pytest.mark.parametrize("name", sorted(each.name for each in pkgutil.iter_modules(modules.__path__)))
def test_every_route_is_found_by_the_first_word_of_its_path(name: str) -> None:
    app = OperatorApp()
    app.by_noun.load_all()
    for route in import_module(f"{modules.__name__}.{name}").router.routes:
        path = "/".join("one" if part.startswith("{") else part for part in route.path.split("/"))
        match, told = app.by_noun.matches(asked(min(route.methods), path))
        assert (match, told["route"].path) == (Match.FULL, route.path)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/clock", 200),
        ("GET", "/v1/clock/", 307),
        ("GET", "/v1/clock/never", 404),
        ("DELETE", "/v1/clock", 405),
        ("GET", "/v1/never", 404),
        ("GET", "/never/v1/clock", 404),
    ],
)
async def test_the_first_request_for_a_noun_is_answered_as_the_second(
    open_bench: OpenBench, method: str, path: str, status: int
) -> None:
    async with open_bench(hosts=(f"{method}{path}".lower().replace("/", "-"),)) as bench:  # an app of its own
        first = await bench.client.request(method, path)
        second = await bench.client.request(method, path)

    assert [first.status_code, second.status_code] == [status, status]
    assert _told(first) == _told(second)


def _told(answer: httpx.Response) -> tuple[object, object]:
    """All but the id of the request."""
    body = answer.json() if answer.content else {}
    body.get("error", {}).pop("request_id", None)
    return body, answer.headers.get("allow")
