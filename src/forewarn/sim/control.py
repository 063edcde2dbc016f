"""The control face as simulated people and relays reach it: in one call, or over a connection of the network.

The connection stands for the HTTP server of production (uvicorn): one request, its answer piece by piece, and its end.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp

CONTROL_PORT = 16_926  # as a server's
_JSON = (b"content-type", b"application/json")


@dataclass(frozen=True, slots=True)
class OperatorAnswer:
    """What the operator face said."""

    status: int
    body: Any

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300


async def ask(app: ASGIApp, verb: str, path: str, body: object, who: str) -> OperatorAnswer:
    """One request as ASGI servers put it."""
    data = b"" if body is None else json.dumps(body).encode()
    headers = [(b"host", b"localhost"), (b"x-forewarn-client", who.encode()), _JSON]
    headers.append((b"content-length", str(len(data)).encode()))
    status, said = 0, bytearray()

    def hear(told: int, piece: bytes) -> None:
        nonlocal status
        status = told
        said.extend(piece)

    await _put(app, verb, path, headers, data, hear)
    return OperatorAnswer(status, json.loads(bytes(said)) if said else None)


async def _put(
    app: ASGIApp,
    verb: str,
    path: str,
    headers: Iterable[tuple[bytes, bytes]],
    data: bytes,
    hear: Callable[[int, bytes], None],
    gone: asyncio.Event | None = None,
) -> None:
    """``hear`` is told the status with each piece of the answer; ``gone`` is set when nobody listens any more."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},  # as uvicorn
        "http_version": "1.1",
        "method": verb,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": list(headers),
        "client": ("127.0.0.1", 40_000),
        "server": ("127.0.0.1", CONTROL_PORT),
        "state": {},
    }
    messages = [{"type": "http.request", "body": data, "more_body": False}]
    status = 0

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        if gone is not None:
            await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            hear(status, message.get("body", b""))

    await app(scope, receive, send)


class ControlConnection(asyncio.Protocol):
    """One request to the control face of a node. It is carried out even where its client hangs up before the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._come = b""
        self._begun = False
        self._gone = asyncio.Event()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, problem: Exception | None) -> None:
        self._gone.set()

    def data_received(self, data: bytes) -> None:
        self._come += data
        head, whole, body = self._come.partition(b"\r\n\r\n")
        if not whole or self._begun:
            return
        first, *lines = head.split(b"\r\n")
        fields = [(name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        if len(body) < int(dict(fields)[b"content-length"]):
            return
        self._begun = True
        verb, path, _ = first.decode().split(" ")
        asyncio.get_running_loop().create_task(self._answer(verb, path, fields, body))

    async def _answer(self, verb: str, path: str, fields: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
        said_head = False

        def say(status: int, piece: bytes) -> None:
            nonlocal said_head
            if self._gone.is_set():
                return
            if not said_head:
                said_head = True
                phrase = HTTPStatus(status).phrase
                self._transport.write(f"HTTP/1.1 {status} {phrase}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
            if piece:
                self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))

        await _put(self._app, verb, path, fields, body, say, self._gone)
        if not self._gone.is_set():
            self._transport.write(b"0\r\n\r\n")
            self._transport.close()
