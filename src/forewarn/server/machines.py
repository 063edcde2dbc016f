"""What a region file declares of real machines, as the engines and hosts of a server."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from forewarn.core.refusal import Refused
from forewarn.durable import make_directory
from forewarn.plane.hands.engine import Engine, EngineFault
from forewarn.plane.hands.settings import MachineHost, Machines, MachineSettings
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.plane.system import SYSTEM, ServerSystem
from forewarn.server.fencing import fence_by
from forewarn.settings.errors import CommandFailed
from forewarn.settings.extras import look_for
from forewarn.settings.machine_entries import (
    BlueprintEntry,
    Declared,
    DeclaredHost,
    EngineEntry,
    MachinesEntry,
    bytes_of,
)
from forewarn.settings.machine_tables import this_node
from forewarn.settings.resolve import Settings

_ORIGIN = Origin("operator", "region file")


def machines_of(declared: Declared, settings: Settings, system: ServerSystem = SYSTEM) -> Machines:
    """Engines are made, and none is called yet. ``CommandFailed`` where one cannot be had on this machine."""
    node = this_node(declared, settings.node_name, shared=bool(settings.store))
    if not declared.engines:
        return Machines(node=node)
    told = settings_of(declared.machines)
    hosts: list[MachineHost] = []
    for entry in declared.engines:
        engine = _engine_of(declared, entry, told, node, system)
        hosts += _hosts_of(declared, entry, engine, told, node, settings.vms_per_host)
    return Machines(tuple(hosts), told, node, {each.name: each.engine for each in declared.blueprints})


def settings_of(entry: MachinesEntry) -> MachineSettings:
    """``[machines]`` as hands read it."""
    return MachineSettings(
        migration_timeout=entry.migration_timeout,
        migration_downtime=entry.migration_downtime,
        listing_every=entry.listing_every,
        call_timeout=entry.call_timeout,
        silent_after=entry.silent_after,
        fence_after=entry.fence_after,
        parallel=entry.parallel,
    )


async def add_hosts(plane: Plane, machines: Machines, declared: Declared) -> None:
    """Let the hosts take part that the file adds. Nodes that start together from one file take turns."""
    wanted = {host.name for host in declared.hosts if host.added}
    for host in machines.hosts:
        if host.name not in wanted:
            continue
        async with plane.editing:
            known = plane.region.real_host(host.name)
            if known is not None and known.takes_part:
                continue
            try:
                await plane.submit(await asyncio.to_thread(host.registering), _ORIGIN)
            except Refused as refused:
                raise CommandFailed(f"the region file's host {host.name!r} was refused: {refused.message}") from None


# Engines


def _engine_of(
    declared: Declared, entry: EngineEntry, told: MachineSettings, node: str, system: ServerSystem
) -> Engine:
    hosts = declared.of_engine(entry)
    blueprints = [each for each in declared.blueprints if each.engine == entry.name]
    if entry.kind == "docker":
        return _docker(entry, hosts, blueprints, told)
    if entry.kind == "libvirt":
        return _libvirt(declared, entry, hosts, blueprints, told, node, system)
    return _remote(declared, entry, told)


def _docker(
    entry: EngineEntry, hosts: list[DeclaredHost], blueprints: list[BlueprintEntry], told: MachineSettings
) -> Engine:
    from forewarn.engines.docker.engine import DockerEngine
    from forewarn.engines.docker.making import Blueprint

    made = [
        Blueprint(
            name=each.name,
            image=each.image,
            command=each.command,
            environment=tuple(f"{name}={value}" for name, value in each.environment.items()),
            network=each.network,
            volumes=each.volumes,
            mounts=each.mounts,
            memory=bytes_of(each.memory),
        )
        for each in blueprints
    ]
    sockets = {host.entry.name: host.socket for host in hosts}
    return DockerEngine(entry.name, sockets, made, told.call_timeout.total_seconds())


def _libvirt(
    declared: Declared,
    entry: EngineEntry,
    hosts: list[DeclaredHost],
    blueprints: list[BlueprintEntry],
    told: MachineSettings,
    node: str,
    system: ServerSystem,
) -> Engine:
    from forewarn.engines.libvirt.binding import libvirt
    from forewarn.engines.libvirt.engine import LibvirtEngine
    from forewarn.engines.libvirt.hosts import LibvirtHost
    from forewarn.engines.libvirt.making import LibvirtBlueprint

    if any(host.node in ("", node) for host in hosts):
        look_for("libvirt", '[[engine]] kind = "libvirt"')
        libvirt()  # says now what is missing, and not when the first host is listed
    reached = [
        LibvirtHost(host.entry.name, _uri(host, node), host.entry.peer_uri, host.entry.migrate_uri) for host in hosts
    ]
    made = {
        each.name: LibvirtBlueprint(each.name, _definition(declared.directory, each), each.pool, each.image)
        for each in blueprints
    }
    return LibvirtEngine(
        entry.name,
        reached,
        system.elapsed,
        made,
        migration_timeout=told.migration_timeout,
        migration_downtime=told.migration_downtime,
        disks_are_shared=entry.shared_disks,
    )


def _remote(declared: Declared, entry: EngineEntry, told: MachineSettings) -> Engine:
    from forewarn.engines.remote.engine import RemoteEngine
    from forewarn.engines.remote.http_wire import HttpWire, token_of
    from forewarn.engines.remote.program_wire import ProgramWire

    token = token_of(declared.directory / entry.token_file) if entry.token_file else None
    try:
        if entry.program:
            wire: HttpWire | ProgramWire = ProgramWire(entry.program)
        else:
            ca = declared.directory / entry.ca if entry.ca else None
            wire = HttpWire(entry.url or f"unix://{entry.socket}", token=token, ca=ca)
        if token is not None:
            token()  # says now what is wrong with it, and not when the first host is listed
    except EngineFault as fault:
        raise CommandFailed(f"engine {entry.name!r} of the region file: {fault}") from None
    return RemoteEngine(entry.name, wire, told.call_timeout.total_seconds())


def _uri(host: DeclaredHost, node: str) -> str:
    """A local URI means another daemon at another node: there the host is reached as its peers reach it."""
    return host.uri if host.node in ("", node) else host.entry.peer_uri or host.uri


def _definition(directory: Path, blueprint: BlueprintEntry) -> str:
    try:
        return (directory / blueprint.definition).read_text()
    except (OSError, UnicodeDecodeError) as fault:
        raise CommandFailed(f"the definition of blueprint {blueprint.name!r} cannot be read: {fault}.") from None


# Hosts


def _hosts_of(
    declared: Declared, entry: EngineEntry, engine: Engine, told: MachineSettings, node: str, usual_capacity: int
) -> Iterator[MachineHost]:
    """The first of those behind one local address holds its lock."""
    locked: set[str] = set()
    for host in declared.of_engine(entry):
        lock = None
        if host.is_local and host.node == node and host.address not in locked:
            lock = _lock_of(declared.machines, host)
            locked.add(host.address)
        fence = host.entry.fence
        yield MachineHost(
            name=host.entry.name,
            engine=engine,
            node=host.node,
            fence=fence_by(fence, host.entry.name, told.call_timeout) if fence else None,
            lock=lock,
            fault_domain=host.entry.fault_domain,
            update_domain=host.entry.update_domain,
            capacity=host.entry.capacity or usual_capacity,
            kind=entry.kind,
        )


def _lock_of(entry: MachinesEntry, host: DeclaredHost) -> Path:
    """Named after where the engine is, so that two servers find each other whatever they call the host."""
    directory = Path(entry.locks) if entry.locks else _usual_locks()
    try:
        make_directory(directory)
    except OSError as fault:
        raise CommandFailed(f"the locks of hosts cannot be kept in {directory}: {fault.strerror or fault}.") from None
    place = os.path.realpath(host.address) if host.address.startswith("/") else host.address
    return directory / f"{hashlib.sha256(place.encode()).hexdigest()[:16]}.lock"


def _usual_locks() -> Path:
    """The directory for locks of hosts, which all servers of one user, or of root, share."""
    if sys.platform == "win32":
        return Path(tempfile.gettempdir()) / "forewarn"
    if os.geteuid() == 0:
        return Path("/run/forewarn")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "forewarn" if runtime else Path(tempfile.gettempdir()) / f"forewarn-{os.geteuid()}"
