"""How many writes a second get through one node and through three, beside what pgbench reaches on the same server."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

from bench.figures import Figure, figure_of
from bench.lines import Exchange, Line, get
from bench.postgres import PART, nodes, server_cpu
from bench.processes import CannotMeasure, cpu_seconds
from bench.region import DOCUMENT, Served
from tests.postgres import Server

CLIENTS = 48
_SECONDS = 4
_VMS = 600_000  # each first read is a write, and a VM has one first read; some 200,000 in three rounds
_LEAST_OF_PGBENCH, _LEAST_OF_ONE = 0.5, 1.0
_ONE = f"one node, {CLIENTS} clients"
_SHARED_OUT, _EACH = f"three nodes, {CLIENTS} clients in all", f"three nodes, {CLIENTS} clients at each"

# What a write of ours is to the database, in its two statements: move the head, add the fact.
_TABLES = """
CREATE TABLE pgbench_head (seq bigint NOT NULL, chain bytea NOT NULL);
INSERT INTO pgbench_head VALUES (0, '');
CREATE TABLE pgbench_facts (LIKE facts INCLUDING ALL);
"""
_SCRIPT = """BEGIN;
UPDATE pgbench_head SET seq = seq + 1, chain = '\\x00112233445566778899aabbccddeeff' RETURNING seq \\gset
INSERT INTO pgbench_facts VALUES (:seq, 1, '2026-01-01T00:00:00.000000+00:00', 'Pulse', 'vm', 'web-1',
    '00000000-0000-4000-8000-000000000000', 'vm/web-1',
    '{"fact":"ScopeEnabled","at":"2026-01-01T00:00:00Z","scope":"vm/web-1","name":"web-1","kind":"vm"}',
    '\\x00112233445566778899aabbccddeeff');
END;
"""


def measure(server: Server, rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """A write is a VM's first read: one fact, on disk before the VM has its answer. All take turns on one server.

    pgbench has the same number of clients, or one, whichever is faster: all of its clients want the same row.
    """
    url = server.region()
    schema = url.rpartition("search_path%3D")[2]
    with nodes(url, 3) as three:
        three[0].create("web", _VMS)
        _await_all(three)
        server.execute(_TABLES, schema=schema)
        names = (f"web-{number}" for number in count())
        rates: dict[str, list[float]] = {"pgbench": [], _ONE: [], _SHARED_OUT: [], _EACH: []}
        costs: dict[str, list[float]] = {"node": [], "server": []}
        for _ in range(rounds):
            rates["pgbench"].append(max(_pgbench(url, CLIENTS), _pgbench(url, 1)))
            before = _cpu(three), server_cpu(server)
            done, seconds = _writes(three[:1], CLIENTS, names)
            costs["node"].append((_cpu(three) - before[0]) / done * 1e6)
            costs["server"].append((server_cpu(server) - before[1]) / done * 1e6)
            rates[_ONE].append(done / seconds)
            for what, clients in ((_SHARED_OUT, CLIENTS), (_EACH, CLIENTS * len(three))):
                done, seconds = _writes(three, clients, names)
                rates[what].append(done / seconds)
            say("writes/s: " + ", ".join(f"{name} {each[-1]:,.0f}" for name, each in rates.items()))
    return [
        *(figure_of(PART, f"writes, {name}", each, "writes/s") for name, each in rates.items()),
        _ratio("one node to pgbench", rates[_ONE], rates["pgbench"], _LEAST_OF_PGBENCH),
        _ratio(f"{_EACH} to one node", rates[_EACH], rates[_ONE], _LEAST_OF_ONE),
        _ratio(f"{_SHARED_OUT} to one node", rates[_SHARED_OUT], rates[_ONE]),
        figure_of(PART, "a write through one of three nodes, all nodes together", costs["node"], "µs CPU"),
        figure_of(PART, "a write through one of three nodes, PostgreSQL", costs["server"], "µs CPU"),
    ]


def _ratio(what: str, ours: list[float], theirs: list[float], limit: float | None = None) -> Figure:
    ratios = [our / their for our, their in zip(ours, theirs, strict=True)]
    return figure_of(PART, f"writes, {what}", ratios, "x", limit, at_least=True)


def _cpu(regions: Sequence[Served]) -> float:
    return sum(cpu_seconds(region.pid) for region in regions)


def _await_all(regions: Sequence[Served]) -> None:
    """Until every node knows of every VM."""
    deadline = time.monotonic() + 120
    path = "/metadata/instance?api-version=2021-02-01"
    for region in regions:
        while region.get(f"/vm/web-{_VMS - 1}{path}")[0] != 200:
            if time.monotonic() > deadline:
                raise CannotMeasure("a node does not hear of the others' VMs")
            time.sleep(0.05)


def _writes(regions: Sequence[Served], clients: int, names: Iterator[str]) -> tuple[int, float]:
    """So many clients for all nodes together, each of which asks again as soon as it is answered."""
    lines = [Line(regions[number % len(regions)].metadata_port) for number in range(clients)]
    exchange = Exchange(lines)
    try:
        begun = time.perf_counter()
        for line in lines:
            line.send(get(f"/vm/{next(names)}/{DOCUMENT}"))
        done = 0
        while time.perf_counter() - begun < _SECONDS:
            for line, heard in exchange.collect(1).items():
                if heard.status != 200:
                    raise CannotMeasure(f"a write was answered with {heard.status}: {heard.body!r}")
                done += 1
                line.send(get(f"/vm/{next(names)}/{DOCUMENT}"))
        seconds = time.perf_counter() - begun
        exchange.collect(len(lines))
        return done, seconds
    finally:
        exchange.close()


def _pgbench(url: str, clients: int) -> float:
    program = shutil.which("pgbench")
    if program is None:
        raise CannotMeasure("pgbench is not installed (Debian: apt-get install postgresql-client)")
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory:
        script = Path(directory) / "write.sql"
        script.write_text(_SCRIPT)
        command = [program, "--no-vacuum", "--protocol=prepared", f"--client={clients}", f"--time={_SECONDS}"]
        told = subprocess.run([*command, f"--file={script}", url], capture_output=True, text=True, check=False)
    for line in told.stdout.splitlines():
        if line.startswith("tps = "):
            return float(line.split()[2])
    raise CannotMeasure(f"pgbench failed: {told.stderr}")
