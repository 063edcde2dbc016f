"""What a planted bug is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from forewarn.sim.plan import Misfortune, SimulationPlan

Break = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Plant:
    """One rule of the product that is broken on purpose, and the kind of plan that brings it to light."""

    wrong: str  # what is wrong then, in a sentence without its full stop
    place: str  # module and name of what is replaced
    broken: Break
    faults: tuple[Misfortune, ...] = ()
    nodes: int = 1
    vms: int = 20
    days: float = 0.25
    pace: float = 12.0
    relays: int = 0
    seam: bool = False  # whether two features have to meet

    @property
    def name(self) -> str:
        return self.broken.__name__

    def plan(self, seed: int) -> SimulationPlan:
        return SimulationPlan(
            seed, vms=self.vms, days=self.days, faults=self.faults, nodes=self.nodes, pace=self.pace, relays=self.relays
        )
