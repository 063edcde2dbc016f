"""Seeds that have found something, each with what it found. They stay, so that it stays found."""

from __future__ import annotations

from forewarn.sim.plan import ALL, SimulationPlan

FOUND: dict[SimulationPlan, str] = {
    SimulationPlan(6, vms=24, days=0.3, faults=(), pace=12.0): (
        "A host that failed again while its VMs were being rebuilt failed them a second time; and a VM that had come "
        "to another host was still hit by the maintenance of the one it had left."
    ),
    SimulationPlan(1, vms=20, days=0.25, faults=ALL, pace=12.0, relays=3): (
        "A clock that leapt ahead for a moment was believed at once, where it had been set by less a minute before."
    ),
    SimulationPlan(5, vms=24, days=0.5, faults=(), pace=100.0): (
        "What a VM had read within the last hour was forgotten when it was deleted, so that the others of its scope, "
        "which did not read, lost the scope up to an hour before a day without reads was over."
    ),
}

# Nothing is known of these but that they are different: a small fleet, much trouble, one node and three.
SMALL = [
    SimulationPlan(seed, vms=24, days=0.4, faults=ALL, nodes=nodes, pace=6.0)
    for nodes, seed in ((1, 1), (1, 2), (3, 3), (3, 4))
]
SMALL.append(SimulationPlan(5, vms=24, days=0.3, faults=ALL, nodes=2, pace=6.0, relays=3))
