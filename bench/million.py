"""A node with a million VMs: its memory, its start, its snapshot, and ten thousand documents that change at once."""

from __future__ import annotations

import json
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.canary import Canary
from bench.figures import Figure, figure_of
from bench.lines import Exchange, Line, get, post
from bench.processes import CannotMeasure, cpu_seconds, memory_megabytes, wait_for
from bench.region import DOCUMENT, Served
from bench.stock import NAME, SIZE, stocked

PART = "million"
_MEGABYTES = 600.0  # of 1,048,576 bytes, of a node with all VMs enabled that has just started
_MOST_MEGABYTES = 1.2e9 / (1 << 20)  # at any time
_START_SECONDS = 6.0
_HOSTS, _WAITERS = 500, 10_000
_PATIENCE_SECONDS = 300.0
_PAUSE_SECONDS = 1.0  # until the server has read what ten thousand have sent: nothing tells us when


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """All of them lone VMs that read their events: each has a scope, a document and an instant at which it lapses."""
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as name:
        directory = stocked(Path(name), say)
        figures = _started(directory, lambda region: _starts(region, min(rounds, 3), say))
        figures += _started(directory, lambda region: _host_wave(region, say))
        for old in (directory / "data").glob("snapshot-*.bin"):
            old.unlink()
        figures += _started(directory, lambda region: _snapshot(region, directory / "data", say))
    return figures


def _started(directory: Path, look: Callable[[Served], list[Figure]]) -> list[Figure]:
    """Each look has a server of its own: ten thousand connections leave no port as they found it."""
    region = Served(directory, "--user-operation-limit", "0")
    try:
        return look(region)
    finally:
        region.end(signal.SIGKILL)


# Starts


def _starts(region: Served, rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """The first start was none of the counted ones: it brings the file into the kernel's cache."""
    seconds, cpus, held, most = [], [], [], []
    await_answer(region)
    for _ in range(rounds):
        region.end(signal.SIGKILL)
        begun = time.perf_counter()
        region.start()
        await_answer(region)
        seconds.append(time.perf_counter() - begun)
        cpus.append(cpu_seconds(region.pid))
        held.append(memory_megabytes(region.pid))
        most.append(memory_megabytes(region.pid, "VmHWM"))
        say(f"first answer after {seconds[-1]:.1f} s, {cpus[-1]:.1f} s of CPU, {held[-1]:.0f} MB")
    return [
        figure_of(PART, "start from a snapshot to first answer", seconds, "s", _START_SECONDS),
        figure_of(PART, "start from a snapshot, CPU", cpus, "s"),
        figure_of(PART, "RSS after that start, all VMs enabled", held, "MB", _MEGABYTES),
        figure_of(PART, "highest RSS during that start", most, "MB", _MOST_MEGABYTES),
    ]


def await_answer(region: Served) -> None:
    """Until a VM has its document. Longer than others wait: a million facts may have to be read."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            wait_for(region.metadata_port, region.pid)
            if region.get(f"/vm/{NAME}-0/{DOCUMENT}")[0] == 200:
                return
        except CannotMeasure:
            if not Path(f"/proc/{region.pid}").exists():
                raise
        time.sleep(0.01)
    raise CannotMeasure("the server did not answer in time")


def _memory(region: Served, when: str) -> list[Figure]:
    return [
        Figure(PART, f"RSS {when}", memory_megabytes(region.pid), "MB", _MOST_MEGABYTES),
        Figure(PART, f"highest RSS {when}", memory_megabytes(region.pid, "VmHWM"), "MB"),
    ]


# Ten thousand documents


def _host_wave(region: Served, say: Callable[[str], None]) -> list[Figure]:
    """Maintenance of so many hosts that ten thousand VMs, all of which wait for news, are told at once."""
    await_answer(region)
    wait_for(region.control_port, region.pid)
    hosts = region.call("GET", f"/v1/hosts?limit={_HOSTS}")["hosts"]
    vms = [vm for host in hosts for vm in host["vms"]][:_WAITERS]
    lines = {Line(region.metadata_port): vm for vm in vms}
    operator = Line(region.control_port)
    exchange = Exchange([*lines, operator])
    try:
        known = exchange.ask({line: get(f"/vm/{vm}/{DOCUMENT}") for line, vm in lines.items()})
        for line, vm in lines.items():
            tag = known[line].header(b"etag").decode()
            line.send(get(f"/vm/{vm}/{DOCUMENT}", f"If-None-Match: {tag}", "Prefer: wait=300"))
        time.sleep(_PAUSE_SECONDS)
        body = json.dumps({"hosts": [host["name"] for host in hosts], "kind": "freeze"}).encode()
        with Canary(region.metadata_port, f"{NAME}-{SIZE - 1}") as canary:
            cpu, begun = cpu_seconds(region.pid), time.perf_counter()
            operator.send(post("/v1/hosts/maintain", region.control_port, body))
            heard = exchange.collect(len(lines) + 1)
            last = max(heard[line].at for line in lines) - begun
            cpu = cpu_seconds(region.pid) - cpu
    finally:
        exchange.close()
    if heard[operator].status != 202 or any(heard[line].status != 200 for line in lines):
        raise CannotMeasure(f"maintenance was answered with {heard[operator].status}: {heard[operator].body[:200]!r}")
    say(f"{len(lines):,} waiting VMs told within {last:.2f} s")
    what = f"{len(lines):,} scopes changed by one command"
    return [
        Figure(PART, f"{what}, until the last of those who wait has its answer", last, "s"),
        Figure(PART, f"{what}, for each", cpu / len(lines) * 1e6, "µs CPU"),
        *canary.figures(PART, f"while {len(lines):,} scopes change"),
        *_memory(region, "after that"),
    ]


# Facts alone


def _snapshot(region: Served, data: Path, say: Callable[[str], None]) -> list[Figure]:
    """A start that has nothing but the facts, and the snapshot that the first write after it leads to."""
    begun = time.perf_counter()
    await_answer(region)
    replayed = time.perf_counter() - begun
    say(f"without a snapshot, first answer after {replayed:.1f} s")
    wait_for(region.control_port, region.pid)
    facts = region.call("GET", "/v1/ping")["seq"]
    with Canary(region.metadata_port, f"{NAME}-{SIZE - 1}") as canary:
        cpu, begun = cpu_seconds(region.pid), time.perf_counter()
        region.call("POST", "/v1/vms/restart", {"names": [f"{NAME}-0"]})
        kept = _await_snapshot(data)
        seconds, cpu = time.perf_counter() - begun, cpu_seconds(region.pid) - cpu
    say(f"a snapshot of {kept / 1e6:.1f} MB in {seconds:.1f} s, {cpu:.1f} s of CPU")
    return [
        Figure(PART, f"start without a snapshot, from {facts:,} facts", replayed, "s"),
        Figure(PART, "snapshot, written in the background", seconds, "s"),
        Figure(PART, "snapshot, CPU", cpu, "s"),
        Figure(PART, "snapshot, size", kept / 1e6, "MB"),
        *canary.figures(PART, "during a snapshot"),
        *_memory(region, "after facts alone and a snapshot"),
    ]


def _await_snapshot(data: Path) -> int:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for path in data.glob("snapshot-*.bin"):
            return path.stat().st_size
        time.sleep(0.01)
    raise CannotMeasure("no snapshot was written")
