"""A guest's system in a simulation: the loop's time, strands, the network, the disks, and seeded dice."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime

from forewarn.guest.system.parts import Chance, Files, MachineClock, Programs, Sockets, Supervisor, Threads
from forewarn.guest.system.standard import Unsupervised
from forewarn.sim.fabric.strands import Strands


@dataclass(frozen=True, slots=True)
class SimSystem:
    """One VM, as what runs in it knows it."""

    clock: MachineClock
    chance: Chance
    threads: Threads
    sockets: Sockets
    files: Files
    programs: Programs
    boots: Callable[[], int]
    environment: MutableMapping[str, str] = field(default_factory=dict)

    def boot_id(self) -> str:
        return str(self.boots())

    def supervisor(self) -> Supervisor:
        return Unsupervised()

    def on_stop(self, stop: Callable[[str], None]) -> None:
        """Does nothing: a simulated process gets no signal; it is killed or ends by itself."""


@dataclass(frozen=True, slots=True)
class StrandClock:
    """A VM's clock for its strands. One that was killed meanwhile does not see what time it is."""

    hub: Strands
    wall: Callable[[], datetime]

    def now(self) -> datetime:
        return self.wall()

    def monotonic(self) -> float:
        self.hub.current().process.check()
        return self.hub.loop.time()


@dataclass(frozen=True, slots=True)
class LoopClock:
    """The same for a program on the loop."""

    hub: Strands
    wall: Callable[[], datetime]

    def now(self) -> datetime:
        return self.wall()

    def monotonic(self) -> float:
        return self.hub.loop.time()
