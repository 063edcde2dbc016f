"""No fact is older than the moment at which its command was received, however late the store answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.engines.simulated import SimulatedEngine
from forewarn.plane.clock import RealClock, TurnableClock
from forewarn.plane.plane import Plane
from forewarn.stores.shared_memory import MemoryNodeJournal, SharedMemory, _Staged
from tests.unit.plane.bench import MINUTE, NOON, OPERATOR, SECOND, ShakyJournal

pytestmark = pytest.mark.anyio


class Gate:
    """Somebody stands before it, or nobody does."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()
        self._open.set()

    def shut(self) -> None:
        self.reached.clear()
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def pass_through(self) -> None:
        self.reached.set()
        assert self._open.wait(30)


class LateJournal(MemoryNodeJournal):
    """The store has given the head away and has said what time it is; its answer is long on its way."""

    def __init__(self, region: SharedMemory, gate: Gate) -> None:
        super().__init__(region)
        self._gate = gate

    @contextmanager
    def write(self) -> Iterator[_Staged]:
        with super().write() as transaction:
            self._gate.pass_through()
            yield transaction


async def _commands_around_a_late_answer(
    plane: Plane, gate: Gate, passes: Callable[[], None]
) -> list[tuple[f.Fact, ...]]:
    """One command meets a late answer; another comes while that is on its way; then time has passed."""
    for name in ("early", "late"):
        await plane.submit(c.CreateVms((name,), VmSpec(), name), OPERATOR)
        await plane.enable(plane.region.vms[name])
    gate.shut()
    early = asyncio.ensure_future(plane.submit(c.RestartVms(("early",), "s1"), OPERATOR))
    await asyncio.to_thread(gate.reached.wait, 30)
    passes()
    late = asyncio.ensure_future(plane.submit(c.RestartVms(("late",), "s2"), OPERATOR))
    await asyncio.sleep(0)
    gate.open()
    return [await early, await late]


def _scheduled(facts: tuple[f.Fact, ...]) -> f.EventScheduled:
    (found,) = [fact for fact in facts if isinstance(fact, f.EventScheduled)]
    return found


async def test_a_command_that_joins_a_batch_while_a_shared_store_answers_late_has_the_time_of_its_close() -> None:
    now, gate = [NOON], Gate()
    plane = Plane.open(LateJournal(SharedMemory(lambda: now[0]), gate), RealClock, SimulatedEngine(), Rules())
    await plane.start()

    def passes() -> None:
        now[0] = NOON + 9 * SECOND

    early, late = map(_scheduled, await _commands_around_a_late_answer(plane, gate, passes))
    await plane.close()
    assert late.at >= NOON + 9 * SECOND
    assert late.event.not_before is not None
    assert late.event.not_before - (NOON + 9 * SECOND) >= 15 * MINUTE
    assert NOON <= early.at <= late.at


async def test_a_command_that_joins_a_batch_behind_a_slow_disk_has_the_time_of_its_close() -> None:
    gate, clock, journal = Gate(), TurnableClock(NOON), ShakyJournal()
    journal.before_head = gate.pass_through
    plane = Plane.open(journal, lambda _: clock, SimulatedEngine(), Rules())
    await plane.start()

    early, late = map(
        _scheduled, await _commands_around_a_late_answer(plane, gate, lambda: clock.move_to(NOON + 9 * SECOND))
    )
    await plane.close()
    assert late.at == NOON + 9 * SECOND
    assert late.event.not_before is not None
    assert late.event.not_before - late.at >= timedelta(minutes=15)
    assert NOON <= early.at <= late.at
