"""What production's server takes for its machine while a simulation runs: its clock, chance and pace.

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

from forewarn.plane import clock as plane_clock
from forewarn.plane import following, membership
from forewarn.sim.fabric.loop import PLACE
from forewarn.sim.fabric.strands import Strands
from forewarn.web.metadata import face
from forewarn.web.metadata.http import roster
from forewarn.web.operator import desk, gate

GLANCE_SECONDS = 20.0  # how often a node asks the store whether it has missed something; in production 1
SWEEP_SECONDS = 60.0  # how often the metadata face looks for connections that have gone quiet; in production 1
ANNOUNCE_SECONDS = 300.0  # how often a node says that it is there; in production 3

_Seam = tuple[Any, str, Any]


def _seams(hub: Strands, random: Random, wall: Callable[[str], datetime]) -> list[_Seam]:
    def guid() -> uuid.UUID:
        return uuid.UUID(int=random.getrandbits(128), version=4)

    def wall_time() -> datetime:
        return wall(PLACE.get(""))

    growing = SimpleNamespace(clock_gettime=lambda _: hub.loop.time(), monotonic=hub.loop.time)
    return [
        (plane_clock, "time", growing),
        (plane_clock, "wall_time", wall_time),
        (membership, "wall_time", wall_time),
        (membership, "uuid", SimpleNamespace(uuid4=guid)),
        (membership, "socket", SimpleNamespace(gethostname=lambda: PLACE.get(""))),
        (membership, "_ANNOUNCE_SECONDS", ANNOUNCE_SECONDS),
        (following, "_GLANCE_SECONDS", GLANCE_SECONDS),
        (roster, "_LONGEST_SWEEP_SECONDS", SWEEP_SECONDS),
        (face, "secrets", SimpleNamespace(token_bytes=random.randbytes)),
        (desk, "uuid4", guid),
        (gate, "uuid4", guid),
    ]


@contextmanager
def staged(hub: Strands, random: Random, wall: Callable[[str], datetime]) -> Iterator[None]:
    """Production on this stage, until the block ends."""
    seams = _seams(hub, random, wall)
    before = [(where, name, vars(where)[name]) for where, name, _ in seams]
    try:
        for where, name, what in seams:
            setattr(where, name, what)
        yield
    finally:
        for where, name, what in before:
            setattr(where, name, what)
