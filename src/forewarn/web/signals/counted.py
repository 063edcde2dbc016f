"""A face that is an ASGI app, with its answers counted and, where that is wanted, logged."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.web.answers import Answers
from forewarn.web.signals import request_log
from forewarn.web.signals.request_log import LoggedAnswer

_PORTAL = "/portal"
_IDS = (b"x-request-id", b"x-ms-request-id")


class CountedFace:
    """Stands before an app. Pages of the portal are counted by themselves: people look at them, programs do not."""

    def __init__(
        self, app: ASGIApp, face: str, answers: Answers, elapsed: Callable[[], float], *, logged: bool
    ) -> None:
        self._app = app
        self._face = face
        self._answers = answers
        self._elapsed = elapsed
        self._logged = logged

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        face = "portal" if self._face == "operator" and scope["path"].startswith(_PORTAL) else self._face
        began = self._elapsed()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._answers.note(face, scope["method"], message["status"])
                if self._logged:
                    request_log.tell(_answered(face, scope, message, self._elapsed() - began))
            await send(message)

        await self._app(scope, receive, counted)


def _answered(face: str, scope: Scope, start: Message, seconds: float) -> LoggedAnswer:
    """``seconds`` is the time to the first byte: a stream has no last one."""
    fields = dict(scope["headers"])
    request_id = next((value for name, value in start["headers"] if name in _IDS), b"")
    query = scope["query_string"].decode("latin-1")
    return LoggedAnswer(
        face=face,
        method=scope["method"],
        target=scope["path"] + (f"?{query}" if query else ""),
        status=start["status"],
        caller=(scope.get("client") or ("",))[0],
        seconds=seconds,
        request_id=request_id.decode("latin-1"),
        traceparent=fields.get(b"traceparent", b"").decode("latin-1"),
    )
