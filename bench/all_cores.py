"""All cores: a server with as many readers as cores, beside nginx with as many workers, the same bytes.

Whoever asks shares the cores with who answers, in both cases alike: what counts first is the CPU of an answer, summed
over all processes of a server.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.figures import Figure, figure_of
from bench.load import CONNECTIONS, Load, Workload
from bench.peers import nginx
from bench.processes import CannotMeasure, cpu_seconds
from bench.reads import _check_same, _checked, read_all
from bench.region import served

PART = "all_cores"
VMS = 10_000
SECONDS = 3
_SCRIPT = Path(__file__).with_name("wrk.lua")
WORKLOADS = (
    Workload("the same VM on every connection", 1),
    Workload("another VM at each request", VMS),
    Workload("a connection for each request", 1, each=True),
)
_AT_LEAST = 0.9
_WARM_SECONDS = 5  # every reader has heard of every VM by then


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    figures: list[Figure] = []
    cores = len(os.sched_getaffinity(0))
    with _contestants(cores, say) as peers:
        for workload in WORKLOADS:
            figures += _figures(workload, cores, _in_turns(peers, workload, rounds, say))
    return figures


@contextmanager
def _contestants(cores: int, say: Callable[[str], None]) -> Iterator[dict[str, tuple[int, int]]]:
    """Name → (port, process id)."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forewarn-bench-")))
        directory.chmod(0o755)  # nginx drops its privileges
        region = stack.enter_context(served("--readers", str(cores)))
        region.create("web", VMS)
        answer = read_all(region, VMS)
        peers = {"forewarn": (region.metadata_port, region.pid)}
        peers["nginx"] = stack.enter_context(nginx.serving(directory, answer.body, workers=cores))
        say(f"nginx {nginx.version()}, {cores} readers and as many workers")
        for name, (port, _) in peers.items():
            _check_same(name, port, answer)
        yield peers


def _in_turns(
    peers: dict[str, tuple[int, int]], workload: Workload, rounds: int, say: Callable[[str], None]
) -> dict[str, list[Load]]:
    """What each was given in each round; who begins changes."""
    for port, pid in peers.values():
        _ask(port, pid, workload, _WARM_SECONDS)
    taken: dict[str, list[Load]] = {name: [] for name in peers}
    for turn in range(rounds):
        for name in sorted(peers, key=lambda name: (list(peers).index(name) + turn) % len(peers)):
            taken[name].append(_checked(name, _ask(*peers[name], workload, SECONDS)))
        told = ", ".join(f"{name} {each[-1].cpu_microseconds:.1f} µs" for name, each in taken.items())
        say(f"{workload.what}: {told}")
    return taken


def _ask(port: int, pid: int, workload: Workload, seconds: int) -> Load:
    """Let wrk ask with a thread for each core, on all of them."""
    wrk = shutil.which("wrk")
    if wrk is None:
        raise CannotMeasure("wrk is not installed (Debian: apt-get install wrk)")
    before = cpu_seconds(pid)
    threads = len(os.sched_getaffinity(0))
    command = [wrk, f"-t{threads}", f"-c{CONNECTIONS}", f"-d{seconds}s", "-H", "Metadata: true", "-s", str(_SCRIPT)]
    command += ["-H", "Connection: close"] if workload.each else []
    command += [f"http://127.0.0.1:{port}", "--", str(workload.vms)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=True).stdout
    spent = cpu_seconds(pid) - before
    line = next(line for line in told.splitlines() if line.startswith("BENCH "))
    requests, microseconds, errors, p99 = map(int, line.split()[1:])
    return Load(requests, microseconds / 1e6, errors, p99 / 1e3, spent)


def _figures(workload: Workload, cores: int, taken: dict[str, list[Load]]) -> list[Figure]:
    what = f"{workload.what}, {cores} cores"
    costs = {name: [each.cpu_microseconds for each in loads] for name, loads in taken.items()}
    rates = {name: [each.requests / each.seconds for each in loads] for name, loads in taken.items()}
    figures = [figure_of(PART, f"{name}, {what}", each, "µs CPU") for name, each in costs.items()]
    cheaper = [theirs / ours for ours, theirs in zip(costs["forewarn"], costs["nginx"], strict=True)]
    figures.append(figure_of(PART, f"answers for nginx's CPU of one, {what}", cheaper, "x", _AT_LEAST, at_least=True))
    figures += [figure_of(PART, f"{name}, {what}", each, "answers/s") for name, each in rates.items()]
    faster = [ours / theirs for ours, theirs in zip(rates["forewarn"], rates["nginx"], strict=True)]
    figures.append(figure_of(PART, f"answers a second to nginx's, {what}", faster, "x", _AT_LEAST, at_least=True))
    return figures
