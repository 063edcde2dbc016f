"""What production's guest and server take for their machine while a simulation runs: its clock, threads, disk, chance.

Each line names a module and what stands there for something of the standard library. Nothing else of production is
touched, and everything is put back.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from random import Random
from types import SimpleNamespace
from typing import Any

from forewarn import durable
from forewarn.guest import clock as guest_clock
from forewarn.guest import connections
from forewarn.guest.agent import loop, reader
from forewarn.guest.agent.barrier import lines as barrier_lines
from forewarn.guest.agent.barrier import words as barrier_words
from forewarn.guest.agent.doing import approval, budget, calling, consent, worker
from forewarn.guest.agent.keeping import journal
from forewarn.guest.agent.steps import command, ready_file
from forewarn.guest.agent.telling import channels as telling
from forewarn.guest.agent.telling import health, metrics, sd_notify
from forewarn.plane import clock as plane_clock
from forewarn.plane import following, membership, snapshots
from forewarn.sim.fabric.disk import Disks, fcntl_of, os_of, path_of
from forewarn.sim.fabric.loop import PLACE
from forewarn.sim.fabric.network import Network, socket_of
from forewarn.sim.fabric.store import LEAD_SECONDS
from forewarn.sim.fabric.strands import Strands, queue_of, threading_of, time_of
from forewarn.sim.machines import Machine
from forewarn.web.metadata import face
from forewarn.web.metadata.http import roster
from forewarn.web.operator import desk, gate

BUSY_SECONDS = 20.0  # how often an agent looks while there is something to do; in production 1
IDLE_SECONDS = 3600.0  # and while there is nothing; in production 30
GLANCE_SECONDS = 20.0  # how often a node asks the store whether it has missed something; in production 1
SWEEP_SECONDS = 60.0  # how often the metadata face looks for connections that have gone quiet; in production 1
SNAPSHOT_EVERY = 150  # facts between two snapshots; in production 20 000
ANNOUNCE_SECONDS = 300.0  # how often a node says that it is there; in production 3

_Seam = tuple[Any, str, Any]


def _seams(
    hub: Strands, network: Network, disks: Disks, random: Random, wall: Callable[[str], datetime]
) -> list[_Seam]:
    threads, times, queues, sockets = threading_of(hub), time_of(hub), queue_of(hub), socket_of(network, hub)
    path = path_of(disks)
    seams: list[_Seam] = []
    for module in (approval, barrier_lines, budget, connections, health, loop, metrics, reader, telling, worker):
        seams.append((module, "threading", threads))
    for module in (budget, connections, consent, loop, reader, telling, worker):
        seams.append((module, "time", times))
    for module in (loop, telling):
        seams.append((module, "queue", queues))
    for module in (barrier_lines, calling, connections):
        seams.append((module, "socket", sockets))
    for module in (consent, loop, ready_file):
        seams.append((module, "Path", path))
    seams += [(module, "os", os_of(disks)) for module in (durable, journal)]
    seams += [(journal, "fcntl", fcntl_of(disks)), (telling, "random", random)]

    def machine() -> Machine:
        found: Machine = hub.current().process.machine
        return found

    def client(endpoint: str | None, **manners: Any) -> Any:
        return machine().client(endpoint, **manners)

    seams += [
        (loop, "boot_id", lambda: str(machine().boots)),
        (loop, "Supervisor", SimpleNamespace(from_environment=sd_notify.Supervisor)),
        (loop, "_BUSY_SECONDS", BUSY_SECONDS),
        (loop, "_IDLE_SECONDS", IDLE_SECONDS),
        (reader, "Client", client),
        (command, "run", lambda program, left, receipts: machine().programs.run(program, left, receipts)),
        (
            worker,
            "adopt",
            lambda receipts, left, same_boot: machine().programs.adopt(receipts, left, same_boot=same_boot),
        ),
        (guest_clock.SystemClock, "now", lambda _: wall(hub.current().process.place)),
        (guest_clock.SystemClock, "monotonic", lambda _: times.monotonic()),
        (barrier_words, "secrets", SimpleNamespace(token_hex=lambda count: f"{random.getrandbits(8 * count):x}")),
    ]

    # The server's

    def guid() -> uuid.UUID:
        return uuid.UUID(int=random.getrandbits(128), version=4)

    def wall_time() -> datetime:
        return wall(PLACE.get(""))

    growing = SimpleNamespace(clock_gettime=lambda _: hub.loop.time(), monotonic=hub.loop.time)
    return [
        *seams,
        (plane_clock, "time", growing),
        (plane_clock, "wall_time", wall_time),
        (membership, "wall_time", wall_time),
        (membership, "uuid", SimpleNamespace(uuid4=guid)),
        (membership, "socket", SimpleNamespace(gethostname=lambda: PLACE.get(""))),
        (membership, "_ANNOUNCE_SECONDS", ANNOUNCE_SECONDS),
        (snapshots, "_EVERY", SNAPSHOT_EVERY),
        (following, "_GLANCE_SECONDS", GLANCE_SECONDS),
        (following, "LEASE_SECONDS", LEAD_SECONDS),
        (roster, "_LONGEST_SWEEP_SECONDS", SWEEP_SECONDS),
        (face, "secrets", SimpleNamespace(token_bytes=random.randbytes)),
        (desk, "uuid4", guid),
        (gate, "uuid4", guid),
    ]


@contextmanager
def staged(
    hub: Strands, network: Network, disks: Disks, random: Random, wall: Callable[[str], datetime]
) -> Iterator[None]:
    """Production on this stage, until the block ends."""
    seams = _seams(hub, network, disks, random, wall)
    before = [(where, name, vars(where)[name]) for where, name, _ in seams]
    try:
        for where, name, what in seams:
            setattr(where, name, what)
        yield
    finally:
        for where, name, what in before:
            setattr(where, name, what)
