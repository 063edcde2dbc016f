"""The short way without a region: what happens to an answer that the client does not take as a whole."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from forewarn.web.metadata.asking.callers import Caller, Entrance
from forewarn.web.metadata.http.lane import CAN_BE_SHORT, Beginning, Lane
from forewarn.web.metadata.http.roster import Connections
from forewarn.web.metadata.settings import Limits

pytestmark = pytest.mark.skipif(not CAN_BE_SHORT, reason="the short way is Linux's alone")

_ANSWER = bytes(range(256)) * 40_000  # ten megabytes: more than a socket takes at once
_CALLER = Caller.at(Entrance(loopback=True), "127.0.0.1", "127.0.0.1")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _lane(*, is_last: bool, again: bytes | None) -> Lane:
    """A lane to which every request is known."""
    known = SimpleNamespace(is_last=is_last)
    service: Any = SimpleNamespace(
        memory=SimpleNamespace(recall=lambda caller, request: known),
        reading=SimpleNamespace(again=lambda known: again),
        share_of=lambda caller: "",
    )
    limits = Limits()
    return Lane(service, limits, Connections(limits), lambda entrance, beginning: asyncio.Protocol())


@pytest.mark.anyio
@pytest.mark.parametrize("is_last", [True, False])
async def test_what_is_not_taken_at_once_is_left_for_the_usual_way(is_last: bool) -> None:
    lane = _lane(is_last=is_last, again=_ANSWER)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        left = lane.try_answer(ours, _CALLER, b"GET")
        theirs.setblocking(False)
        got = bytearray()
        while piece := _piece(theirs):
            got += piece
    lane.close()
    assert isinstance(left, Beginning)
    assert (left.request, left.is_last) == (b"", is_last)
    assert len(got) < len(_ANSWER)
    assert bytes(got) + left.unsent == _ANSWER


@pytest.mark.anyio
async def test_where_nothing_can_be_sent_or_said_again_the_request_is_handed_over_whole() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unknown = _lane(is_last=False, again=None)
        assert unknown.try_answer(ours, _CALLER, b"GET") == Beginning(b"GET")
        unknown.close()
        ours.setblocking(False)
        ours.send(_ANSWER)  # takes as much as there is room for
        full = _lane(is_last=False, again=_ANSWER)
        assert full.try_answer(ours, _CALLER, b"GET") == Beginning(b"GET")
        full.close()


def _piece(end: socket.socket) -> bytes:
    try:
        return end.recv(1 << 20)
    except BlockingIOError:
        return b""
