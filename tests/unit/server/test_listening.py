"""A face of people and programs on its socket."""

from __future__ import annotations

import asyncio
import http.client
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from forewarn.server.listening import listen, serve_app
from forewarn.settings.kinds import Address
from tests.waiting import until_in_loop

pytestmark = pytest.mark.anyio


def _date_of(port: int) -> datetime:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/")
        return parsedate_to_datetime(connection.getresponse().headers["date"])
    finally:
        connection.close()


@pytest.mark.slow  # three seconds pass
async def test_an_idle_face_renews_the_date_of_its_answers_and_does_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Uvicorn's own loop ticks ten times a second, so that three more would find the same second."""
    app, ticks, tick = PlainTextResponse("here"), [0], uvicorn.Server.on_tick

    async def counted(server: uvicorn.Server, counter: int) -> bool:
        ticks[0] += server.config.app is app  # other tests of this process may have servers of their own
        return await tick(server, counter)

    monkeypatch.setattr(uvicorn.Server, "on_tick", counted)
    socket = listen(Address("127.0.0.1", 0), "control")
    answering = await serve_app(app, socket, "control face")
    port = socket.getsockname()[1]
    first = await asyncio.to_thread(_date_of, port)
    before = ticks[0]  # on a busy machine some seconds have passed before the first answer
    await until_in_loop(lambda: ticks[0] >= before + 3)
    assert await asyncio.to_thread(_date_of, port) - first >= timedelta(seconds=2)
    await answering.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.to_thread(_date_of, port)
