"""Is this node alive, and should it be sent requests: for load balancers and supervisors, which have no token.

The two paths are answered before any check of names and tokens, so what they tell is for everybody.
"""

from __future__ import annotations

from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.plane.plane import Plane

LIVE = "/health/live"
READY = "/health/ready"
_STARTING = "This node is starting."
_DRAINING = "This node is shutting down and takes no new clients."


class NodeHealth:
    """What one node says of itself."""

    def __init__(self) -> None:
        self._plane: Plane | None = None

    @property
    def draining(self) -> bool:
        """Whether this node is about to end and serves on until then."""
        return self._plane is not None and self._plane.standing.draining

    def started(self, plane: Plane) -> None:
        """Every face answers."""
        self._plane = plane

    def reasons(self) -> list[str]:
        """Why requests should go elsewhere; nothing where they may come."""
        if self._plane is None:
            return [_STARTING]
        standing, ailment = self._plane.standing, self._plane.journal.ailment()
        reasons = (standing.stale, standing.odds, ailment, _DRAINING if self.draining else "")
        return [reason for reason in reasons if reason]

    def answer(self, path: str) -> JSONResponse:
        """An answer at all is what ``live`` wants to know."""
        if path == LIVE:
            return _uncached({"status": "live"}, 200)
        reasons = self.reasons()
        found: dict[str, Any] = {
            "status": "not ready" if reasons else "ready",
            "seq": self._plane.seq if self._plane else 0,
            "leads": self._plane.standing.leads if self._plane else False,
            "reasons": reasons,
        }
        return _uncached(found, 503 if reasons else 200)


def _uncached(content: dict[str, Any], status: int) -> JSONResponse:
    return JSONResponse(content, status, headers={"Cache-Control": "no-store"})


class HealthPaths:
    """Answers the two paths and lets everything else through. While a node drains, its clients are asked to go."""

    def __init__(self, app: ASGIApp, health: NodeHealth) -> None:
        self._app = app
        self._health = health

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] in (LIVE, READY) and scope["method"] in ("GET", "HEAD"):
            await self._health.answer(scope["path"])(scope, receive, send)
        else:
            await self._app(scope, receive, self._parting(send))

    def _parting(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and self._health.draining:
                MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        return sent


async def nothing_else(scope: Scope, receive: Receive, send: Send) -> None:
    """Behind ``HealthPaths`` on a listener that serves health alone: 404 for every other path."""
    if scope["type"] == "http":
        message = f"There is only {LIVE}, {READY} and, where metrics are on, /metrics here."
        error = {"kind": "not_found", "message": message}
        await JSONResponse({"error": error}, 404)(scope, receive, send)
