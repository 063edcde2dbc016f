"""The states of a connection: the table itself, and a connection that is led through it without sockets."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from typing import Any

import pytest

from forewarn.core.commands import CreateVms
from forewarn.core.specs import VmSpec
from forewarn.plane.clock import RealClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.server.assembly import Parts, assemble
from forewarn.stores.memory import MemoryJournal
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.asking.callers import Entrance
from forewarn.web.metadata.http.connection import Connection
from forewarn.web.metadata.http.connection_states import LEAVING, LONGEST, TRANSITIONS, ConnectionState, Trigger, after
from forewarn.web.metadata.http.lane import Beginning
from forewarn.web.metadata.http.roster import Connections
from forewarn.web.metadata.service import Service
from forewarn.web.metadata.settings import Limits, MetadataSettings
from forewarn.web.watched import WatchedVms

_GET = b"GET /vm/web/metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\nHost: x\r\nMetadata: true\r\n\r\n"
_OTHER = _GET.replace(b"Host: x", b"Host: y")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_every_state_is_in_the_table_and_can_be_reached() -> None:
    reached, border = {ConnectionState.RESTING}, [ConnectionState.RESTING]
    while border:
        found = set(TRANSITIONS[border.pop()].values()) - reached
        reached |= found
        border += found

    assert set(TRANSITIONS) == set(ConnectionState) == reached


def test_every_trigger_leads_somewhere() -> None:
    assert {trigger for row in TRANSITIONS.values() for trigger in row} == set(Trigger)


def test_a_connection_can_be_lost_in_every_state_and_only_once() -> None:
    assert all(
        row[Trigger.LOST] is ConnectionState.CLOSED
        for state, row in TRANSITIONS.items()
        if state is not ConnectionState.CLOSED
    )
    assert TRANSITIONS[ConnectionState.CLOSED] == {}


def test_nothing_is_answered_after_the_last_answer() -> None:
    for state in LEAVING:
        assert set(TRANSITIONS[state].values()) <= LEAVING


def test_what_the_table_does_not_list_raises_a_sentence_with_state_and_trigger() -> None:
    with pytest.raises(AssertionError, match="'answer ready' cannot happen to a connection that is resting"):
        after(ConnectionState.RESTING, Trigger.READY)


def test_every_state_in_which_the_client_is_waited_for_has_a_limit_that_exists() -> None:
    assert set(LONGEST) == set(ConnectionState) - {
        ConnectionState.OWING,
        ConnectionState.WORKING,
        ConnectionState.CLOSED,
    }
    assert set(LONGEST.values()) <= {field.name for field in fields(Limits)}


class _Wire(asyncio.Transport):
    """What a connection does to its transport, as a list of words and answers."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 80)})
        self.done: list[str] = []
        self.answered = asyncio.Event()

    def write(self, data: Any) -> None:
        assert not {"close", "eof", "abort"} & set(self.done), "nothing may be written after the end"
        self.done.append(bytes(data).split(b" ", 2)[1].decode())
        self.answered.set()

    def write_eof(self) -> None:
        self.done.append("eof")

    def close(self) -> None:
        self.done.append("close")

    def abort(self) -> None:
        self.done.append("abort")

    def pause_reading(self) -> None:
        self.done.append("pause")

    def resume_reading(self) -> None:
        self.done.append("resume")

    def is_closing(self) -> bool:
        return "close" in self.done or "abort" in self.done

    def get_write_buffer_size(self) -> int:
        return 0


class _Stage:
    """The face without its sockets."""

    def __init__(self, plane: Plane, limits: Limits) -> None:
        self.limits = limits
        self.service = Service(plane, FaultRules(), WatchedVms(), MetadataSettings(limits=limits), b"seed")
        self.roster = Connections(limits)

    def connect(self, beginning: Beginning | None = None) -> tuple[_Wire, Connection]:
        wire = _Wire()
        connection = Connection(self.service, Entrance(loopback=True), self.limits, self.roster, beginning)
        connection.connection_made(wire)
        return wire, connection


async def _stage(limits: Limits | None = None) -> _Stage:
    plane = (await assemble(Parts(journal=MemoryJournal(), clock_from=RealClock))).plane
    await plane.start()
    await plane.submit(CreateVms(("web",), VmSpec(), "seed"), Origin("operator"))
    return _Stage(plane, limits or Limits())


def _state(connection: Connection) -> ConnectionState:
    return connection._state  # nothing else shows it


@pytest.mark.anyio
async def test_a_first_read_is_worked_on_and_the_same_bytes_again_leave_the_connection_resting() -> None:
    wire, connection = (await _stage()).connect()

    connection.data_received(_GET[:20])
    begun = _state(connection)
    connection.data_received(_GET[20:])
    asked = _state(connection)
    await wire.answered.wait()
    told = _state(connection)
    connection.data_received(_GET)
    connection.data_received(_GET)

    assert (begun, asked, told) == (ConnectionState.RECEIVING, ConnectionState.WORKING, ConnectionState.RESTING)
    assert (wire.done, _state(connection)) == (["200"] * 3, ConnectionState.RESTING)


@pytest.mark.anyio
async def test_a_blocked_client_gets_nothing_until_it_takes_its_answers() -> None:
    wire, connection = (await _stage()).connect()
    connection.data_received(_GET)
    await wire.answered.wait()

    connection.pause_writing()
    connection.data_received(_GET)
    blocked = _state(connection), list(wire.done)
    connection.resume_writing()

    assert blocked == (ConnectionState.BLOCKED, ["200", "pause"])
    assert (_state(connection), wire.done) == (ConnectionState.RESTING, ["200", "pause", "200", "resume"])


@pytest.mark.anyio
async def test_a_client_that_is_unblocked_while_its_answer_is_made_is_worked_for_as_before() -> None:
    wire, connection = (await _stage()).connect()

    connection.data_received(_GET)
    connection.pause_writing()
    connection.resume_writing()
    resumed = _state(connection)
    await wire.answered.wait()

    assert (resumed, _state(connection)) == (ConnectionState.WORKING, ConnectionState.RESTING)


@pytest.mark.anyio
async def test_a_client_that_ends_its_half_is_answered_and_then_closed() -> None:
    wire, connection = (await _stage()).connect()

    connection.data_received(_GET)
    stays_open = connection.eof_received()
    finishing = _state(connection)
    await wire.answered.wait()

    assert (stays_open, finishing) == (True, ConnectionState.FINISHING)
    assert (_state(connection), wire.done) == (ConnectionState.CLOSING, ["200", "close"])


@pytest.mark.anyio
async def test_a_server_that_closes_lets_go_of_a_resting_connection_at_once() -> None:
    wire, connection = (await _stage()).connect()

    connection.hang_up()

    assert (_state(connection), wire.done) == (ConnectionState.FINISHING, ["close"])


@pytest.mark.anyio
async def test_a_connection_for_which_there_is_no_room_is_told_so_and_nothing_else() -> None:
    stage = await _stage(Limits(connections=1))
    first, connection = stage.connect()
    connection.data_received(_GET)
    await first.answered.wait()
    connection.data_received(_GET)  # from here on every connection of this desk knows the bytes

    wire, refused = stage.connect()
    refused.data_received(_GET)
    refused.data_received(_OTHER)

    assert (_state(refused), wire.done) == (ConnectionState.LINGERING, ["503", "eof"])


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("sent", "limit", "at_first", "at_last", "state"),
    [
        (b"", "idle_seconds", [], ["close"], ConnectionState.CLOSING),
        (_GET[:20], "request_seconds", [], ["408", "eof"], ConnectionState.LINGERING),
        (b"nonsense\r\n\r\n", "linger_seconds", ["400", "eof"], ["abort"], ConnectionState.LINGERING),
    ],
)
async def test_a_client_that_keeps_a_state_for_too_long_has_to_go(
    sent: bytes, limit: str, at_first: list[str], at_last: list[str], state: ConnectionState
) -> None:
    stage = await _stage()
    wire, connection = stage.connect()
    if sent:
        connection.data_received(sent)
    longest = getattr(stage.limits, limit)

    connection.sweep(longest - 1)
    before = list(wire.done)
    connection.sweep(1)

    assert before == at_first
    assert (wire.done, _state(connection)) == (at_first + at_last, state)


@pytest.mark.anyio
async def test_what_came_on_the_short_way_is_answered_before_what_comes_next() -> None:
    stage = await _stage()
    wire, connection = stage.connect()
    connection.data_received(_GET)
    await wire.answered.wait()

    wire, connection = stage.connect(Beginning(_GET.replace(b"/vm/web/", b"/vm/nobody/")))
    taken = _state(connection)
    connection.data_received(_GET)  # before the loop has come to the first
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert (taken, wire.done, _state(connection)) == (ConnectionState.OWING, ["404", "200"], ConnectionState.RESTING)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("beginning", "then"),
    [(_GET[:20], ConnectionState.RECEIVING), (b"\r\n\r\n", ConnectionState.RESTING), (b"", ConnectionState.RESTING)],
)
async def test_a_beginning_without_a_whole_request_waits_for_more(beginning: bytes, then: ConnectionState) -> None:
    wire, connection = (await _stage()).connect(Beginning(beginning))
    await asyncio.sleep(0)
    assert (_state(connection), wire.done) == (then, [])


@pytest.mark.anyio
async def test_the_rest_of_an_answer_is_sent_first_and_ends_the_connection_if_it_was_the_last() -> None:
    stage = await _stage()
    goes_on, resting = stage.connect(Beginning(unsent=b"HTTP/1.1 rest of it"))
    ends, ending = stage.connect(Beginning(unsent=b"HTTP/1.1 rest of it", is_last=True))
    assert (goes_on.done, _state(resting)) == (["rest"], ConnectionState.RESTING)
    assert (ends.done, _state(ending)) == (["rest", "close"], ConnectionState.CLOSING)
