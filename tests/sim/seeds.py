"""Seeds that have found something, each with what it found. They stay, so that it stays found."""

from __future__ import annotations

from forewarn.sim.plan import ALL, SimulationPlan

FOUND: dict[SimulationPlan, str] = {
    SimulationPlan(6, vms=24, days=0.3, faults=(), pace=12.0): (
        "A host that failed again while its VMs were being rebuilt failed them a second time; and a VM that had come "
        "to another host was still hit by the maintenance of the one it had left."
    ),
}

# Nothing is known of these but that they are different: a small fleet, much trouble, one node and three.
SMALL = [
    SimulationPlan(seed, vms=24, days=0.4, faults=ALL, nodes=nodes, pace=6.0)
    for nodes, seed in ((1, 1), (1, 2), (3, 3), (3, 4))
]
