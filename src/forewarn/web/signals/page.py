"""The page ``/metrics``: on the control port for those who may read there, on the health port for everybody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from forewarn.web.answers import Answers
from forewarn.web.health import NodeHealth, nothing_else
from forewarn.web.signals.gauges import Gauges
from forewarn.web.signals.survey import Survey, Surveyor

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from forewarn.plane.plane import Plane

METRICS = "/metrics"
_STARTING = "This node is starting; there are no figures yet.\n"


class MetricsPage:
    """Made with a server, and full once its plane is there."""

    def __init__(self, health: NodeHealth, answers: Answers, gauges: Gauges, unread_after: timedelta) -> None:
        self._health = health
        self._answers = answers
        self._gauges = gauges
        self._unread_after = unread_after
        self._plane: Plane | None = None
        self._store = ""
        self._surveyor: Surveyor | None = None

    def started(self, plane: Plane, store: str) -> None:
        """Figures can be given from now on. ``store`` is the kind of the journal."""
        self._plane, self._store = plane, store
        self._surveyor = Surveyor(plane, self._unread_after)

    def add_to(self, app: FastAPI) -> None:
        """As a route of the control face, behind its gate."""
        app.router.routes.append(Route(METRICS, self.show))

    async def show(self, _request: Request) -> Response:
        """The page, as a route of an app."""
        return await self.answer()

    async def answer(self) -> Response:
        """The page, in OpenMetrics' text."""
        found = await self.look()
        if found is None:
            return PlainTextResponse(_STARTING, 503, {"Cache-Control": "no-store"})
        text, content_type = await asyncio.to_thread(_written, found)
        return Response(text, 200, {"Cache-Control": "no-store", "Content-Type": content_type})

    async def look(self) -> list[Metric] | None:
        """The figures as they are now, made in a thread; None while this node starts."""
        if self._plane is None or self._surveyor is None:
            return None
        survey = await self._surveyor.look()
        values = self._plane, self._answers, self._gauges.connections(), self._gauges.waiting()
        found = partial(_found, survey, *values, self._health.reasons(), self._store, *self._gauges.told())
        return await asyncio.to_thread(found)


def _found(survey: Survey, *values: Any) -> list[Metric]:
    """Ours and those of the process. The library is loaded here, with the first look."""
    from prometheus_client.process_collector import ProcessCollector

    from forewarn.web.signals.figures import FiguresOf, families

    return [*families(FiguresOf(*values), survey), *ProcessCollector(registry=None).collect()]


def _written(found: list[Metric]) -> tuple[bytes, str]:
    """The text and its type."""
    from prometheus_client.openmetrics import exposition

    write: Callable[[_Collected], bytes] = exposition.generate_latest
    return write(_Collected(found)), exposition.CONTENT_TYPE_LATEST


class _Collected:
    """What the writer of the page asks for: something to collect from."""

    def __init__(self, found: list[Metric]) -> None:
        self._found = found

    def collect(self) -> Iterator[Metric]:
        return iter(self._found)


class MetricsAlone:
    """Behind ``HealthPaths`` on a listener of its own: the page, and 404 for every other path."""

    def __init__(self, page: MetricsPage) -> None:
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == METRICS and scope["method"] in ("GET", "HEAD"):
            await (await self._page.answer())(scope, receive, send)
        else:
            await nothing_else(scope, receive, send)
