"""VMs: a machine with power, a disk and programs, and in it production's agent, production's client, or neither."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from random import Random
from typing import Any, Protocol, cast

from forewarn.guest.agent.deciding.state import AgentState
from forewarn.guest.agent.keeping.journal import Busy
from forewarn.guest.agent.loop import Agent
from forewarn.guest.agent.manners import AgentPace
from forewarn.guest.agent.steps import has_reverse
from forewarn.guest.agent.values import AgentConfig
from forewarn.guest.aio import AsyncClient
from forewarn.guest.client import Client
from forewarn.guest.exchange import Action, Outcome, Send
from forewarn.guest.faults import GuestError
from forewarn.guest.http1 import OutgoingRequest, Response
from forewarn.guest.watch import Appeared, Change, is_started
from forewarn.sim.fabric.disk import Disks, SimFiles
from forewarn.sim.fabric.loop import PLACE, SimLoop
from forewarn.sim.fabric.network import Network
from forewarn.sim.fabric.sockets import SimSockets
from forewarn.sim.fabric.strands import Process, SimThreads, Strands
from forewarn.sim.fabric.system import LoopClock, SimSystem, StrandClock
from forewarn.sim.programs import Programs

ENDPOINT = "http://169.254.169.254"
AGENT_PACE = AgentPace(busy_seconds=20.0, idle_seconds=3600.0)  # production looks more often, and at the same things
POLL_SECONDS = 10.0  # one second in production; rarer here, so that a week takes a minute
_BOOT_SECONDS = (3.0, 40.0)  # ours: a small VM to a loaded one
_RESTART_SECONDS = (1.0, 60.0)  # ours: until a supervisor has started an agent again


class Tenant(StrEnum):
    """What runs in a VM."""

    AGENT = "agent"
    WATCHER = "watcher"  # a user's program with the client library
    NOBODY = "nobody"


class Witness(Protocol):
    """The judge's side of a guest: it is told every answer that the guest gets."""

    def saw(self, vm: str, request: OutgoingRequest, response: Response, asked_at: float) -> None: ...


@dataclass(frozen=True, slots=True)
class MachineSurroundings:
    """What all machines share."""

    loop: SimLoop
    hub: Strands
    network: Network
    disks: Disks
    witness: Witness
    hold_seconds: int  # how long a waiting GET is held
    chance: Random  # where no part of a machine has dice of its own
    wall: Callable[[str], datetime]


class SeenClient(Client):
    """Production's client, whose answers are shown to the judge."""

    vm: str
    around: MachineSurroundings

    def _do(self, action: Action) -> Outcome:
        asked_at = self.around.loop.time()
        outcome = super()._do(action)
        if isinstance(action, Send) and isinstance(outcome, Response):
            self.around.witness.saw(self.vm, action.request, outcome, asked_at)
        return outcome


class SeenAsyncClient(AsyncClient):
    """The same for a program on a loop."""

    vm: str
    around: MachineSurroundings

    async def _do(self, action: Action) -> Outcome:
        asked_at = self.around.loop.time()
        outcome = await super()._do(action)
        if isinstance(action, Send) and isinstance(outcome, Response):
            self.around.witness.saw(self.vm, action.request, outcome, asked_at)
        return outcome


class Machine:
    """One VM. Power follows the region; what happens inside is its own."""

    def __init__(
        self, name: str, tenant: Tenant, config: AgentConfig, random: Random, around: MachineSurroundings
    ) -> None:
        self.name, self.tenant, self.config, self.random, self._around = name, tenant, config, random, around
        self.key = name.lower()
        self.programs = Programs(around.hub, around.disks, random)
        self._system = SimSystem(
            StrandClock(around.hub, lambda: around.wall(self.key)),
            around.chance,
            SimThreads(around.hub),
            SimSockets(around.network, around.hub),
            SimFiles(around.disks),
            self.programs,
            lambda: self.boots,
        )
        self.on = False
        self.hushed = False  # its user has switched the programs off
        self.boots = 0
        self.disk_lost_at = -1e9
        self.process: Process | None = None
        self.agent: Agent | None = None
        self.silent: list[tuple[float, float]] = []  # (begin, end) of each stretch in which no program of it ran
        self._silent_since: float | None = around.loop.time()
        self._generation = 0  # what was planned for an earlier life is not done in this one
        self._fill_disk()

    # Power

    def power_on(self) -> None:
        if not self.on:
            self.on = True
            self.boots += 1
            self._start_in(self.random.uniform(*_BOOT_SECONDS))

    def power_off(self, *, disk_lost: bool = False) -> None:
        self._generation += 1
        self._end_tenant()
        self._around.network.vanish(self.key, silent=True)
        self.programs.power_off()
        self._around.disks.lose_power(self.key)
        self.on = False
        if disk_lost:
            self.programs.changed.clear()
            self._around.disks.wipe(self.key)
            self._fill_disk()
            self.disk_lost_at = self._around.loop.time()

    def _fill_disk(self) -> None:
        self._around.disks.write(f"/{self.key}/ready", b"")

    def freeze(self) -> None:
        if self.process is not None:
            self.process.freeze()
            self._fall_silent()

    def thaw(self) -> None:
        if self.process is not None and self.process.frozen:
            self.process.thaw()
            self._speak_up()

    def _fall_silent(self) -> None:
        if self._silent_since is None:
            self._silent_since = self._around.loop.time()

    def _speak_up(self) -> None:
        if self._silent_since is not None:
            self.silent = [*self.silent[-20:], (self._silent_since, self._around.loop.time())]
            self._silent_since = None

    def silent_seconds(self, begin: float, end: float) -> float:
        """For how many seconds of a stretch of time no program of the VM ran."""
        stretches = [*self.silent, *([(self._silent_since, end)] if self._silent_since is not None else [])]
        return sum(max(0.0, min(last, end) - max(first, begin)) for first, last in stretches)

    def troubled_since(self, begin: float) -> bool:
        """Whether a step failed, hung, was called off, cut short or undone, or the disk was lost, recently or since."""
        troubled_at = max(self.programs.trouble_at, self.disk_lost_at)
        return troubled_at >= begin - 300.0 or self.programs.left_half_before(begin)

    # The programs inside

    @property
    def at_work(self) -> bool:
        return self.process is not None

    def crash(self) -> None:
        """Kill the agent alone; its supervisor starts it again."""
        if self.process is not None:
            self._generation += 1
            self._end_tenant()
            self._start_in(self.random.uniform(*_RESTART_SECONDS))

    def hush(self) -> None:
        """Keep its programs from sending anything until ``speak``."""
        self.hushed = True
        self._generation += 1
        self._end_tenant()

    def speak(self) -> None:
        self.hushed = False
        if self.on and self.process is None:
            self._start_in(self.random.uniform(*_RESTART_SECONDS))

    def _end_tenant(self) -> None:
        self._fall_silent()
        process, self.process, self.agent = self.process, None, None
        if process is not None:
            process.kill()
        if self.tenant is Tenant.WATCHER:
            self._around.loop.abandon(self.key)
            self._around.network.vanish(self.key, silent=False)

    def _start_in(self, seconds: float) -> None:
        self._around.loop.call_later(seconds, self._start, self._generation)

    def _start(self, generation: int) -> None:
        if generation != self._generation or not self.on or self.hushed:
            return
        if self.tenant is Tenant.AGENT:
            self.process = Process(f"the agent of {self.name}", self.key)
            self._around.hub.start(self.process, "agent", lambda: self._run_agent(generation))
        elif self.tenant is Tenant.WATCHER:
            self.process = Process(f"the watcher of {self.name}", self.key)
            context = contextvars.copy_context()
            context.run(PLACE.set, self.key)
            self._around.loop.create_task(self._watch(), context=context)
        self._speak_up()

    def _run_agent(self, generation: int) -> None:
        """As ``run_agent`` does; a supervisor starts it again where it gave up."""
        try:
            self.agent = Agent(self.config, system=self._system, client=self._client, pace=AGENT_PACE)
            self.agent.run()
        except (Busy, OSError):
            pass
        if generation == self._generation and self.process is not None:
            self._around.loop.call_soon(self.process.kill)  # what it held is let go of
            self.process = self.agent = None
            self._fall_silent()
            self._start_in(5.0)

    async def _watch(self) -> None:
        """A user's own program: it approves about half of what it sees, without preparing for anything."""
        clock = LoopClock(self._around.hub, lambda: self._around.wall(self.key))
        client = SeenAsyncClient(
            f"{ENDPOINT}/vm/{self.name}",
            system=replace(self._system, clock=clock, chance=Random(self.random.random())),
            wait_seconds=self._around.hold_seconds,
            poll_seconds=POLL_SECONDS,
        )
        client.vm, client.around = self.key, self._around
        while True:
            try:
                async with aclosing(cast(AsyncGenerator[Change, None], client.watch())) as changes:
                    async for change in changes:
                        await self._consider(client, change)
            except GuestError:
                await asyncio.sleep(30.0)

    async def _consider(self, client: AsyncClient, change: Change) -> None:
        if isinstance(change, Appeared) and not is_started(change.event) and self.random.random() < 0.5:
            await asyncio.sleep(self.random.uniform(0.1, 60.0))
            await client.approve(change.event.event_id)

    def _client(self, endpoint: str | None, *, system: SimSystem, **manners: Any) -> SeenClient:
        """The client of this machine's agent."""
        dice = replace(system, chance=Random(self.random.random()))
        made = SeenClient(endpoint, system=dice, wait_seconds=self._around.hold_seconds, **manners)
        made.vm, made.around = self.key, self._around
        return made

    # In truth, not in belief

    @property
    def state(self) -> AgentState:
        """What the agent believes; nothing where there is none."""
        return AgentState() if self.agent is None else self.agent._state

    def is_prepared(self, steps: tuple[str, ...]) -> bool:
        return all(self._is_done(name) for name in steps)

    def _is_done(self, name: str) -> bool:
        if name == "out-of-balancer":
            return not self._around.disks.exists(f"/{self.key}/ready")
        return self.programs.changed.get(name) == "done"

    def unfinished(self) -> str:
        """What keeps it from being in service; empty when nothing does."""
        if not self.on:
            return "it is not running"
        if self.tenant is not Tenant.AGENT:
            return ""
        if self.agent is None:
            return "its agent is switched off" if self.hushed else "its agent is not running"
        state = self.state
        if state.cares or state.effects:
            effects = [f"{effect.step.name} {effect.mark}" for effect in state.effects]
            return (
                f"its agent cares for {', '.join(state.cares) or 'nothing'} and has {', '.join(effects) or 'no step'}"
            )
        steps = {step.name: step for step in self.config.steps}
        left = [name for name in self.programs.changed if has_reverse(steps[name])]
        if not self._around.disks.exists(f"/{self.key}/ready"):
            left.append("out-of-balancer")
        return f"its agent forgot to undo {', '.join(left)}" if left else ""
