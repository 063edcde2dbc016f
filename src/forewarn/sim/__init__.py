"""The simulator: a region, its VMs, people and faults in one thread, on a clock that jumps, repeatable by seed."""
