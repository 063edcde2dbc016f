"""Behind a proxy: what the client called us, where the proxy is one that we were told to believe."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class Forwarded:
    """Puts the name, the scheme and the caller that a trusted proxy saw in the place of those that we see.

    From other addresses these fields are ignored: links in answers are made of them, and tries are counted by caller.
    """

    def __init__(self, app: ASGIApp, trusted: Collection[Network]) -> None:
        self._app = app
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._believes(scope.get("client")):
            scope = self._with_caller(_as_asked(scope))
        await self._app(scope, receive, send)

    def _with_caller(self, scope: Scope) -> Scope:
        """The last address that is no trusted proxy's: a client may have written any that stand before it."""
        given = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
        named = [each.strip() for each in given.split(",") if each.strip()]
        caller = next((each for each in reversed(named) if not self._trusts(each)), "")
        return dict(scope, client=(caller, 0)) if _is_address(caller) else scope

    def _believes(self, client: tuple[str, int] | None) -> bool:
        return client is not None and self._trusts(client[0])

    def _trusts(self, given: str) -> bool:
        if not self._trusted or not _is_address(given):
            return False
        address = ipaddress.ip_address(given)
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self._trusted)


def _is_address(given: str) -> bool:
    try:
        ipaddress.ip_address(given)
    except ValueError:
        return False
    return True


def _as_asked(scope: Scope) -> Scope:
    """The last value counts: it is the one that the proxy next to us has written."""
    given = Headers(scope=scope)
    host, scheme = _last(given, "x-forwarded-host"), _last(given, "x-forwarded-proto").lower()
    changed = dict(scope, headers=list(scope["headers"]))
    if host:
        MutableHeaders(scope=changed)["Host"] = host
    if scheme in ("http", "https"):
        changed["scheme"] = scheme
    return changed


def _last(headers: Headers, name: str) -> str:
    values = headers.getlist(name)
    return values[-1].rpartition(",")[2].strip() if values else ""
