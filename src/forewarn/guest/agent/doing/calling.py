"""One HTTP call, within a budget that may change while it is under way. No proxies, no redirects."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from forewarn import __version__
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.http1 import BadResponse, Request, Response, ResponseReader

_LOOK_SECONDS = 0.2
_RECEIVE_BYTES = 65_536


def call(
    verb: str, url: str, budget: Budget, *, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> Response | str:
    """The answer, or in words why there is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as problem:
        return f"{url!r} is no URL: {problem}"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fields = {"User-Agent": f"forewarn-agent/{__version__}", "Connection": "close", **(headers or {})}
    if any(not _is_clean(text) for text in (target, parts.netloc, verb, *fields, *fields.values())):
        return "the URL or a header has a line break in it"
    request = Request(verb, target, tuple(fields.items()), body)
    try:
        with _connect(host, port, budget, secure=parts.scheme == "https") as connection:
            return _converse(connection, request.encode(parts.netloc.rpartition("@")[2]), budget)
    except TimeoutError:
        return "no answer in time"
    except (OSError, BadResponse, UnicodeError) as problem:
        return str(getattr(problem, "strerror", None) or problem or type(problem).__name__).lower()


def _is_clean(text: str) -> bool:
    return "\r" not in text and "\n" not in text


def _connect(host: str, port: int, budget: Budget, *, secure: bool) -> socket.socket:
    left = budget.left()
    if left <= 0:
        raise TimeoutError
    connection = socket.create_connection((host, port), timeout=min(left, 10.0))
    if not secure:
        return connection
    import ssl  # few steps need it, and it is large

    try:
        return ssl.create_default_context().wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise


def _converse(connection: socket.socket, data: bytes, budget: Budget) -> Response:
    connection.settimeout(max(0.01, budget.left()))
    connection.sendall(data)
    reader = ResponseReader()
    while (left := budget.left()) > 0:
        connection.settimeout(min(left, _LOOK_SECONDS))
        with suppress(TimeoutError):
            answer = reader.feed(connection.recv(_RECEIVE_BYTES))
            if answer is not None:
                return answer
    raise TimeoutError
