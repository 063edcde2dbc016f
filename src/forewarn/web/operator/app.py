"""Putting the operator face together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from forewarn import __version__
from forewarn.plane.plane import Plane
from forewarn.web.access import Tokens
from forewarn.web.faults import FaultRules
from forewarn.web.introduction import Introduction
from forewarn.web.operator.desk import Desk, ReadersNow, Visible, no_readers
from forewarn.web.operator.errors import answer_errors
from forewarn.web.operator.gate import Gate, PortalSessions
from forewarn.web.operator.live.changes import Changes
from forewarn.web.operator.live.relays import Newsroom
from forewarn.web.operator.plain_http import add_plain_http
from forewarn.web.operator.routing import ERRORS, RoutesByNoun, tell_of_token
from forewarn.web.operator.schema.answers import SettingView
from forewarn.web.operator.stream import Streams
from forewarn.web.slices.bulletins import USUAL_MANNERS, RelayManners
from forewarn.web.watched import WatchedVms
from forewarn.wire.document import NotBeforeFormat

_ROUTES = {  # module of routes → the first words below /v1 of their paths. OpenAPI tells of them in this order
    "fleet": ("vms",),
    "region": ("ping", "settings"),
    "nodes": ("nodes",),
    "whole_fleet": ("fleet", "search"),
    "resource_manager": ("resource-manager",),
    "bindings": ("vms",),
    "scale_sets": ("scale-sets",),
    "scopes": ("scopes",),
    "hosts": ("hosts",),
    "machines": ("machines",),
    "campaigns": ("campaigns",),
    "events": ("events",),
    "export": ("export",),
    "forecast": ("forecast",),
    "clock": ("clock",),
    "faults": ("faults",),
    "journal": ("journal",),
    "changes": ("changes",),
    "activity": ("activity",),
    "tokens": ("tokens",),
    "relays": ("relays",),
}
_DESCRIPTION = """The control side of a forewarn region: VMs and hosts, what happens to them, the clock and the journal.

Instants are ISO 8601 in UTC, durations are numbers of seconds. Names and ids are compared without regard to case. What
is answered with success is in the journal, on disk, with what the caller says of itself in `X-Forewarn-Client`.
Everything else is answered with an `error`, and nothing changed: 400 `invalid`, 401 `unauthorized`, 403 `forbidden`,
404 `not_found`, 409 `conflict`, 413 `invalid`, 503 `unavailable`, 500 `internal`. The one exception is 502 `uncertain`,
where the store went away while it was written to: look before you ask again. What becomes a command of the region takes
`?dry_run=true`: the answer, or the refusal, that it would have now, while nothing is changed or written.

Load balancers ask `GET /health/live` and `GET /health/ready`, without a token."""


class OperatorApp(FastAPI):
    """FastAPI, with routes that are loaded when somebody asks for their noun and that OpenAPI tells of all the same."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.by_noun = RoutesByNoun({noun for nouns in _ROUTES.values() for noun in nouns}, _routes_below)

    @property
    def routes(self) -> list[BaseRoute]:
        """What OpenAPI is made from."""
        return [*operator_routes(), *self.router.routes]


def operator_app(
    plane: Plane,
    faults: FaultRules,
    watched: WatchedVms,
    settings: Sequence[SettingView],
    *,
    hosts: Collection[str],
    tokens: Tokens,
    metadata_url: str,
    resource_manager: Introduction | None = None,
    not_before_format: NotBeforeFormat = "rfc1123",
    region_name: str = "",
    kept_in: str = "",
    visible: Visible | None = None,
    sessions: PortalSessions | None = None,
    manners: RelayManners = USUAL_MANNERS,
    readers: ReadersNow = no_readers,
) -> OperatorApp:
    """The ASGI app.

    ``hosts`` are names beside localhost that a Host header may carry; ``"*"`` allows any. ``not_before_format`` is how
    the metadata face of the same server writes its documents: those that this face shows must be the same bytes.
    ``visible`` is what that face lets the guests of a scope see, where it lags behind; ``sessions`` are the portal's.
    ``manners`` are those of the metadata face, which relays take over. ``readers`` are those of this server.
    """
    streams = Streams()
    app = OperatorApp(
        title="forewarn operator API",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,  # FastAPI's pages load scripts of others into an origin that may do everything here
        redoc_url=None,
        responses=ERRORS,
        lifespan=_ending(streams),
    )
    app.state.desk = Desk(
        plane,
        faults,
        watched,
        tuple(settings),
        metadata_url,
        streams,
        Changes(plane, faults),
        *(resource_manager, not_before_format, region_name, kept_in, visible, tokens),
        newsroom=Newsroom(plane, manners),
        readers=readers,
    )
    app.router.routes.append(app.by_noun)
    if tokens.wanted:
        tell_of_token(app)
    if resource_manager is not None:
        add_plain_http(app, resource_manager)
    answer_errors(app)
    app.add_middleware(Gate, hosts=frozenset(hosts), tokens=tokens, new_id=plane.system.new_id, sessions=sessions)
    return app


@cache
def operator_routes() -> tuple[APIRoute, ...]:
    """All that every app has below ``/v1``, loaded."""
    return tuple(route for module in _ROUTES for route in _routes_of(module))


def _routes_of(module: str) -> tuple[APIRoute, ...]:
    loaded = import_module(f"forewarn.web.operator.routes.{module}")
    return tuple(route for route in loaded.router.routes if isinstance(route, APIRoute))


def _routes_below(noun: str) -> tuple[APIRoute, ...]:
    """The routes of all modules, in the order in which they are looked for."""
    return tuple(route for module, nouns in _ROUTES.items() if noun in nouns for route in _routes_of(module))


def end_streams(app: FastAPI) -> None:
    """Let every stream send what is published and end. Call this before a server waits for its connections to close."""
    desk: Desk = app.state.desk
    desk.streams.close()


def relays_of(app: FastAPI) -> int:
    """How many relays follow this node."""
    desk: Desk = app.state.desk
    return len(desk.newsroom)


def _ending(streams: Streams) -> Any:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        streams.close()

    return lifespan
