"""The Resource Manager as an ASGI app: checks that come before any route, and the form that every answer has."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace
from typing import Any
from uuid import uuid4

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from forewarn.core.refusal import Refused
from forewarn.core.tokens.values import Role
from forewarn.plane.clock import wall_time
from forewarn.plane.ports import JournalFault, Uncertain
from forewarn.web.current import UNCERTAIN, be_current
from forewarn.web.host_names import HostNames
from forewarn.web.resource_manager import (
    compute,
    generic,
    images,
    lro,
    sizes,
)
from forewarn.web.resource_manager.call import RETRY_AFTER_SECONDS, ArmDesk, ArmReply, Call
from forewarn.web.resource_manager.errors import ArmError, from_refusal
from forewarn.web.resource_manager.groups import contents, deletion, resource_groups, subscriptions
from forewarn.web.resource_manager.login import tokens
from forewarn.web.resource_manager.reading import check_api_version, read_body, read_head
from forewarn.web.resource_manager.routing import Router
from forewarn.web.resource_manager.templates import deployments
from forewarn.web.unpublished import WARNING, asks_to_publish

_BODILESS = frozenset({204, 304})  # RFC 9110, 15.3.5 and 15.4.5
_LONGEST_ECHO = 128  # of x-ms-client-request-id: az sends a GUID of 36

_log = logging.getLogger(__name__)


def resource_manager_app(desk: ArmDesk, *, hosts: Collection[str] = ()) -> ASGIApp:
    """The app. ``hosts`` are names beside localhost that a Host header may carry; ``"*"`` allows any."""
    return _Face(desk, make_router(), _open_router(), HostNames(hosts, "Resource Manager"))


def make_router() -> Router:
    """Everything behind the token. The generic store comes last: it takes what no other route does."""
    router = Router()
    for part in (subscriptions, resource_groups, contents, deletion, compute, images, sizes):
        part.add_to(router)
    router.add("GET", lro.OPERATIONS, lro.look)
    deployments.add_to(router)
    generic.add_to(router)
    return router


def _open_router() -> Router:
    router = Router()
    tokens.add_to(router)
    return router


class _Face:
    def __init__(self, desk: ArmDesk, router: Router, open_router: Router, hosts: HostNames) -> None:
        self._desk = desk
        self._router = router
        self._open = open_router
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", scope["type"]
        request = Request(scope, receive)
        request_id = str(uuid4())
        reply = await self._safe_answer(request, request_id)
        await _response(request, reply, request_id)(scope, receive, send)

    async def _safe_answer(self, request: Request, request_id: str) -> ArmReply:
        """An answer in every case, also after a fault of ours.

        An error means that nothing changed, unless it says otherwise.
        """
        try:
            return await self._answer(request, request_id)
        except ArmError as no:
            return no.reply()
        except Refused as refused:
            return from_refusal(refused).reply()
        except Uncertain as fault:  # not a 503: the SDKs would send a POST again, and perhaps do it twice
            _log.warning("Request %s may have been kept or not: %s", request_id, fault)
            return ArmError(502, "BadGateway", UNCERTAIN).reply()
        except JournalFault as fault:
            unavailable = ArmError(503, "ServiceUnavailable", str(fault)).reply()
            return replace(unavailable, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
        except ClientDisconnect:
            return ArmReply(400)
        except Exception:
            _log.exception("request %s failed: %s %s", request_id, request.method, request.url.path)
            message = f"Something is wrong inside forewarn. Its log tells more under the request id {request_id}."
            return ArmError(500, "InternalServerError", message).reply()

    async def _answer(self, request: Request, request_id: str) -> ArmReply:
        if not self._hosts.has(request.headers.get("host", "")):  # links in answers are made of it
            raise ArmError(400, "InvalidHostHeader", self._hosts.refusal())
        call = read_head(request, request_id)
        if self._open.knows(call.path):
            return await self._open.answer(self._desk, replace(call, body=await read_body(request)))
        granted = self._desk.access.accepts(_bearer(call), wall_time())
        if granted is None:
            return _unauthorized(self._desk, call)
        if not granted.role.may(Role.READ if call.method in ("GET", "HEAD") else Role.OPERATE):
            raise ArmError(403, "AuthorizationFailed", f"The token of {granted.name} may only read.")
        if granted.name:
            call = replace(call, origin=msgspec.structs.replace(call.origin, who=granted.name))
        check_api_version(call.api_version)
        body = await read_body(request, is_template="/deployments/" in call.path.lower())
        await be_current(self._desk.plane)
        call = resource_groups.in_place(self._desk, replace(call, body=body))
        return _with_warning(await self._router.answer(self._desk, call), body)


def _with_warning(reply: ArmReply, asked: Any) -> ArmReply:
    """The same, with word that something was kept and is not done (RFC 7234, 5.5; 299 is a lasting warning)."""
    if asked is None or reply.status >= 400 or not asks_to_publish(msgspec.json.encode(asked).decode()):
        return reply
    return replace(reply, headers={**reply.headers, "Warning": f'299 forewarn "{WARNING}"'})


def _bearer(call: Call) -> str:
    scheme, _, token = call.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _unauthorized(desk: ArmDesk, call: Call) -> ArmReply:
    given = "authorization" in call.headers
    code = "InvalidAuthenticationToken" if given else "AuthenticationFailed"
    message = (
        "The access token is invalid." if given else "Authentication failed. The 'Authorization' header is missing."
    )
    challenge = f'Bearer authorization_uri="{call.base_url}/{desk.tenant}", error="invalid_token"'
    return replace(ArmError(401, code, message).reply(), headers={"WWW-Authenticate": challenge})


def _response(request: Request, reply: ArmReply, request_id: str) -> Response:
    headers = {
        **reply.headers,
        "x-ms-request-id": request_id,
        "x-ms-correlation-request-id": _echo(request, "x-ms-correlation-request-id") or request_id,
        "Cache-Control": "no-cache",
    }
    if client_id := _echo(request, "x-ms-client-request-id"):
        headers["x-ms-client-request-id"] = client_id
    if reply.body is None or reply.status in _BODILESS or request.method == "HEAD":
        return Response(None, reply.status, headers)
    return Response(msgspec.json.encode(reply.body), reply.status, headers, "application/json; charset=utf-8")


def _echo(request: Request, name: str) -> str:
    """The caller's x-ms-client-request-id, if it is harmless enough to be repeated in a header."""
    found = request.headers.get(name, "")
    return found if found.isascii() and found.isprintable() and len(found) <= _LONGEST_ECHO else ""
