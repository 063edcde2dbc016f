"""One HTTP call, within a budget that may change while it is under way. No proxies, no redirects."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress
from urllib.parse import urlsplit

from forewarn import __version__
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.http1 import BadResponse, OutgoingRequest, Response, ResponseReader
from forewarn.guest.system.parts import Sockets, Stream

_LOOK_SECONDS = 0.2  # how late a call may notice that it is to stop
_RECEIVE_BYTES = 65_536  # a Linux pipe's and many sockets' default buffer


def call(
    sockets: Sockets,
    verb: str,
    url: str,
    budget: Budget,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Response | str:
    """The answer, or a sentence that says why there is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as problem:
        return f"{url!r} is no URL: {problem}"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fields = {"User-Agent": f"forewarn-agent/{__version__}", "Connection": "close", **(headers or {})}
    if any(not _is_clean(text) for text in (target, parts.netloc, verb, *fields, *fields.values())):
        return "the URL or a header has a line break in it"
    request = OutgoingRequest(verb, target, tuple(fields.items()), body)
    try:
        with closing(_connect(sockets, host, port, budget, secure=parts.scheme == "https")) as connection:
            return _converse(connection, request.encode(parts.netloc.rpartition("@")[2]), budget)
    except TimeoutError:
        return "no answer in time"
    except (OSError, BadResponse, UnicodeError) as problem:
        return str(getattr(problem, "strerror", None) or problem or type(problem).__name__).lower()


def _is_clean(text: str) -> bool:
    return "\r" not in text and "\n" not in text


def _connect(sockets: Sockets, host: str, port: int, budget: Budget, *, secure: bool) -> Stream:
    left = budget.left()
    if left <= 0:
        raise TimeoutError
    connection = sockets.connect(host, port, min(left, 10.0))
    return sockets.secured(connection, host) if secure else connection


def _converse(connection: Stream, data: bytes, budget: Budget) -> Response:
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
