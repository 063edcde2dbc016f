"""The pure machine: ``step(region, command, now, rules) -> (region, facts)``. No I/O, no clock, no chance."""
