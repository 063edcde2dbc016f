"""A hundred thousand VMs: how fast they are made, what they weigh, how soon a server that has them answers again."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable

from bench.figures import Figure, figure_of
from bench.processes import cpu_seconds, memory_megabytes
from bench.reads import read_all
from bench.region import PROGRAM, Served, served

PART = "bulk"
VMS = 100_000
_PER_SECOND, _MEGABYTES, _SECONDS = 5_000, 300, 5.0
_RESTARTS = {"ended in order": signal.SIGTERM, "killed with -9": signal.SIGKILL}


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """With the command that a user would type."""
    with served() as region:
        cpu, begun = cpu_seconds(region.pid), time.perf_counter()
        subprocess.run(
            [PROGRAM, "vm", "create", "fleet", "--count", str(VMS), "--url", region.url],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        seconds, cpu = time.perf_counter() - begun, cpu_seconds(region.pid) - cpu
        say(f"{VMS:,} VMs in {seconds:.1f} s")
        figures = [
            Figure(PART, "VMs created by the command line", VMS / seconds, "VMs/s", _PER_SECOND, at_least=True),
            Figure(PART, "creating one", cpu / VMS * 1e6, "µs CPU"),
            *_memory(region, "after creating"),
        ]
        taken: dict[str, list[float]] = {what: [] for what in _RESTARTS}
        for what in ["killed with -9", *list(_RESTARTS) * max(rounds - 2, 1)]:
            taken[what].append(_restart(region, _RESTARTS[what]))
            say(f"{what}, first answer after {taken[what][-1]:.2f} s")
        figures += [
            figure_of(PART, f"start to first answer, {what}", each, "s", _SECONDS) for what, each in taken.items()
        ]
        figures += _memory(region, "after a start")
        read_all(region, VMS, "fleet")
        figures += _memory(region, "once every VM has read")
        seconds = _restart(region, signal.SIGKILL)
        figures.append(Figure(PART, "start to first answer, killed after every VM has read", seconds, "s", _SECONDS))
        return figures


def _memory(region: Served, when: str) -> list[Figure]:
    return [
        Figure(PART, f"RSS {when}", memory_megabytes(region.pid), "MB", _MEGABYTES),
        Figure(PART, f"highest RSS {when}", memory_megabytes(region.pid, "VmHWM"), "MB"),
    ]


def _restart(region: Served, how: signal.Signals) -> float:
    region.end(how)
    return region.seconds_to_first_answer(f"fleet-{VMS - 1}")
