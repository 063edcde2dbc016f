"""Follow the journal live over server-sent events, without losing a record when the connection breaks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from typing import cast

from forewarn.cli.api.client import OperatorClient, Server, Unreachable
from forewarn.cli.api.time_shapes import Record

SILENCE_SECONDS = 60.0  # four times the server's KEEP_ALIVE_SECONDS: a longer silence is a dead connection
# Ours: a server that restarts is back at once, and after an outage five seconds late is soon for a person
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


def follow(client: OperatorClient, after: int, say: Callable[[str], None]) -> Iterator[Record]:
    """Records after ``after`` as they come, for ever. A break is told once and mended from the last record seen.

    A server that cannot be reached at the start is a failure; one that goes away later may come back.
    """
    for record in _stream(client.server, after):
        after = record["seq"]
        yield record
    pause = _FIRST_PAUSE
    say("The connection ended; trying again.")
    while True:
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
        try:
            after = _still_there(client, after, say)
            records = _stream(client.server, after)
        except Unreachable:
            continue
        for record in records:
            after = record["seq"]
            pause = _FIRST_PAUSE
            yield record


def _still_there(client: OperatorClient, after: int, say: Callable[[str], None]) -> int:
    """The cursor, unless the server came back with another, shorter journal: then its beginning."""
    if client.ping()["seq"] >= after:
        return after
    say("The server came back with another journal; following that one from its beginning.")
    return 0


def _stream(server: Server, after: int) -> Iterator[Record]:
    """One connection's records. Opened here and now, so that a refusal is not put off to the first record."""
    parameters = {"after": after}
    connection, response = server.open("GET", "/v1/journal/stream", parameters, patience_seconds=SILENCE_SECONDS)
    if response.status != 200:
        try:
            server.answer(response, response.read())
        finally:
            response.close()
            connection.close()
    return _records(response, connection.close)


def _records(response: HTTPResponse, close: Callable[[], None]) -> Iterator[Record]:
    """What the stream carries until it ends or breaks; either way the caller only sees that it is over."""
    data: list[str] = []
    try:
        while line := response.readline():
            text = line.decode().rstrip("\r\n")
            if text.startswith("data:"):
                data.append(text.removeprefix("data:").removeprefix(" "))
            elif not text and data:
                yield cast(Record, json.loads("\n".join(data)))
                data.clear()
    except (OSError, HTTPException, ValueError):
        return
    finally:
        response.close()
        close()
