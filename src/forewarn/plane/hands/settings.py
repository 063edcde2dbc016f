"""What a hand is told: how patient it is, and at which hosts it works."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from forewarn.core.commands import RegisterHost
from forewarn.plane.hands.engine import Engine


class MachineSettings(Struct, frozen=True):
    """Monotonic seconds all of them, whatever the region's clock does. The numbers are those of the specification.

    What decides which errands there are, and how long a guest may take, stands in ``core.rules`` and not here.
    """

    migration_timeout: timedelta = timedelta(minutes=10)  # then it is aborted; Nova's per-GiB limit: 800 s
    migration_downtime: timedelta = timedelta(milliseconds=500)  # as Nova's live_migration_downtime
    listing_every: timedelta = timedelta(seconds=10)  # without a hint
    call_timeout: timedelta = timedelta(seconds=30)  # of one call into an engine
    silent_after: timedelta = timedelta(seconds=30)  # without an answer
    fence_after: timedelta | None = timedelta(minutes=2)  # without an answer; None: never
    parallel: int = 4  # errands at one host at a time


@dataclass(frozen=True, slots=True)
class MachineHost:
    """A host that the server's own files declare. It takes part once the region has it registered."""

    name: str
    engine: Engine
    node: str = ""  # the node that alone works there; empty: the one that leads
    fence: Callable[[], None] | None = None  # blocks until the host is off for certain, else raises ``EngineFault``
    lock: Path | None = None  # held while a hand works there, where the engine is a local one
    fault_domain: int = 0
    update_domain: int = 0
    capacity: int = 20  # VMs that fit there; as the setting vms_per_host has it
    kind: str = ""  # of its engine, as the server's own files name it: docker, libvirt, remote

    def registering(self) -> RegisterHost:
        """The command by which it takes part. May ask the engine what it can do, for some seconds."""
        kinds = tuple(sorted(self.engine.kinds))
        return RegisterHost(self.name, self.engine.name, self.fault_domain, self.update_domain, self.capacity, kinds)


@dataclass(frozen=True, slots=True)
class Machines:
    """All that a server is told of real machines."""

    hosts: tuple[MachineHost, ...] = ()
    settings: MachineSettings = field(default_factory=MachineSettings)
    node: str = ""  # this one's name
    blueprints: Mapping[str, str] = field(default_factory=dict)  # what machines are made from: name -> engine


NO_MACHINES = Machines()
