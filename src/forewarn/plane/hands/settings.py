"""What a hand is told: how patient it is, and at which hosts it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from forewarn.plane.hands.engine import Engine


class MachineSettings(Struct, frozen=True):
    """Monotonic seconds all of them, whatever the region's clock does. The numbers are those of the specification."""

    grace: timedelta = timedelta(seconds=60)  # in which a guest may shut down before it is cut off; libvirt-guests: 300
    migration_timeout: timedelta = timedelta(minutes=10)  # then it is aborted; Nova's per-GiB limit: 800 s
    migration_downtime: timedelta = timedelta(milliseconds=500)  # as Nova's live_migration_downtime
    listing_every: timedelta = timedelta(seconds=10)  # without a hint
    call_timeout: timedelta = timedelta(seconds=30)  # of one call into an engine
    silent_after: timedelta = timedelta(seconds=30)  # without an answer
    fence_after: timedelta | None = timedelta(minutes=2)  # without an answer; None: never
    crash_restarts: int = 3  # within ten minutes; systemd's StartLimitBurst: 5
    parallel: int = 4  # errands at one host at a time


@dataclass(frozen=True, slots=True)
class MachineHost:
    """A host that the server's own files declare. It takes part once the region has it registered."""

    name: str
    engine: Engine
    node: str = ""  # the node that alone works there; empty: the one that leads
    fence: Callable[[], None] | None = None  # blocks until the host is off for certain, else raises ``EngineFault``
    lock: Path | None = None  # held while a hand works there, where the engine is a local one


@dataclass(frozen=True, slots=True)
class Machines:
    """All that a server is told of real machines."""

    hosts: tuple[MachineHost, ...] = ()
    settings: MachineSettings = field(default_factory=MachineSettings)
    node: str = ""  # this one's name


NO_MACHINES = Machines()
