"""Fairness, by counting: what one turn of the loop does for each party, however much is owed."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from forewarn.core.commands import CreateVms
from forewarn.core.specs import Binding, VmSpec
from forewarn.plane.clock import RealClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.server.assembly import Parts, assemble
from forewarn.stores.memory import MemoryJournal
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.asking.callers import Entrance
from forewarn.web.metadata.http.connection import Connection
from forewarn.web.metadata.http.requests import Arrival, RequestReader
from forewarn.web.metadata.http.roster import Connections
from forewarn.web.metadata.service import Service
from forewarn.web.metadata.settings import Limits, MetadataSettings
from forewarn.web.watched import WatchedVms

pytestmark = pytest.mark.anyio

_TARGET = b"/metadata/scheduledevents?api-version=2020-07-01"
_GET = b"GET %b HTTP/1.1\r\nHost: x\r\nMetadata: true\r\n\r\n"
_PIPELINE = 2000
_LIMITS = Limits()
_EACH = _LIMITS.answers_each_turn


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class _Wire(asyncio.Transport):
    """A transport that counts the answers it is given, by the turn of the loop in which they came."""

    def __init__(self, stage: _Stage, source: str, local: str = "127.0.0.1") -> None:
        super().__init__({"peername": (source, 1), "sockname": (local, 80)})
        self._stage = stage
        self.by_turn: Counter[int] = Counter()
        self.reading = True
        self.held = b""
        self.connection = stage.connect(self)

    @property
    def answers(self) -> int:
        return self.by_turn.total()

    def send(self, data: bytes) -> None:
        """What a client sends: as much as is read at a time, and only while it is read."""
        self.held += data
        while self.held and self.reading:
            piece, self.held = self.held[:65536], self.held[65536:]
            self.connection.data_received(piece)

    def write(self, data: Any) -> None:
        self.by_turn[self._stage.turn] += bytes(data).count(b"HTTP/1.1 200")

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True
        asyncio.get_running_loop().call_soon(self.send, b"")

    def is_closing(self) -> bool:
        return False


class _Stage:
    """The face without its sockets."""

    def __init__(self, plane: Plane, entrance: Entrance) -> None:
        settings = MetadataSettings()
        self._service = Service(plane, FaultRules(), WatchedVms(), settings, b"seed")
        self._limits = settings.limits
        self._roster = Connections(settings.limits)
        self._entrance = entrance
        self.turn = 0

    def connect(self, wire: _Wire) -> Connection:
        made = Connection(self._service, self._entrance, self._limits, self._roster)
        made.connection_made(wire)
        return made

    async def next_turn(self) -> None:
        self.turn += 1
        await asyncio.sleep(0)


async def _stage(entrance: Entrance) -> tuple[Plane, _Stage]:
    plane = (await assemble(Parts(journal=MemoryJournal(), clock_from=RealClock))).plane
    await plane.start()
    for number in (2, 3):
        binding = Binding(address=f"10.0.0.{number}")
        await plane.submit(CreateVms((f"vm{number}",), VmSpec(), f"s{number}", binding), Origin("operator"))
    stage = _Stage(plane, entrance)
    for number in (2, 3):
        await _read(stage, f"10.0.0.{number}")
    return plane, stage


async def _read(stage: _Stage, source: str) -> None:
    """The first read enables the scope and is answered when that is kept."""
    wire = _Wire(stage, source)
    wire.send(_GET % _TARGET)
    while not wire.answers:
        await stage.next_turn()
    wire.connection.connection_lost(None)


async def test_a_pipeline_gets_so_many_answers_a_turn_and_no_more_and_all_of_them_in_the_end() -> None:
    plane, stage = await _stage(Entrance())
    greedy = _Wire(stage, "10.0.0.2")
    greedy.send((_GET % _TARGET) * _PIPELINE)
    while greedy.answers < _PIPELINE:
        await stage.next_turn()
    await plane.close()

    assert max(greedy.by_turn.values()) <= _EACH + 2  # one at once when data comes, and one when reading goes on
    assert greedy.answers == _PIPELINE


async def test_all_connections_of_one_vm_share_its_turn() -> None:
    plane, stage = await _stage(Entrance())
    greedy = [_Wire(stage, "10.0.0.2") for _ in range(20)]
    for wire in greedy:
        wire.send((_GET % _TARGET) * 200)
    stage.turn += 1
    started = sum(wire.answers for wire in greedy)
    seen = []
    for _ in range(10):
        before = sum(wire.answers for wire in greedy)
        await stage.next_turn()
        seen.append(sum(wire.answers for wire in greedy) - before)
    everyone = [wire.answers for wire in greedy]
    await plane.close()

    assert started == 20  # each the first of its own
    assert max(seen) <= _EACH + 20
    assert min(everyone) >= 1


async def test_a_vm_that_asks_during_another_ones_flood_is_answered_in_the_same_turn() -> None:
    plane, stage = await _stage(Entrance())
    greedy = [_Wire(stage, "10.0.0.2") for _ in range(4)]
    victim = _Wire(stage, "10.0.0.3")
    for wire in greedy:
        wire.send((_GET % _TARGET) * _PIPELINE)
    between = []
    for _ in range(20):
        before = sum(wire.answers for wire in greedy)
        victim.send(_GET % _TARGET)
        await stage.next_turn()
        between.append(sum(wire.answers for wire in greedy) - before)
    answered = victim.answers
    await plane.close()

    assert answered == 20
    assert max(between) <= 2 * _EACH


async def test_on_loopback_each_connection_has_its_own_turn() -> None:
    plane, stage = await _stage(Entrance(loopback=True))
    target = b"/vm/vm2" + _TARGET
    both = [_Wire(stage, "127.0.0.1") for _ in range(2)]
    for wire in both:
        wire.send((_GET % target) * 200)
    for _ in range(3):
        await stage.next_turn()
    shares = [wire.answers for wire in both]
    await plane.close()

    assert shares[0] == shares[1] > 2
    assert max(shares) <= 4 * (_EACH + 2)


async def test_all_pipelines_together_get_so_many_answers_a_turn_and_each_as_many_as_the_others() -> None:
    plane, stage = await _stage(Entrance(loopback=True))
    wires = [_Wire(stage, "127.0.0.1") for _ in range(50)]
    for wire in wires:
        wire.send((_GET % (b"/vm/vm2" + _TARGET)) * 20)
    seen, spread = [], []
    while min(wire.answers for wire in wires) < 20:
        before = sum(wire.answers for wire in wires)
        await stage.next_turn()
        seen.append(sum(wire.answers for wire in wires) - before)
        spread.append(max(wire.answers for wire in wires) - min(wire.answers for wire in wires))
    await plane.close()

    assert max(seen) <= 2 * _LIMITS.answers_all_turn  # the second half: reading goes on where enough was answered
    assert max(spread) <= 2 * (_EACH + 1)


async def test_of_a_pipeline_only_so_much_is_taken_apart_as_is_answered_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many of its requests come at once."""
    taken: list[int] = []
    feed = RequestReader.feed

    def counted(reader: RequestReader, data: bytes) -> list[Arrival]:
        arrivals = feed(reader, data)
        taken.append(len(arrivals))
        return arrivals

    plane, stage = await _stage(Entrance())
    greedy = _Wire(stage, "10.0.0.2")
    monkeypatch.setattr(RequestReader, "feed", counted)
    at_once = []
    greedy.send((_GET % _TARGET) * _PIPELINE)
    while greedy.answers < _PIPELINE:
        at_once.append(sum(taken))
        taken.clear()
        await stage.next_turn()
    await plane.close()

    assert max(at_once) <= _LIMITS.queued_requests + _EACH + 2


async def test_a_client_that_goes_while_it_waits_for_its_turn_is_forgotten() -> None:
    plane, stage = await _stage(Entrance())
    greedy = _Wire(stage, "10.0.0.2")
    greedy.send((_GET % _TARGET) * _PIPELINE)
    greedy.connection.connection_lost(None)
    gone = greedy.answers
    for _ in range(5):
        await stage.next_turn()
    await plane.close()

    assert greedy.answers == gone
