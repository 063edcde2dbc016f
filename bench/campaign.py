"""Maintenance over a million VMs, one update domain after the other: how long, at what cost, and what others feel."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.canary import Canary
from bench.figures import Figure
from bench.million import await_answer
from bench.processes import CannotMeasure, cpu_seconds, memory_megabytes, wait_for
from bench.region import Served
from bench.stock import NAME, SIZE, stocked

PART = "campaign"
_STEP_SECONDS = 300
_STEPS_MOST = 200


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Each lone VM gets an event of its own, nobody approves, and the clock is turned: the worst case, once."""
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as name:
        region = Served(stocked(Path(name), say), "--clock", "virtual")
        try:
            await_answer(region)
            wait_for(region.control_port, region.pid)
            return _campaign(region, say)
        finally:
            region.end(signal.SIGKILL)


def _campaign(region: Served, say: Callable[[str], None]) -> list[Figure]:
    before = region.call("GET", "/v1/ping")["seq"]
    held = memory_megabytes(region.pid)
    with Canary(region.metadata_port, f"{NAME}-{SIZE - 1}") as canary:
        cpu, begun = cpu_seconds(region.pid), time.perf_counter()
        campaign = region.call("POST", "/v1/campaigns", {"kind": "freeze"})
        for _ in range(_STEPS_MOST):
            region.call("POST", "/v1/clock/advance", {"seconds": _STEP_SECONDS})
            now = region.call("GET", f"/v1/campaigns/{campaign['id']}")
            say(f"wave {now['wave'] + 1}, {now['events_total']:,} events, {time.perf_counter() - begun:.0f} s")
            if now["state"] != "running":
                break
        seconds, cpu = time.perf_counter() - begun, cpu_seconds(region.pid) - cpu
    if now["state"] != "completed" or now["events_total"] != SIZE:
        raise CannotMeasure(f"the campaign did not end well: {now}")
    facts = region.call("GET", "/v1/ping")["seq"] - before
    note = f"{SIZE:,} events, {facts:,} facts"
    return [
        Figure(PART, f"campaign over {SIZE:,} VMs", seconds, "s", note=note),
        Figure(PART, "each of its facts", cpu / facts * 1e6, "µs CPU"),
        Figure(PART, "RSS before it", held, "MB"),
        Figure(PART, "highest RSS during it", memory_megabytes(region.pid, "VmHWM"), "MB"),
        *canary.figures(PART, "during a campaign"),
    ]
