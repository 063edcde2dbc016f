"""What production's guest takes for its machine while a simulation runs: its clock, threads, disk, chance.

Each line names a module and what stands there for something of the standard library. Nothing else of production is
touched, and everything is put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from random import Random
from types import SimpleNamespace
from typing import Any

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
from forewarn.sim.fabric.disk import Disks, fcntl_of, os_of, path_of
from forewarn.sim.fabric.network import Network, socket_of
from forewarn.sim.fabric.strands import Strands, queue_of, threading_of, time_of
from forewarn.sim.machines import Machine

BUSY_SECONDS = 20.0  # how often an agent looks while there is something to do; in production 1
IDLE_SECONDS = 3600.0  # and while there is nothing; in production 30

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
    seams += [(journal, "os", os_of(disks)), (journal, "fcntl", fcntl_of(disks)), (telling, "random", random)]

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
    return seams


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
