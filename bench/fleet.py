"""A region of some size inside this process, for costs that must not grow with it: ``python -m bench.fleet SIZE``.

Two of these run side by side and are asked in turn, by lines on their standard input; each answer is one line of JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.processes import memory_megabytes
from forewarn.core.causes import Cause
from forewarn.core.commands import Approve, CreateVms, MaintainHosts, Pulse, RestartVms, Tick
from forewarn.core.facts import EventScheduled
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.core.step import step
from forewarn.plane.clock import TurnableClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.server.assembly import Parts, assemble
from forewarn.stores.sqlite.journal import SqliteJournal

_START = datetime(2026, 1, 1, tzinfo=UTC)
_OPERATOR = Origin("operator")
_RULES = Rules(user_operation_limit=0)
_AT_ONCE = 10_000
_TURNS = 200
_STEPS = 2_000  # without a disk to wait for
_DUE_HOSTS = 5


class Fleet:
    """Lone VMs, each of which reads its events: every one has its scope, its document and its place in the agenda."""

    def __init__(self, plane: Plane, size: int) -> None:
        self._plane = plane
        self._size = size
        self._turn = 0

    async def build(self) -> dict[str, float]:
        before, begun = memory_megabytes(), time.process_time()
        for chunk in self._chunks():
            await self._plane.submit(CreateVms(chunk, VmSpec(), _guid()), _OPERATOR)
        spent, created = time.process_time() - begun, _settled_megabytes()
        for chunk in self._chunks():
            now = self._plane.now()
            await self._plane.submit(Pulse(tuple((name, now) for name in chunk)), _OPERATOR)
        told = {"created": created - before, "reading": _settled_megabytes() - before, "cpu_seconds": spent}
        gc.freeze()  # and so rarely a collection, as a server that has loaded such a region
        gc.set_threshold(10_000, 10, 1_000)
        return told

    def _chunks(self) -> Iterator[tuple[str, ...]]:
        for first in range(0, self._size, _AT_ONCE):
            yield tuple(f"web-{number}" for number in range(first, min(first + _AT_ONCE, self._size)))

    def _some_vms(self, count: int) -> list[str]:
        """VMs from all over the fleet, others each time."""
        self._turn += 1
        return [f"web-{(self._turn * 61 + number * 7919) % self._size}" for number in range(count)]

    async def written(self) -> dict[str, float]:
        """A restart and its approval through the plane, on disk before they are answered."""
        names = self._some_vms(_TURNS)
        cpu, wall = time.process_time(), time.perf_counter()
        for name in names:
            facts = await self._plane.submit(RestartVms((name,), _guid()), _OPERATOR)
            ids = tuple(fact.event.id for fact in facts if isinstance(fact, EventScheduled))
            await self._plane.submit(Approve(ids, "operator"), _OPERATOR)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        await self._settle()
        return {"cpu": cpu / _TURNS, "wall": wall / _TURNS}

    async def stepped(self) -> dict[str, float]:
        """The same in the core alone: no journal, no loop."""
        region, now, names = self._plane.region, self._plane.now(), self._some_vms(_STEPS)
        cpu = time.process_time()
        for name in names:
            region, facts = step(region, RestartVms((name,), _guid()), now, _RULES)
            ids = tuple(fact.event.id for fact in facts if isinstance(fact, EventScheduled))
            region, _ = step(region, Approve(ids, "operator"), now, _RULES)
        return {"cpu": (time.process_time() - cpu) / _STEPS}

    async def idle_tick(self) -> dict[str, float]:
        """A tick at which nothing is due."""
        region, now = self._plane.region, self._plane.now()
        turns = _STEPS * 10
        cpu = time.process_time()
        for _ in range(turns):
            step(region, Tick(), now, _RULES)
        return {"cpu": (time.process_time() - cpu) / turns}

    async def due_tick(self) -> dict[str, float]:
        """A tick at which a few hosts' maintenance falls due: cost for each event that starts."""
        hosts = tuple(f"host-{number}" for number in range(_DUE_HOSTS))
        now = self._plane.now()
        region, _ = step(self._plane.region, MaintainHosts(hosts, Cause.FREEZE, _guid()), now, _RULES)
        later, started, cpu = now + timedelta(minutes=16), 0, 0.0
        for _ in range(50):
            begun = time.process_time()
            _, facts = step(region, Tick(), later, _RULES)
            cpu += time.process_time() - begun
            started += len(facts)
        return {"cpu": cpu / started}

    async def _settle(self) -> None:
        """Let what was started come to its end, so that the next round finds what this one found."""
        await self._plane.advance(self._plane.now() + timedelta(minutes=5))


async def _run(size: int) -> None:
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory:
        journal = SqliteJournal(Path(directory))
        parts = Parts(journal=journal, clock_from=lambda _: TurnableClock(_START), rules=_RULES)
        plane = (await assemble(parts)).plane
        await plane.start()
        fleet = Fleet(plane, size)
        _tell(await fleet.build())
        questions: dict[str, Callable[[], Awaitable[dict[str, float]]]] = {
            "written": fleet.written,
            "stepped": fleet.stepped,
            "idle_tick": fleet.idle_tick,
            "due_tick": fleet.due_tick,
        }
        while question := (await asyncio.to_thread(sys.stdin.readline)).strip():
            _tell(await questions[question]())
        await plane.close()


def _tell(answer: dict[str, float]) -> None:
    print(json.dumps(answer), flush=True)


def _settled_megabytes() -> float:
    gc.collect()
    return memory_megabytes()


def _guid() -> str:
    return str(uuid.uuid4()).upper()


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1])))
