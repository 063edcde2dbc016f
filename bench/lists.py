"""Lists, counts and searches among a thousand and among a million VMs: memory, time until ready, stalls, answers."""

from __future__ import annotations

import http.client
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.canary import Canary
from bench.figures import Figure, figure_of
from bench.million import await_answer
from bench.processes import CannotMeasure, memory_megabytes, wait_for
from bench.region import Served
from bench.stock import NAME, SIZE, stocked

PART = "lists"
_FEW = 1_000
_MEGABYTES, _READY_SECONDS, _STALL_MS, _SEARCH_MS = 80.0, 5.0, 10.0, 10.0
_ASKED = {
    "/v1/fleet": "counts",
    "/v1/fleet/hosts": "all hosts, a byte each",
    "/v1/vms?limit=50": "first page of VMs",
    "/v1/vms?limit=50&name=99": "VMs by a part of their name",
    "/v1/vms?limit=50&ud=2&fd=1": "VMs of one update and fault domain",
    "/v1/events?limit=50&order=not_before": "first page of events",
    "/v1/scopes?limit=50": "first page of scopes",
    "/v1/hosts?limit=50": "first page of hosts",
    f"/v1/search?q={NAME}-99": "search, found",
    "/v1/search?q=no-such-name": "search, not found",
    "/v1/search?q=12345": "search, digits",
    "/portal/": "the portal's overview",
    "/portal/vms": "the portal's list of VMs",
}


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as few, tempfile.TemporaryDirectory() as many:
        small = Served(Path(few))
        try:
            small.wait()
            small.create(NAME, _FEW, read=True)
            figures = _of(small, f"{_FEW:,}", rounds, say)
        finally:
            small.end()
        large = Served(stocked(Path(many), say))
        try:
            await_answer(large)
            wait_for(large.control_port, large.pid)
            figures += _of(large, f"{SIZE:,}", rounds, say)
        finally:
            large.end(signal.SIGKILL)
    return figures


def _of(region: Served, size: str, rounds: int, say: Callable[[str], None]) -> list[Figure]:
    before = memory_megabytes(region.pid)
    with Canary(region.metadata_port, f"{NAME}-0") as canary:
        begun = time.perf_counter()
        while not region.call("GET", "/v1/fleet")["ready"]:
            pass
        ready = time.perf_counter() - begun
    region.call("GET", "/v1/search?q=no-such-name")
    held = memory_megabytes(region.pid) - before
    say(f"{size} VMs: ready after {ready:.2f} s, {held:.0f} MB, longest stall {max(canary.delays):.1f} ms")
    figures = [
        Figure(PART, f"{size} VMs: register and census ready", ready, "s", _READY_SECONDS),
        Figure(PART, f"{size} VMs: memory of both", held, "MB", _MEGABYTES),
        Figure(PART, f"{size} VMs: a VM's longest wait while they are made", max(canary.delays), "ms", _STALL_MS),
    ]
    for path, what in _ASKED.items():
        limit = _SEARCH_MS if "search" in path else None
        figures.append(figure_of(PART, f"{size} VMs: {what}", _times(region, path, max(rounds, 3) * 3), "ms", limit))
    return figures


def _times(region: Served, path: str, times: int) -> list[float]:
    """On a connection that is kept, until the last byte is there."""
    connection = http.client.HTTPConnection("127.0.0.1", region.control_port, timeout=60)
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        found.append((time.perf_counter() - begun) * 1e3)
        if answer.status != 200:
            raise CannotMeasure(f"GET {path} was answered with {answer.status}")
    connection.close()
    return found
