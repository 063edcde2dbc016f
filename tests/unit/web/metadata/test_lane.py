"""The short way without a region: what happens to an answer that the client does not take as a whole."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from forewarn.web.metadata.asking.callers import Caller, Entrance
from forewarn.web.metadata.http.lane import CAN_BE_SHORT, Beginning, Lane, StayingConnection
from forewarn.web.metadata.http.roster import Connections
from forewarn.web.metadata.settings import Limits

pytestmark = pytest.mark.skipif(not CAN_BE_SHORT, reason="the short way is Linux's alone")

_ANSWER = bytes(range(256)) * 40_000  # ten megabytes: more than a socket takes at once
_CALLER = Caller.at(Entrance(loopback=True), "127.0.0.1", "127.0.0.1")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _lane(*, is_last: bool, again: bytes | None, answered: list[Caller] | None = None) -> Lane:
    """A lane to which every request is known. Callers of the two addresses are two VMs, by their last number."""
    known = SimpleNamespace(is_last=is_last)

    def recall(caller: Caller, request: bytes) -> Any:
        if answered is not None:
            answered.append(caller)
        return known

    service: Any = SimpleNamespace(
        memory=SimpleNamespace(recall=recall),
        reading=SimpleNamespace(again=lambda known: again),
        share_of=lambda caller: "" if caller is _CALLER else caller.claims[0],
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


async def _turns(answered: list[Caller], wanted: int) -> list[list[Caller]]:
    """Who was answered in each turn of the loop, until so many were."""
    turns = []
    while wanted:
        await asyncio.sleep(0)
        turns.append(answered[:])
        wanted -= len(answered)
        answered.clear()
    return turns


@pytest.mark.anyio
async def test_of_one_vms_connections_that_ask_at_once_each_turn_reads_two_and_another_vm_is_read_beside_them() -> None:
    answered: list[Caller] = []
    lane = _lane(is_last=False, again=b"answer", answered=answered)
    noisy, calm = (Caller.at(Entrance(), f"10.0.0.{number}", "10.0.0.1") for number in (2, 3))
    pairs = [socket.socketpair() for _ in range(101)]
    for ours, _ in pairs:
        caller = noisy if ours is not pairs[-1][0] else calm
        staying = StayingConnection(lane, ours, Entrance(), caller, caller.claims[0])
        lane.keep(staying, ours.fileno())
    for _, theirs in pairs:
        theirs.send(b"GET")

    turns = await _turns(answered, len(pairs))

    assert max(each.count(noisy) for each in turns) == 2
    first = next(place for place, each in enumerate(turns) if each)
    assert calm in turns[first]  # though a hundred others came before it
    for ours, theirs in pairs:
        assert theirs.recv(100) == b"answer"  # nobody is forgotten
        lane.forget(ours.fileno())
        ours.close()
        theirs.close()
    lane.close()


@pytest.mark.anyio
async def test_callers_whom_nothing_tells_apart_have_no_shares() -> None:
    answered: list[Caller] = []
    lane = _lane(is_last=False, again=b"answer", answered=answered)
    pairs = [socket.socketpair() for _ in range(100)]
    for ours, theirs in pairs:
        lane.keep(StayingConnection(lane, ours, Entrance(loopback=True), _CALLER, ""), ours.fileno())
        theirs.send(b"GET")

    turns = [len(each) for each in await _turns(answered, len(pairs)) if each]

    assert turns[0] == 64  # of all connections together, as ever
    for ours, theirs in pairs:
        lane.forget(ours.fileno())
        ours.close()
        theirs.close()
    lane.close()


@pytest.mark.anyio
async def test_of_one_vms_new_connections_each_turn_lets_in_two() -> None:
    answered: list[Caller] = []
    lane = _lane(is_last=True, again=b"answer", answered=answered)
    listening = socket.create_server(("127.0.0.1", 0), backlog=100)
    entrance = lane.listen(listening, Entrance())
    guests = [socket.create_connection(listening.getsockname()) for _ in range(20)]
    for guest in guests:
        guest.send(b"GET")

    turns = await _turns(answered, len(guests))

    assert max(map(len, turns)) == 2
    assert [guest.recv(100) for guest in guests] == [b"answer"] * len(guests)
    entrance.close()
    for guest in guests:
        guest.close()
    lane.close()


def _piece(end: socket.socket) -> bytes:
    try:
        return end.recv(1 << 20)
    except BlockingIOError:
        return b""
