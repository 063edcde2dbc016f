"""Putting the operator face together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from forewarn import __version__
from forewarn.plane.plane import Plane
from forewarn.web.faults import FaultRules
from forewarn.web.introduction import Introduction
from forewarn.web.operator.desk import Desk, Visible
from forewarn.web.operator.errors import answer_errors
from forewarn.web.operator.gate import Gate, PortalSessions
from forewarn.web.operator.live.changes import Changes
from forewarn.web.operator.routes import activity as routes_activity
from forewarn.web.operator.routes import bindings as routes_bindings
from forewarn.web.operator.routes import campaigns as routes_campaigns
from forewarn.web.operator.routes import changes as routes_changes
from forewarn.web.operator.routes import clock as routes_clock
from forewarn.web.operator.routes import events as routes_events
from forewarn.web.operator.routes import export as routes_export
from forewarn.web.operator.routes import faults as routes_faults
from forewarn.web.operator.routes import fleet as routes_fleet
from forewarn.web.operator.routes import forecast as routes_forecast
from forewarn.web.operator.routes import hosts as routes_hosts
from forewarn.web.operator.routes import journal as routes_journal
from forewarn.web.operator.routes import nodes as routes_nodes
from forewarn.web.operator.routes import region as routes_region
from forewarn.web.operator.routes import resource_manager as routes_resource_manager
from forewarn.web.operator.routes import scale_sets as routes_scale_sets
from forewarn.web.operator.routes import scopes as routes_scopes
from forewarn.web.operator.routes import whole_fleet as routes_whole_fleet
from forewarn.web.operator.routing import ERRORS, PlainPaths, tell_of_token
from forewarn.web.operator.schema.answers import SettingView
from forewarn.web.operator.stream import Streams
from forewarn.web.watched import WatchedVms
from forewarn.wire.document import NotBeforeFormat

_ROUTES = (  # looked through in this order for each request: what is asked most stands first
    routes_fleet,
    routes_region,
    routes_nodes,
    routes_whole_fleet,
    routes_resource_manager,
    routes_bindings,
    routes_scale_sets,
    routes_scopes,
    routes_hosts,
    routes_campaigns,
    routes_events,
    routes_export,
    routes_forecast,
    routes_clock,
    routes_faults,
    routes_journal,
    routes_changes,
    routes_activity,
)
_DESCRIPTION = """The control side of a forewarn region: VMs and hosts, what happens to them, the clock and the journal.

Instants are ISO 8601 in UTC, durations are numbers of seconds. Names and ids are compared without regard to case. What
is answered with success is in the journal, on disk, with what the caller says of itself in `X-Forewarn-Client`.
Everything else is answered with an `error`, and nothing changed: 400 `invalid`, 401 `unauthorized`, 404 `not_found`,
409 `conflict`, 413 `invalid`, 503 `unavailable`, 500 `internal`. The one exception is 502 `uncertain`, where the store
went away while it was written to: look before you ask again. What becomes a command of the region takes
`?dry_run=true`: the answer, or the refusal, that it would have now, while nothing is changed or written.

Load balancers ask `GET /health/live` and `GET /health/ready`, without a token."""


def operator_app(
    plane: Plane,
    faults: FaultRules,
    watched: WatchedVms,
    settings: Sequence[SettingView],
    *,
    hosts: Collection[str],
    token: str | None,
    metadata_url: str,
    resource_manager: Introduction | None = None,
    not_before_format: NotBeforeFormat = "rfc1123",
    region_name: str = "",
    kept_in: str = "",
    visible: Visible | None = None,
    sessions: PortalSessions | None = None,
) -> FastAPI:
    """The ASGI app.

    ``hosts`` are names beside localhost that a Host header may carry; ``"*"`` allows any. ``not_before_format`` is how
    the metadata face of the same server writes its documents: those that this face shows must be the same bytes.
    ``visible`` is what that face lets the guests of a scope see, where it lags behind.
    ``sessions`` are those of the portal, where there is one.
    """
    streams = Streams()
    app = FastAPI(
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
        resource_manager,
        not_before_format,
        region_name,
        kept_in,
        visible,
    )
    app.router.routes += (PlainPaths(operator_routes()), *operator_routes())
    if token:
        tell_of_token(app)
    if resource_manager is not None:
        routes_resource_manager.add_metadata_routes(app, resource_manager)
    answer_errors(app)
    app.add_middleware(Gate, hosts=frozenset(hosts), token=token, new_id=plane.system.new_id, sessions=sessions)
    return app


@cache
def operator_routes() -> tuple[APIRoute, ...]:
    """All that every app has, in the order in which they are looked for."""
    return tuple(route for module in _ROUTES for route in module.router.routes if isinstance(route, APIRoute))


def end_streams(app: FastAPI) -> None:
    """Let every stream send what is published and end. Call this before a server waits for its connections to close."""
    desk: Desk = app.state.desk
    desk.streams.close()


def _ending(streams: Streams) -> Any:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        streams.close()

    return lifespan
