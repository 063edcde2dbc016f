"""wrk as the one that asks: closed loop, kept-alive connections, bounded in time."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.processes import CannotMeasure, cores, cpu_seconds, on_cores

_SCRIPT = Path(__file__).with_name("wrk.lua")
CONNECTIONS = 32


@dataclass(frozen=True)
class Workload:
    """Documents of so many VMs in turn; ``new``: no two requests have the same bytes."""

    what: str
    vms: int
    new: bool = False
    each: bool = False  # a connection for each request, as curl, PowerShell and scripts make
    to_nginx: float | None = None  # CPU of an answer at most, beside nginx's; None: no target is about it
    to_go: float | None = None  # beside Go's


@dataclass(frozen=True)
class Load:
    """What one round came to."""

    requests: int
    seconds: float
    errors: int
    p99_milliseconds: float
    cpu_seconds: float  # of the server

    @property
    def cpu_microseconds(self) -> float:
        return self.cpu_seconds / self.requests * 1e6


def ask(port: int, pid: int, workload: Workload, seconds: int) -> Load:
    """Let wrk ask the server at ``port``; the server's CPU is what counts."""
    wrk = shutil.which("wrk")
    if wrk is None:
        raise CannotMeasure("wrk is not installed (Debian: apt-get install wrk)")
    before = cpu_seconds(pid)
    command = [wrk, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-H", "Metadata: true", "-s", str(_SCRIPT)]
    command += ["-H", "Connection: close"] if workload.each else []
    command += [f"http://127.0.0.1:{port}", "--", str(workload.vms), *(["new"] if workload.new else [])]
    told = subprocess.run(
        on_cores(cores()[1], command), capture_output=True, text=True, timeout=seconds + 60, check=True
    ).stdout
    spent = cpu_seconds(pid) - before
    line = next(line for line in told.splitlines() if line.startswith("BENCH "))
    requests, microseconds, errors, p99 = map(int, line.split()[1:])
    return Load(requests, microseconds / 1e6, errors, p99 / 1e3, spent)
