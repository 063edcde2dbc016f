"""A control face on a real socket, with the patience of a test."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from forewarn.server import listening
from forewarn.server.guarded import Guarded
from forewarn.settings.kinds import Address

PATIENCE_SECONDS = 20.0


class Impatient(Guarded):
    """The same, within the time of a test."""

    request_seconds = 0.3
    most = 5


async def answers(scope: Any, receive: Any, send: Any) -> None:
    """Reads a body and says how long it was."""
    length, more = 0, True
    while more:
        message = await receive()
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(str(length)))]}
    )
    await send({"type": "http.response.body", "body": b"%d" % length})


@contextmanager
def control_face(app: Any = answers, protocol: type[Guarded] = Impatient) -> Iterator[int]:
    """Its port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="face")
    thread.start()
    taken = listening.listen(Address("127.0.0.1", 0), "control")
    try:
        serving = listening.serve_app(app, taken, "face", protocol=protocol)
        answering = asyncio.run_coroutine_threadsafe(serving, loop).result(PATIENCE_SECONDS)
        yield taken.getsockname()[1]
        asyncio.run_coroutine_threadsafe(answering.close(), loop).result(PATIENCE_SECONDS)
    finally:
        taken.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)


def until_closed(connected: socket.socket) -> bytes:
    """All that comes until the server closes; a test that waits in vain ends with a timeout."""
    found = b""
    while True:
        try:
            piece = connected.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            return found
        if not piece:
            return found
        found += piece


def ask(port: int, data: bytes) -> bytes:
    with connect(port) as connected:
        with suppress(ConnectionResetError, BrokenPipeError):
            connected.sendall(data)
        return until_closed(connected)
