"""What a simulation of hands is told, and what it tells in the end."""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.sim.plan import Violation


@dataclass(frozen=True, slots=True)
class HandsPlan:
    """With the version of the program this determines everything."""

    seed: int
    nodes: int = 1
    hours: float = 3.0  # ours: some hundred errands, in about a second
    machines: int = 10  # ours: more than two a host, so that an event may hit several
    hosts: int = 4  # so that two may be silent, and there is still a choice


@dataclass(frozen=True, slots=True)
class HandsOutcome:
    """How it went."""

    plan: HandsPlan
    violations: tuple[Violation, ...]
    counts: dict[str, int]
    digest: str
