"""What is to be done to a machine, what was seen of one, and all that are at one host."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct


class MachinePower(StrEnum):
    """What an engine says a machine is doing."""

    RUNNING = "running"
    PAUSED = "paused"
    OFF = "off"
    GONE = "gone"


class SeenWhy(StrEnum):
    """Why a machine is off, as far as its engine knows."""

    ASKED = "asked"
    GUEST = "guest"  # shut down from inside
    CRASH = "crash"
    UNKNOWN = "unknown"


class Sighting(Struct, frozen=True, omit_defaults=True):
    """What an engine says is there now: one machine."""

    ref: str
    host: str
    power: MachinePower
    boot_mark: str = ""  # opaque; changes whenever the machine loses its memory, and only then
    why: SeenWhy = SeenWhy.UNKNOWN
    errand: str = ""  # the last errand whose id the engine keeps with the machine, where it can


class Listing(Struct, frozen=True):
    """All that an engine runs at one host, adopted or not. Where it is complete, absence means gone."""

    host: str
    complete: bool
    machines: tuple[Sighting, ...]
    cursor: str = ""


class ErrandKind(StrEnum):
    """What may be wanted of a machine; each is satisfied by a sighting, as the line says."""

    CREATE = "create"  # runs on ``to``
    START = "start"  # runs on ``to``
    STOP = "stop"  # off, and still at its host
    OFF = "off"  # off, and at no host
    DELETE = "delete"  # gone
    RESTART = "restart"  # runs, with another boot mark
    PAUSE = "pause"  # ``until`` has passed, and it runs
    MIGRATE = "migrate"  # runs on ``to``, with the same boot mark
    REDEPLOY = "redeploy"  # runs on ``to``, with another boot mark and an empty ephemeral disk
    REIMAGE = "reimage"  # runs, with another boot mark and a new disk of its system
    FENCE = "fence"  # the host is known to be off


class Errand(Struct, frozen=True, omit_defaults=True):
    """One thing to be done to one machine. Its id never changes; doing it twice has the effect of doing it once."""

    id: str
    kind: ErrandKind
    engine: str
    host: str  # where the machine is, as far as the region knows; the host itself for FENCE
    made_at: datetime
    vm: str = ""  # the VM's key; empty for FENCE
    vm_id: str = ""  # its GUID
    ref: str = ""  # the engine's own name for the machine; empty before CREATE
    to: str = ""  # the host where it is to be: CREATE, START, MIGRATE, REDEPLOY
    boot_mark: str = ""  # the machine's when this was made
    until: datetime | None = None  # PAUSE: when it is over, by the region's clock
    grace: timedelta = timedelta(0)  # how long the guest may take to obey before it is cut off
    patience: timedelta = timedelta(0)  # after which the errand is given up or called overdue; 0: never
    event: str = ""  # the event whose impact this is; empty outside events
    blueprint: str = ""  # what to create from, by its name in the server's own files
