"""Half an hour in which every host is maintained, over 10 000 VMs, on a virtual clock, through the public API."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.figures import Figure, figure_of
from bench.processes import CannotMeasure, cpu_seconds
from bench.reads import read_all
from bench.region import Served, served

PART = "maintenance"
VMS = 10_000
_SET = 100
_MINUTES = 30
# Seconds for the half hour, and CPU of a fact: of lone VMs, each of which has an event of its own
_LIMIT, _FACT_LIMIT = 1.3, 25.0


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Once with lone VMs, each of which gets an event of its own, and once with VMs in availability sets."""
    figures: list[Figure] = []
    for what, create in (("lone VMs", _lone), (f"availability sets of {_SET}", _sets)):
        with served("--clock", "virtual") as region:
            create(region)
            read_all(region, VMS)
            taken = [_scenario(region) for _ in range(rounds)]
        say(f"{what}: " + ", ".join(f"{wall:.2f} s" for wall, _, _, _ in taken))
        walls, cpus, facts, events = zip(*taken, strict=True)
        each_fact = [cpu / count * 1e6 for cpu, count in zip(cpus, facts, strict=True)]
        note = f"{events[0]:,.0f} events, {facts[0]:,.0f} facts"
        figures += [
            figure_of(PART, f"{_MINUTES} minutes over {VMS:,} VMs, {what}", walls, "s", _LIMIT, note=note),
            figure_of(PART, f"the same, {what}, CPU of the server", cpus, "s"),
            figure_of(PART, f"each fact, {what}", each_fact, "µs CPU", _FACT_LIMIT if create is _lone else None),
        ]
    return figures


def _lone(region: Served) -> None:
    region.create("web", VMS)


def _sets(region: Served) -> None:
    for first in range(0, VMS, _SET):
        spec = {"numbered": True, "availability_set": f"set-{first // _SET}"}
        region.call("POST", "/v1/vms", {"name": "web", "count": _SET, "first": first, **spec})


def _scenario(region: Served) -> tuple[float, float, float, float]:
    """Seconds, CPU seconds, facts written and events of one half hour."""
    before = region.call("GET", "/v1/ping")["seq"]
    cpu, begun = cpu_seconds(region.pid), time.perf_counter()
    told = region.call("POST", "/v1/hosts/maintain", {"hosts": [], "kind": "freeze"})
    region.call("POST", "/v1/clock/advance", {"seconds": _MINUTES * 60})
    left = region.call("GET", "/v1/events?limit=10")["events"]
    wall, cpu = time.perf_counter() - begun, cpu_seconds(region.pid) - cpu
    if left:
        raise CannotMeasure("events were left after the half hour")
    return wall, cpu, region.call("GET", "/v1/ping")["seq"] - before, len(told["events"])
