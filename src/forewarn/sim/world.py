"""Everything that is simulated, put together: loop, network, disks, store, servers, machines, judge, and the record."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.facts import FORMAT
from forewarn.core.folding.evolve import evolve
from forewarn.core.region import Power, Region, fold
from forewarn.core.rules import Rules
from forewarn.guest.agent.telling.logs import LOGGER_NAME
from forewarn.guest.http1 import OutgoingRequest, Response
from forewarn.plane.ports import JournalFault, Record
from forewarn.plane.system import ServerSystem
from forewarn.sim.fabric.disk import Disks
from forewarn.sim.fabric.loop import SimLoop
from forewarn.sim.fabric.network import Network
from forewarn.sim.fabric.store import Store
from forewarn.sim.fabric.strands import Strands
from forewarn.sim.fleet import SECRET, config_of, tenant_of
from forewarn.sim.judging.judge import Judge
from forewarn.sim.machines import Machine, MachineSurroundings, Tenant
from forewarn.sim.nodes import METADATA, STALENESS, SimNode
from forewarn.sim.oracle import OracleSettings
from forewarn.sim.plan import ALL, SimulationPlan, Violation
from forewarn.sim.relays import SimRelay
from forewarn.sim.telling.trace import Trace
from forewarn.stores import codec
from forewarn.testing.picture.history import History, Home, Mishap

START = datetime(2026, 3, 2, tzinfo=UTC)  # any Monday: the history is told with dates, and must be the same each time
HOLD_SECONDS = 7200  # how long a waiting GET is held, so that quiet hours cost nothing; in production 120 at most
_ALIVE = (Power.RUNNING, Power.FROZEN)
_RESTART_SECONDS = (1.0, 45.0)  # ours: until a supervisor has started a server again
_STORY = 12  # ours: facts that are told of a violation, half a screen
LONG_NOTICE = timedelta(hours=36)  # of a predicted failure; a week would outlast most simulations
LAG = timedelta(seconds=15)  # ours: between a change and its showing, in every fourth plan
RULES = Rules(
    update_domains=3,
    fault_domains=2,
    vms_per_host=8,  # so that sets share hosts
    notices={Cause.PREDICTED_FAILURE: LONG_NOTICE},
)


class World:
    """One simulated region."""

    def __init__(self, plan: SimulationPlan, loop: SimLoop, trace: Trace) -> None:
        self.plan, self.loop, self.trace = plan, loop, trace
        self.hub = loop.strands = Strands(loop)
        self._begin = loop.time()
        self.network = loop.network = Network(loop, self.random("network"))
        self.network.route = self._route
        self.disks = Disks(self.hub, self.random("disks"))
        self.disks.write(SECRET, b"a secret that all agents share")
        self.skews: dict[str, timedelta] = {}
        self.chance = self.random("chance")  # for ids and the like, of servers and of guests
        self.leaps: dict[str, timedelta] = {}  # for a moment, on top of it
        self.store = Store(self.hub, self.random("store"), lambda: self.wall("store"), shared=plan.nodes > 1)
        self.store.committed = self._committed
        self.truth = Region()
        self._lag = LAG if plan.seed % 4 == 0 else timedelta(0)
        self.machines: dict[str, Machine] = {}
        self.hushed: dict[str, None] = {}  # scopes whose programs are switched off
        self.history = History(START)
        self.judge = Judge(
            self,
            self.blame,
            OracleSettings(notices={"predicted-failure": LONG_NOTICE}),
            whole_every=max(5, plan.vms // 12),
            many_nodes=plan.nodes > 1,
            staleness=STALENESS if plan.nodes > 1 or plan.relays else timedelta(0),
            lag=self._lag,
        )
        self.servers = [self._server(number) for number in range(plan.nodes)]
        self.relays = {relay.host: relay for relay in map(self._relay, range(plan.relays))}
        self._doors: dict[str, str] = {}  # VM -> the relay that it is behind, if it is behind one
        self.violations: list[Violation] = []
        self.stopped: asyncio.Future[None] = loop.create_future()
        self.interrupted = False
        self._around = MachineSurroundings(
            loop, self.hub, self.network, self.disks, self, HOLD_SECONDS, self.chance, self.wall
        )
        self._troubles: list[tuple[str, float, frozenset[str]]] = []  # kind, end, places; none: everybody
        self._under_impact: dict[str, tuple[str, ...]] = {}

    # Chance and time

    def random(self, what: str) -> Random:
        """A die of its own for each part, so that one part's throws do not move another's."""
        return Random(f"{self.plan.seed}/{what}")

    @property
    def elapsed(self) -> float:
        return self.loop.time() - self._begin

    def ticks(self) -> float:
        return self.loop.time()

    def now(self) -> datetime:
        return START + timedelta(seconds=round(self.elapsed, 6))

    def seconds(self, at: datetime) -> float:
        """An instant in seconds of the loop."""
        return self._begin + (at - START) / timedelta(seconds=1)

    def wall(self, place: str) -> datetime:
        """The wall clock of a place."""
        return self.now() + self.skews.get(place, timedelta(0)) + self.leaps.get(place, timedelta(0))

    # Servers

    def _server(self, number: int) -> SimNode:
        place = f"node-{number}"
        system = self._system(place)
        parts = (self.loop, self.network, self.store, RULES, place, self.random(place), system, self._lag)
        server = SimNode(*parts, has_relays=self.plan.relays > 0)
        server.died = self._server_died
        return server

    def _system(self, place: str) -> ServerSystem:
        """What a server takes for its machine."""
        return ServerSystem(
            wall=lambda: self.wall(place),
            elapsed=self.loop.time,
            new_uuid=lambda: UUID(int=self.chance.getrandbits(128), version=4),
            random_bytes=self.chance.randbytes,
            host_name=lambda: place,
        )

    def _server_died(self, server: SimNode) -> None:
        pause = self.random(f"restart/{server.place}/{server.starts}/{self.elapsed}").uniform(*_RESTART_SECONDS)
        self.mishap("crash", f"{server.place} died", pause, ())
        self.leaps.pop(server.place, None)  # a machine that boots asks what time it is
        self.loop.call_later(pause, server.boot)

    def _relay(self, number: int) -> SimRelay:
        nodes = [server.place for server in self.servers]
        relay = SimRelay(self.loop, self.network, number, nodes, self._system(f"relay-{number}"))
        relay.died = self._relay_died
        relay.diverged = lambda each, fault: self.blame("relays", f"{each.place} has ended: {fault}", "")
        return relay

    def _relay_died(self, relay: SimRelay) -> None:
        pause = self.random(f"restart/{relay.place}/{self.elapsed}").uniform(*_RESTART_SECONDS)
        self.mishap("crash", f"{relay.place} died", pause, ())
        self.loop.call_later(pause, relay.boot)

    def _door(self, place: str) -> str:
        """The relay beside a VM, where its host has one."""
        vm = self.truth.vms.get(place)
        relay = self.relays.get(self.truth.hosts[vm.host].name) if vm is not None and vm.host is not None else None
        return relay.place if relay is not None else ""

    def _move(self) -> None:
        """Cut the connections of VMs that have moved to a host with another relay or node.

        The judge then takes what they see there as a new beginning.
        """
        for key in self.machines:
            before, door = self._doors.get(key), self._door(key)
            self._doors[key] = door
            if before not in (None, door):
                self.network.reset_all(key)
                self.judge.eyes.moved(key)

    def _route(self, place: str, host: str, port: int) -> str | None:
        """The metadata address leads to the relay beside a VM, or to its own node, and to another while that is not
        there."""
        if host != METADATA[0]:
            return None
        if self.relays and (door := self._door(place)):
            return door
        first = sum(place.encode()) % len(self.servers)
        order = [*self.servers[first:], *self.servers[:first]]
        found = next((server for server in order if server.up and not self.network.is_cut(server.place)), order[0])
        return found.place

    # What the store has kept

    def _committed(self, records: Sequence[Record], place: str) -> None:
        before = self.truth
        for record in records:
            body = codec.encode(record.fact)
            if codec.decode(record.seq, FORMAT, body) != record.fact:
                self.blame("codec", f"record {record.seq} is not what was written: {body.decode()}", "")
            self.truth = evolve(self.truth, record.fact)
            origin = record.origin
            self.trace.fact(self.elapsed, record.seq, body, record.command, f"{origin.door} {origin.who}".strip())
            if isinstance(record.fact, f.VmCreated):
                self._note_home(record.fact)
            self.history.follow(record.fact)
        if records:
            self.judge.look(before, records, self.truth.latest_at or START)
            self.loop.call_soon(self._follow, tuple(record.fact for record in records))

    def _note_home(self, fact: f.VmCreated) -> None:
        tenant = tenant_of(fact.name, fact.spec.kind.value)
        scope = f"{fact.spec.kind.value}/{fold(fact.spec.set_name or fact.name)}"
        self.history.homes[fold(fact.name)] = Home(fact.name, scope, fact.host, fact.at, tenant=tenant.value)

    def _follow(self, facts: Sequence[f.Fact]) -> None:
        """The machines feel what the journal says."""
        for fact in facts:
            match fact:
                case f.VmCreated():
                    self._create(fact)
                case f.VmDeleted(vm=key):
                    if key in self.machines:
                        self.machines.pop(key).power_off(disk_lost=True)
                        self.judge.eyes.forget(key)
                case f.VmStopped(vm=key) | f.VmDeallocated(vm=key) | f.VmStarted(vm=key):
                    self._sync((key,))
                case f.ImpactBegan(event_id=event_id):
                    event = self.truth.events.get(event_id)
                    if event is not None:
                        self._under_impact[event_id] = event.vms
                        self._sync(event.vms)
                case f.ImpactEnded(event_id=event_id):
                    self._sync(self._under_impact.pop(event_id, ()))
                case _:
                    continue
        if self.relays:
            self._move()

    def _create(self, fact: f.VmCreated) -> None:
        key = fold(fact.name)
        if key not in self.truth.vms:
            return  # gone again already
        tenant = tenant_of(fact.name, fact.spec.kind.value)
        set_name = fact.spec.set_name.partition("~")[0]
        random = self.random(f"vm/{key}/{fact.seed}")
        self.machines[key] = Machine(fact.name, tenant, config_of(fact.name, set_name), random, self._around)
        self.machines[key].hushed = self.history.homes[key].scope in self.hushed
        self.machines[key].power_on()

    def _sync(self, keys: Sequence[str]) -> None:
        """A machine does what its VM's power says."""
        for key in keys:
            vm, machine = self.truth.vms.get(key), self.machines.get(key)
            if vm is None or machine is None:
                continue
            if vm.power not in _ALIVE:
                if machine.on:
                    machine.power_off(disk_lost=vm.power is Power.REIMAGING)
                    self.judge.eyes.restarted(key)
            else:
                machine.power_on()
                if vm.power is Power.FROZEN:
                    machine.freeze()
                else:
                    machine.thaw()

    # Users who switch their programs off

    def hush(self, scope: str, seconds: float) -> None:
        """Keep all VMs of a scope from reading for so long, also those that are added to it meanwhile."""
        self.trace.note(self.elapsed, "silence", scope=scope, seconds=round(seconds, 3))
        self.history.counts["silences"] += 1
        self.hushed[scope] = None
        for machine in self._machines_of(scope):
            machine.hush()
        self.loop.call_later(seconds, self._speak, scope)

    def _speak(self, scope: str) -> None:
        del self.hushed[scope]
        for machine in self._machines_of(scope):
            machine.speak()

    def _machines_of(self, scope: str) -> list[Machine]:
        return [each for key, each in sorted(self.machines.items()) if self.history.homes[key].scope == scope]

    # Faults as the judge knows them

    def mishap(self, kind: str, what: str, seconds: float, places: Sequence[str]) -> None:
        """Note that a fault lasts for so long, for these VMs or for all."""
        now = self.now()
        self.trace.note(self.elapsed, "fault", kind=kind, what=what, seconds=round(seconds, 3))
        self.history.mishaps.append(Mishap(kind, what, now, now + timedelta(seconds=seconds), tuple(places)))
        self.history.counts[f"fault {kind}"] += 1
        self._troubles = [each for each in self._troubles if each[1] > self.loop.time() - 100_000]
        self._troubles.append((kind, self.loop.time() + seconds, frozenset(places)))

    def disturbed(self, vm: str, begin: float, kinds: Container[str] = ALL) -> bool:
        """Whether a fault affected a VM since ``begin``, or until shortly before."""
        return any(
            end + 300.0 >= begin and kind in kinds and (not places or vm in places)
            for kind, end, places in self._troubles
        )

    # Guilt

    def saw(self, vm: str, request: OutgoingRequest, response: Response, asked_at: float) -> None:
        if self._doors.get(vm):
            self.history.counts["answers behind relays"] += 1
        self.judge.eyes.saw(vm, request, response, asked_at)

    def blame(self, rule: str, sentence: str, subject: str) -> None:
        """Record a violation with its story, and stop the simulation."""
        records = self.store.memory.about(subject, 1_000_000)[-_STORY:] if subject else []
        story = tuple(f"{record.seq} {record.fact.at:%F %T} {codec.encode(record.fact).decode()}" for record in records)
        step = self.store.memory.head()
        self.violations.append(Violation(step, f"{self.now():%F %T}", rule, sentence, story))
        if not self.stopped.done():
            self.stopped.set_result(None)

    def interrupt(self) -> None:
        """End the simulation before its time."""
        self.interrupted = True
        if not self.stopped.done():
            self.stopped.set_result(None)

    def check_strands(self) -> None:
        """No thread of an agent may end by an uncaught exception."""
        for strand, problem in self.hub.broken:
            told = f"{strand.process.name}: {strand.name} ended with {problem!r}"
            self.blame("agent", told, f"vm/{strand.process.place}")
        self.hub.broken.clear()


class InnerFaults(logging.Handler):
    """A log handler that takes errors of production code for violations: nothing may fail inside unnoticed."""

    def __init__(self, blame: Callable[[str, str, str], None]) -> None:
        super().__init__(logging.ERROR)
        self._blame = blame

    def emit(self, record: logging.LogRecord) -> None:
        problem = record.exc_info[1] if record.exc_info else None
        if problem is None or isinstance(problem, JournalFault | asyncio.CancelledError):
            return
        self._blame("inner fault", f"{record.name}: {record.getMessage()} {problem!r}", "")


def quiet_loggers() -> tuple[logging.Logger, ...]:
    """Loggers that are silenced while a world is simulated."""
    names = ("forewarn", LOGGER_NAME, "asyncio")
    return tuple(logging.getLogger(name) for name in names)


def is_settled(world: World) -> str:
    """Why the world has not come to rest yet; empty when it has."""
    if world.truth.events:
        first = min(world.truth.events.values(), key=lambda event: event.scheduled_at)
        return f"{len(world.truth.events)} events are open, the oldest is {first.id} ({first.cause}, {first.phase})"
    for key, machine in world.machines.items():
        power = world.truth.vms[key].power
        if power is not Power.RUNNING:
            return f"{key} is {power.value}"
        if machine.tenant is Tenant.AGENT and (why := machine.unfinished()):
            return f"{key} is not in service: {why}"
    return ""
