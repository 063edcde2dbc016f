"""A region with real machines, put together: loop, store, nodes, the platform, the judge, and a digest of it all."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from random import Random
from uuid import UUID

from forewarn.core import commands as c
from forewarn.core.folding.evolve import evolve
from forewarn.core.invariants import region as invariants
from forewarn.core.refusal import Refused
from forewarn.core.region import Region
from forewarn.core.rules import Rules
from forewarn.engines.twin.hosts import TwinCall
from forewarn.plane.hands.engine import EngineFault
from forewarn.plane.hands.settings import MachineHost, Machines
from forewarn.plane.ports import JournalFault, Origin, Record
from forewarn.plane.system import ServerSystem
from forewarn.sim.fabric.loop import SimLoop
from forewarn.sim.fabric.network import Network
from forewarn.sim.fabric.store import Store
from forewarn.sim.fabric.strands import Strands
from forewarn.sim.hands.judge import HandsJudge
from forewarn.sim.hands.plan import HandsPlan
from forewarn.sim.hands.platform import NodesEngine, hosts_in
from forewarn.sim.nodes import SimNode
from forewarn.sim.plan import Violation
from forewarn.stores import codec

START = datetime.fromisoformat("2026-03-02T00:00:00+00:00")
PEOPLE = Origin("operator", "sim")
_STORY = 14  # facts that are told of a violation
_RESTART_SECONDS = (1.0, 45.0)  # ours: shorter and longer than the lease of a leader (10 s)


class HandsWorld:
    """One simulated region."""

    def __init__(self, plan: HandsPlan, loop: SimLoop) -> None:
        self.plan, self.loop = plan, loop
        self.hub = loop.strands = Strands(loop)
        self._begin = loop.time()
        self.network = loop.network = Network(loop, self.random("network"))
        self.store = Store(self.hub, self.random("store"), self.now, shared=plan.nodes > 1)
        self.store.committed = self._committed
        self.truth = Region()
        self.violations: list[Violation] = []
        self.stopped: asyncio.Future[None] = loop.create_future()
        self.host_names = tuple(f"alpha-{number}" for number in range(plan.hosts))
        self.platform = hosts_in(self.hub, self.host_names)
        self.judge = HandsJudge(self.platform, self.blame, self.now)
        self.platform.onlooker = self
        self.fences_work = True
        self._chance = self.random("chance")
        self._digest = hashlib.sha256()
        self.nodes = [self._node(f"node-{number}") for number in range(plan.nodes)]

    # Chance and time

    def random(self, what: str) -> Random:
        return Random(f"{self.plan.seed}/{what}")

    @property
    def elapsed(self) -> float:
        return self.loop.time() - self._begin

    def now(self) -> datetime:
        return START + timedelta(seconds=round(self.elapsed, 6))

    # Nodes

    def _node(self, place: str) -> SimNode:
        system = ServerSystem(
            wall=self.now,
            elapsed=self.loop.time,
            new_uuid=lambda: UUID(int=self._chance.getrandbits(128), version=4),
            random_bytes=self._chance.randbytes,
            host_name=lambda: place,
        )
        node = SimNode(self.loop, self.network, self.store, Rules(), place, self.random(place), system)
        node.machines = partial(self._machines, node)
        node.died = self._died
        return node

    def _machines(self, node: SimNode) -> Machines:
        """The hands of one life of a node."""
        handle = node.handle
        engine = NodesEngine(self.platform, lambda: not handle.dead, self.hub.park)
        return Machines(tuple(MachineHost(name, engine, fence=partial(self._fence, name)) for name in self.host_names))

    def _fence(self, name: str) -> None:
        if not self.fences_work:
            raise EngineFault("the fence does not answer")
        self.platform.fence(name)
        self.platform.silent.add(name)

    def _died(self, node: SimNode) -> None:
        pause = self.random(f"restart/{node.place}/{node.starts}/{self.elapsed}").uniform(*_RESTART_SECONDS)
        self.loop.call_later(pause, node.boot)

    async def ask(self, command: c.Command, node: SimNode) -> bool:
        """What a person asks of a node. Whether it was done; where no answer came, that is not known."""
        if node.plane is None:
            return False
        try:
            async with asyncio.timeout(60.0):
                await node.plane.submit(command, PEOPLE)
        except Refused as refusal:
            self.judge.counts["refused"] += 1
            self._note(f"refused {type(command).__name__} {refusal}")
            return False
        except (JournalFault, TimeoutError):
            return False
        self.judge.counts["asked"] += 1
        return True

    # What is kept, and what is done

    def _committed(self, records: Sequence[Record], place: str) -> None:
        for record in records:
            body = codec.encode(record.fact)
            self.truth = evolve(self.truth, record.fact)
            self._note(f"{record.seq} {record.command} {body.decode()}")
        if records:
            self.judge.look(records, self.truth)
            try:
                invariants.check(self.truth)
            except AssertionError as wrong:
                self.blame("invariant", str(wrong), "")

    def about_to(self, call: TwinCall, host: str, ref: str, errand: str, to: str) -> None:
        self._note(f"{call} {ref} {host} {to} {errand}")
        self.judge.about_to(call, host, ref, errand, to)

    def lost_memory(self, ref: str) -> None:
        self.judge.lost_memory(ref)

    def _note(self, line: str) -> None:
        self._digest.update(f"{self.elapsed:.6f} {line}\n".encode())

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()[:16]

    def blame(self, rule: str, sentence: str, subject: str) -> None:
        """Record a violation with its story, and stop."""
        memory = self.store.memory
        records = memory.about(subject, 1_000_000) if subject else memory.read(max(memory.head() - _STORY, 0), _STORY)
        story = tuple(
            f"{record.seq} {record.fact.at:%F %T} {codec.encode(record.fact).decode()}" for record in records[-_STORY:]
        )
        self.violations.append(Violation(self.store.memory.head(), f"{self.now():%F %T}", rule, sentence, story))
        if not self.stopped.done():
            self.stopped.set_result(None)
