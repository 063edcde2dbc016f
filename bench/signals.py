"""CPU of a VM's GET with metrics on beside off: two servers on one core, asked in turns, so that noise meets both."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from bench.figures import Figure, figure_of
from bench.load import Workload
from bench.reads import VMS, in_turns, read_all
from bench.region import served

PART = "signals"
_ROUNDS = 15  # as many as differences of a few percent take
_LIMIT = 1.03  # of what a GET costs without
_WORKLOADS = (
    Workload("the same VM on every connection", 1),
    Workload("a connection for each request", 1, each=True),
)


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    figures: list[Figure] = []
    with ExitStack() as stack:
        peers = {}
        for name in ("on", "off"):
            server = stack.enter_context(served("--metrics", name, pinned=True))
            server.create("web", VMS)
            read_all(server, VMS)
            peers[name] = (server.metadata_port, server.pid)
        for workload in _WORKLOADS:
            taken = in_turns(peers, workload, max(rounds, _ROUNDS), say)
            costs = {name: [each.cpu_microseconds for each in loads] for name, loads in taken.items()}
            figures += [
                figure_of(PART, f"metrics {name}, {workload.what}", each, "µs CPU") for name, each in costs.items()
            ]
            ratios = [on / off for on, off in zip(costs["on"], costs["off"], strict=True)]
            figures.append(figure_of(PART, f"metrics on to off, {workload.what}", ratios, "x", _LIMIT))
    return figures
