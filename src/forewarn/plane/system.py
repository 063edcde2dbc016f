"""What a server takes from the machine it runs on, and how often it does its own work: values, not modules.

Production passes nothing and gets the machine's own. The simulator and tests pass theirs to the same constructors, so
nothing of production has to be replaced while it runs.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from forewarn.plane.clock import elapsed, wall_time
from forewarn.plane.ports import LEASE_SECONDS


@dataclass(frozen=True, slots=True)
class ServerSystem:
    """Time, ids, chance and the name of the machine. Each may be called from any thread."""

    wall: Callable[[], datetime] = wall_time
    elapsed: Callable[[], float] = elapsed  # seconds that only grow; leases and staleness are measured by it
    new_uuid: Callable[[], UUID] = uuid4
    random_bytes: Callable[[int], bytes] = secrets.token_bytes
    host_name: Callable[[], str] = socket.gethostname

    def new_id(self) -> str:
        """A fresh id for a request, an operation or a node."""
        return str(self.new_uuid())

    def new_guid(self) -> str:
        """A fresh id or seed in the spelling of event ids, which is upper case as in Azure's documents."""
        return str(self.new_uuid()).upper()


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a node does what it does by itself, and how long it waits, in real seconds."""

    # Ours, as long as a lease: a node that hears nothing from its store answers no longer than this
    staleness: timedelta = timedelta(seconds=10)
    # Ours: a node says that it is there; others take it for silent after three missed ones
    announce_seconds: float = 3.0
    glance_seconds: float = 1.0  # how long a notification that got lost can delay what it would have told
    refresh_seconds: float = 2.0  # ours: how long a reader waits to be told that nothing is new
    retry_seconds: float = 1.0  # after something of ours has failed
    lease_seconds: float = LEASE_SECONDS  # how long a leader that hears nothing from its store goes on leading
    watch_seconds: float = 5.0  # ours: between two looks at the machine's clock and the store's place; half of a lease
    snapshot_facts: int = 20_000  # facts between two snapshots, or as many as there are VMs where that is more


SYSTEM = ServerSystem()  # production's
PACE = Pace()
