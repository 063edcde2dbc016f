"""Authentication, protection of browsers and limits for every request of the control port, before a route sees it.

A control port on loopback can be reached by every web page that the operator's browser opens. Against DNS rebinding the
Host header must be one of ours; a page of another origin is refused; where a token is set, it must be sent. A browser
that has signed in sends the portal's cookie instead. Browsers attach cookies whatever page asks for a request, so
against CSRF a request that changes something must also come from a page of this origin. Every answer leaves with a
request id and the headers below.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.core.tokens.values import Role
from forewarn.web.access import EVERYTHING, Grant, Tokens
from forewarn.web.body_size import too_many_parts
from forewarn.web.host_names import HostNames
from forewarn.web.operator.errors import error_answer
from forewarn.web.operator.schema.answers import ErrorKind

MOST_BODY_BYTES = 4 * 1024 * 1024  # as gRPC takes by default (nginx: 1 MiB)
MOST_PARTS, MOST_FIELDS = 25_000, 2_500  # ours: two lists of 10 000 names; the most fields are 2 000 reads of a relay
_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types forewarn",
)
# On every answer, also one that a browser was never meant to show: what is not a page then becomes none.
_PROTECTION = (
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "; ".join(_POLICY)),
    ("X-Content-Type-Options", "nosniff"),
    # Nothing goes to others. With "no-referrer" browsers would send our own forms with "Origin: null".
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
_PROTECTING = tuple((name.lower().encode(), value.encode()) for name, value in _PROTECTION)
_REQUEST_ID = b"x-request-id"
_ONLY_LOOK = ("GET", "HEAD")
_PORTAL, _SIGN_IN, _STATIC = "/portal", "/portal/sign-in", "/portal/static/"
_DEEDS, _TOKENS, _TOKENS_PAGE, _RELAYS = "/portal/do", "/v1/tokens", "/portal/tokens", "/v1/relays"
_OWN_AFFAIRS = ("/portal/preferences", _SIGN_IN, "/portal/sign-out", "/v1/portal/code")  # of whoever is there
_OWN_CHECKS = "/metadata/"  # what clients of the Resource Manager fetch before they have a token of any kind

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _No(Exception):  # noqa: N818 - an answer, not an error
    status: int
    kind: ErrorKind
    message: str


@dataclass(frozen=True)
class _SignIn(Exception):  # noqa: N818 - a way to go, not an error
    back: str


class PortalSessions(Protocol):
    """Who has signed in, as the portal knows it."""

    def visitor(self, headers: Headers, scheme: str) -> Grant | None:
        """Who has come with a cookie that holds, or None without one."""


class Gate:
    """Checks, limits, request ids, and the last net under internal faults."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: frozenset[str],
        tokens: Tokens,
        new_id: Callable[[], str],
        sessions: PortalSessions | None = None,
    ) -> None:
        self._app = app
        self._sessions = sessions  # where there is a portal
        self._new_id = new_id  # of a request
        self._hosts = HostNames(hosts, "operator API")
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = self._new_id()
        scope.setdefault("state", {})["request_id"] = request_id
        signed = _Signed(send, request_id)
        try:
            headers = Headers(scope=scope)
            self._check(headers, scope)
            await self._app(scope, await _limited(headers, receive), signed)
        except _SignIn as way:
            location = f"{_SIGN_IN}?back={quote(way.back, safe='')}"
            await RedirectResponse(location, 303)(scope, receive, signed)
        except _No as no:
            fields = {"WWW-Authenticate": "Bearer"} if no.status == 401 else {}
            answer = error_answer(no.status, no.kind, no.message, request_id, fields)
            await answer(scope, receive, signed)
        except Exception:
            _log.exception("request %s failed: %s %s", request_id, scope["method"], scope["path"])
            if signed.started:
                raise
            message = "Something is wrong inside forewarn. Its log tells more under this request id."
            await error_answer(500, "internal", message, request_id)(scope, receive, signed)

    def _check(self, headers: Headers, scope: Scope) -> None:
        method, path, host = scope["method"], scope["path"], headers.get("host", "")
        if not self._hosts.has(host):
            raise _No(400, "invalid", self._hosts.refusal())
        origin = headers.get("origin")
        if origin is not None and method not in _ONLY_LOOK and _place(origin) != host.lower():
            raise _No(400, "invalid", "A page of another origin may not change anything here.")
        if path.startswith(_OWN_CHECKS):
            return
        in_portal = self._sessions is not None and _is_within(path, _PORTAL)
        if in_portal and method not in _ONLY_LOOK:
            _check_page(headers, scope)
        granted = self._granted(headers, scope) if self._tokens.wanted else EVERYTHING
        if granted is None:
            if self._sessions is not None and (path in ("/", _SIGN_IN) or path.startswith(_STATIC)):
                return  # they tell nothing about the region
            if in_portal and method in _ONLY_LOOK and "x-forewarn-part" not in headers:
                raise _SignIn(path + ("?" + scope["query_string"].decode("latin-1") if scope["query_string"] else ""))
            raise _No(401, "unauthorized", "Send the token of this server as 'Authorization: Bearer TOKEN'.")
        scope["state"]["grant"] = granted
        if method == "POST" and _is_within(path, _TOKENS) and "visitor" in scope["state"]:
            raise _No(403, "forbidden", "A session makes no token, which would outlive it: send a token as Bearer.")
        wanted = _role_for(method, path)
        if not granted.role.may(wanted):
            raise _No(
                403,
                "forbidden",
                f"A token to {granted.role.value} does not allow this; it takes one to {wanted.value}.",
            )

    def _granted(self, headers: Headers, scope: Scope) -> Grant | None:
        """The rights of a request, by its token or else by the portal's cookie. With both, the token decides."""
        if "authorization" in headers or self._sessions is None:
            return self._tokens.grant(_bearer(headers))
        visitor = self._sessions.visitor(headers, scope["scheme"])
        if visitor is None:
            return None
        if scope["method"] not in _ONLY_LOOK:
            _check_page(headers, scope)
        scope["state"]["visitor"] = visitor.name
        return visitor


def _role_for(method: str, path: str) -> Role:
    """The least role that a request needs. Rehearsing a deed of the portal needs the same as doing it."""
    if _is_within(path, _TOKENS) or _is_within(path, _TOKENS_PAGE):
        return Role.ADMIN
    if _is_within(path, _RELAYS):
        return Role.RELAY
    if path in _OWN_AFFAIRS:
        return Role.READ
    return Role.READ if method in _ONLY_LOOK and not _is_within(path, _DEEDS) else Role.OPERATE


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _check_page(headers: Headers, scope: Scope) -> None:
    """Refuse forms and requests with a cookie that come from another page (CSRF).

    SameSite cookies are not enough: other ports of the same machine are the same *site*. Only Origin tells them apart.
    """
    ours = f"{scope['scheme']}://{headers.get('host', '')}".lower()
    if headers.get("origin", "").lower() != ours or headers.get("sec-fetch-site", "same-origin") != "same-origin":
        message = "Only a page of this portal may do that: the Origin header does not name it."
        raise _No(400, "invalid", message)


def _place(origin: str) -> str:
    """Host and port of an origin, as a Host header would tell them."""
    return origin.lower().partition("://")[2]


def _bearer(headers: Headers) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip().encode("latin-1").decode("utf-8", "replace") if scheme.lower() == "bearer" else ""


async def _limited(headers: Headers, receive: Receive) -> Receive:
    """Read the body here, up to the limit, and hand it on as one message."""
    length = headers.get("content-length", "0")
    if length.isascii() and length.isdigit() and int(length[:20]) > MOST_BODY_BYTES:
        raise _too_large()
    if length == "0" and "transfer-encoding" not in headers:
        return receive
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return _replay(message, receive)
        body += message.get("body", b"")
        if len(body) > MOST_BODY_BYTES:
            raise _too_large()
        if not message.get("more_body", False):
            if too_many_parts(body, MOST_PARTS, MOST_FIELDS):
                raise _No(400, "invalid", f"The body has more than {MOST_PARTS} values or {MOST_FIELDS} fields.")
            return _replay({"type": "http.request", "body": bytes(body), "more_body": False}, receive)


def _replay(first: Message, receive: Receive) -> Receive:
    waiting = [first]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


def _too_large() -> _No:
    return _No(413, "invalid", f"The body is larger than {MOST_BODY_BYTES // 1024 // 1024} MiB; send less at a time.")


def _protected(headers: Iterable[tuple[bytes, bytes]], request_id: str) -> list[tuple[bytes, bytes]]:
    """An answer's own fields win, but for the request id. Names are in lower case, as ASGI wants them."""
    own = [field for field in headers if field[0] != _REQUEST_ID]
    given = {name for name, _ in own}
    return [*own, (_REQUEST_ID, request_id.encode()), *(each for each in _PROTECTING if each[0] not in given)]


class _Signed:
    """A ``send`` that puts the request id on the answer and remembers whether one has begun."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message["headers"] = _protected(message["headers"], self._request_id)
        await self._send(message)
