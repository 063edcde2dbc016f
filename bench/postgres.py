"""Many nodes on one PostgreSQL: what reads, writes and news cost there. The server is real, and forces its disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import load
from bench.figures import Figure, figure_of
from bench.load import Workload
from bench.processes import CannotMeasure, cpu_seconds
from bench.reads import SECONDS, VMS, read_all
from bench.region import Served, served
from tests.postgres import Server

PART = "postgres"
_MOST_READ = 1.05
_LEAST_WRITTEN = 0.5
_SETTINGS = {"max_connections": "300"}


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Reads beside SQLite, writes beside pgbench and beside three nodes, news from one node to another."""
    from bench import postgres_news, postgres_writes  # they need psycopg, and say so here

    with _server() as server:
        figures = _reads(server, rounds, say)
        figures += postgres_writes.measure(server, rounds, say)
        figures += postgres_news.measure(server, rounds, say)
    return figures


@contextmanager
def _server() -> Iterator[Server]:
    try:
        server = Server(settings=_SETTINGS).__enter__()
    except RuntimeError as problem:
        raise CannotMeasure(str(problem)) from problem
    try:
        yield server
    finally:
        server.__exit__(None, None, None)


def server_cpu(server: Server) -> float:
    """Of PostgreSQL with all its processes, so far."""
    return cpu_seconds(int((server.data / "postmaster.pid").read_text().splitlines()[0]))


@contextmanager
def nodes(url: str, count: int, *options: str, pinned: bool = False) -> Iterator[list[Served]]:
    """Nodes of one region."""
    with ExitStack() as stack:
        found = []
        for _ in range(count):
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forewarn-bench-")))
            found.append(stack.enter_context(served("--store", url, *options, directory=directory, pinned=pinned)))
        yield found


# Reads


def _reads(server: Server, rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """A node on PostgreSQL and one on SQLite take turns on the same core; only their CPU counts."""
    figures: list[Figure] = []
    with nodes(server.region(), 1, pinned=True) as (shared,), served(pinned=True) as alone:
        for region in (shared, alone):
            region.create("web", VMS)
            read_all(region, VMS)
        for workload in (Workload("the same VM on every connection", 1), Workload("another VM at each request", VMS)):
            costs: dict[str, list[float]] = {"PostgreSQL": [], "SQLite": []}
            for turn in range(rounds + 1):
                for name, region in (("PostgreSQL", shared), ("SQLite", alone))[:: 1 if turn % 2 else -1]:
                    taken = load.ask(region.metadata_port, region.pid, workload, SECONDS if turn else 1)
                    if taken.errors:
                        raise CannotMeasure(f"{taken.errors} of {taken.requests} reads failed on {name}")
                    if turn:  # the first is for warming up
                        costs[name].append(taken.cpu_microseconds)
            ratios = [ours / theirs for ours, theirs in zip(costs["PostgreSQL"], costs["SQLite"], strict=True)]
            say(f"{workload.what}: " + ", ".join(f"{ratio:.3f}x" for ratio in ratios))
            figures += [
                *(figure_of(PART, f"read, {workload.what}, on {name}", each, "µs CPU") for name, each in costs.items()),
                figure_of(PART, f"read, {workload.what}, PostgreSQL to SQLite", ratios, "x", _MOST_READ),
            ]
    return figures
