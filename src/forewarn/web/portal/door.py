"""The way into the portal, which a server has from its start. Pages, templates and jinja2 come with the first page.

Loading these is a tenth of a second of work, and most servers are never looked at.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from fastapi import FastAPI
from pydantic import Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from forewarn.core.refusal import Hint, Refused
from forewarn.plane.system import ServerSystem
from forewarn.web.access import Grant, Tokens
from forewarn.web.operator.desk import Desk
from forewarn.web.operator.schema.answers import Answer
from forewarn.web.operator.schema.requests import Body
from forewarn.web.portal.addresses import ROOT
from forewarn.web.portal.session import CODE_SECONDS, LONGEST_NAME, TokenSessions

if TYPE_CHECKING:
    from forewarn.web.portal.app import Portal
    from forewarn.web.portal.static_files import StaticFiles


async def _lead_in(request: Request) -> Response:
    return RedirectResponse(f"{ROOT}/", 303)


class CodeBody(Body):
    name: str = Field("", max_length=LONGEST_NAME, description="What activity shows; may be empty.", examples=["anna"])


class CodeAnswer(Answer):
    """What stands behind the # of a link to the sign-in page."""

    code: str = Field(description="To be posted to /portal/sign-in; it opens once.", examples=["eyJ.0f"])
    seconds: int = Field(description="How long it holds.", examples=[60])
    wanted: bool = Field(description="False where this server wants no token, so that none is needed.", examples=[True])


class PortalDoor:
    """The ASGI app below ``/portal``, which opens the portal when somebody comes."""

    def __init__(self, tokens: Tokens, system: ServerSystem) -> None:
        self.sessions = TokenSessions(tokens, system)
        self._portal: Portal | None = None

    def add_to(self, app: FastAPI) -> None:
        """Pages at ``/portal/``, and ``/`` that leads there."""
        self._operator = app
        desk: Desk = app.state.desk
        desk.changes.portal = lambda: self._files.digest
        for path in ("/", ROOT):
            app.router.routes.append(Route(path, _lead_in))
        app.router.routes.append(Mount(ROOT, self))
        app.add_api_route(
            "/v1/portal/code",
            self._new_code,
            methods=["POST"],
            status_code=201,
            tags=["service"],
            summary="Make a link that signs in",
        )

    async def _new_code(self, body: CodeBody, request: Request) -> CodeAnswer:
        """A code that opens the portal once within a minute, for `forewarn portal --open`: a link without the token.

        Only the token makes one. A session that could would never have to end.
        """
        if hasattr(request.state, "visitor"):
            raise Refused(Hint.CONFLICT, "A browser's session cannot make a link that signs in; ask with the token.")
        granted: Grant = request.state.grant
        code = self.sessions.new_code(granted if granted.name else replace(granted, name=body.name))
        return CodeAnswer(code=code, seconds=CODE_SECONDS, wanted=self.sessions.wanted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._portal is None:  # two who come first may both make one; the second is as good
            self._portal = await asyncio.to_thread(self._opened)
        await self._portal(scope, receive, send)

    def _opened(self) -> Portal:
        from forewarn.web.portal.app import Portal

        return Portal(self.sessions, self._files, self._operator)

    @cached_property
    def _files(self) -> StaticFiles:
        from forewarn.web.portal.static_files import StaticFiles

        return StaticFiles()
