"""What a region file declares of real machines: engines, their hosts, blueprints, and how patient forewarn is.

Engine addresses, fence commands and blueprints stand here and nowhere else: the API, the command line and the portal
know them by their names only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from forewarn.settings.times import parse_duration

KINDS = ("docker", "libvirt", "remote")


@dataclass(frozen=True)
class EngineEntry:
    """One ``[[engine]]``: what runs machines. Empty means "not said"."""

    name: str
    kind: str
    socket: str = ""
    uri: str = ""
    node: str = ""
    shared_disks: bool = False
    url: str = ""
    token_file: str = ""
    ca: str = ""
    program: tuple[str, ...] = ()

    @property
    def takes(self) -> tuple[str, ...]:
        """The keys that say where an engine of this kind is reached."""
        return {"docker": ("socket",), "libvirt": ("uri",), "remote": ("url", "socket", "program")}[self.kind]


@dataclass(frozen=True)
class HostEntry:
    """One ``[[host]]``: where machines of an engine run."""

    name: str
    engine: str
    socket: str = ""
    uri: str = ""
    peer_uri: str = ""
    migrate_uri: str = ""
    node: str = ""
    fence: tuple[str, ...] = field(default=(), repr=False)  # may hold a password
    fault_domain: int = 0
    update_domain: int = 0
    capacity: int = 0
    added: bool = False


@dataclass(frozen=True)
class BlueprintEntry:
    """One ``[[blueprint]]``: what machines of an engine are made from."""

    name: str
    engine: str
    image: str = ""
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold a password
    network: str = ""
    volumes: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    memory: str = ""
    definition: str = ""
    pool: str = ""


@dataclass(frozen=True)
class MachinesEntry:
    """``[machines]``: how patient forewarn is with all of them.

    The one place of these in the server's files. Hands read their part as ``plane.hands.settings.MachineSettings``, the
    core its own as ``core.rules.Rules``; both need the server's packages, and a test holds them together.
    """

    grace: timedelta = timedelta(seconds=60)  # libvirt-guests waits for 300 s
    migration_timeout: timedelta = timedelta(minutes=10)  # Nova's limit for each GiB: 800 s
    migration_downtime: timedelta = timedelta(milliseconds=500)  # as Nova's live_migration_downtime
    listing_every: timedelta = timedelta(seconds=10)  # ours: what nobody told of is seen within that long
    call_timeout: timedelta = timedelta(seconds=30)  # ours: far longer than any call that is not hung
    silent_after: timedelta = timedelta(seconds=30)  # ours: three listings without an answer
    fence_after: timedelta | None = timedelta(minutes=2)  # ours: long enough for a daemon that is started anew
    crash_restarts: int = 3  # systemd's StartLimitBurst: 5
    when_not_migratable: str = "refuse"  # ours: nothing else is done than was asked for
    duration_from_engine: bool = False
    parallel: int = 4  # ours: a host that restarts more at a time is slow for all
    locks: str = ""


@dataclass(frozen=True)
class DeclaredHost:
    """A host with all that follows from its engine."""

    entry: HostEntry
    engine: EngineEntry

    @property
    def socket(self) -> str:
        return self.entry.socket or self.engine.socket

    @property
    def uri(self) -> str:
        return self.entry.uri or self.engine.uri

    @property
    def node(self) -> str:
        """The node that alone works there; empty: the one that leads."""
        return self.entry.node or self.engine.node

    @property
    def address(self) -> str:
        """Where the host's engine is reached, whatever its kind. Hosts with the same address are behind one engine."""
        engine = self.engine
        return self.uri if engine.kind == "libvirt" else self.socket or engine.url or " ".join(engine.program)

    @property
    def is_local(self) -> bool:
        """Whether only processes of one machine reach it, so that it has to name the node that runs there."""
        kind = self.engine.kind
        return is_local_uri(self.uri) if kind == "libvirt" else kind == "docker" or not self.engine.url


@dataclass(frozen=True)
class Declared:
    """All that a region file says of real machines."""

    engines: tuple[EngineEntry, ...] = ()
    hosts: tuple[HostEntry, ...] = ()
    blueprints: tuple[BlueprintEntry, ...] = ()
    machines: MachinesEntry = field(default_factory=MachinesEntry)
    directory: Path = field(default_factory=Path)  # of the region file: paths in it may begin there

    def of_engine(self, engine: EngineEntry) -> list[DeclaredHost]:
        return [DeclaredHost(host, engine) for host in self.hosts if host.engine == engine.name]

    def every_host(self) -> list[DeclaredHost]:
        return [host for engine in self.engines for host in self.of_engine(engine)]


NOTHING_DECLARED = Declared()


def is_local_uri(uri: str) -> bool:
    """Whether a libvirt URI means the daemon of this machine: it names no host, whatever its transport is."""
    parts = urlsplit(uri)
    return not parts.netloc and not parts.scheme.endswith("+ext")


def seconds_of(text: str, low: str, high: str) -> timedelta:
    """A duration within bounds."""
    found = parse_duration(text)
    if not parse_duration(low) <= found <= parse_duration(high):
        raise ValueError(f"{text!r} is not between {low} and {high}")
    return found


def bytes_of(text: str) -> int:
    """``512m``, ``2g`` or a whole number of bytes, as Docker writes them; nothing is no limit."""
    digits, unit = (text[:-1], text[-1:].lower()) if text[-1:].isalpha() else (text, "")
    size = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}.get(unit)
    if not text:
        return 0
    if size is None or not digits.isascii() or not digits.isdecimal() or len(digits) > 15:
        raise ValueError(f"{text!r} is not an amount of memory such as 512m or 2g")
    return int(digits) * size
