"""A GET as real clients make it: the bytes that each sends and its habit of connecting, beside nginx, in turns.

``clients.json`` holds what they sent (``bench/recorder.py``). The CPU is told in two shares: what the kernel takes
for the server (accept, receive, send, close, waiting), and what its own program takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, figure_of
from bench.peers import nginx
from bench.processes import CannotMeasure, cores, family_of, on_cores
from bench.reads import _check_same, read_all
from bench.recorder import Client, clients
from bench.region import DOCUMENT, served

PART = "mix"
VMS = 1_000
SECONDS = 2.0
_WARM_SECONDS = 1.0
_LIMIT = {True: 1.3, False: 1.05}  # CPU to nginx's: of kept connections, and of a connection for each poll
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class _Cost:
    """Of one answer, in microseconds of CPU."""

    own: float
    kernel: float

    @property
    def all(self) -> float:
        return self.own + self.kernel


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Every client in turn; in each round the server and nginx take turns."""
    figures: list[Figure] = []
    with _contestants() as peers:
        for client in clients():
            figures += _figures(client, _in_turns(peers, client, rounds, say))
    return figures


@contextmanager
def _contestants() -> Iterator[dict[str, tuple[int, int]]]:
    """Name → (port, process id)."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forewarn-bench-")))
        directory.chmod(0o755)  # nginx drops its privileges
        region = stack.enter_context(served(pinned=True))
        region.create("web", VMS)
        answer = read_all(region, VMS)
        peers = {"forewarn": (region.metadata_port, region.pid)}
        peers["nginx"] = stack.enter_context(nginx.serving(directory, answer.body))
        for name, (port, _) in peers.items():
            _check_same(name, port, answer)
        yield peers


def _in_turns(
    peers: dict[str, tuple[int, int]], client: Client, rounds: int, say: Callable[[str], None]
) -> dict[str, list[_Cost]]:
    for port, pid in peers.values():
        _ask(port, pid, client, _WARM_SECONDS)
    taken: dict[str, list[_Cost]] = {name: [] for name in peers}
    for turn in range(rounds):
        for name in sorted(peers, reverse=turn % 2 == 1):
            taken[name].append(_ask(*peers[name], client, SECONDS))
        told = ", ".join(f"{name} {each[-1].all:.1f} µs ({each[-1].kernel:.1f} kernel)" for name, each in taken.items())
        say(f"{_title(client)}: {told}")
    return taken


def _ask(port: int, pid: int, client: Client, seconds: float) -> _Cost:
    target = f"/vm/web-{{number}}/{DOCUMENT}"
    request = client.request.replace("{target}", target).replace("{host}", f"127.0.0.1:{port}")
    habit = "kept" if client.kept else "each"
    command = [sys.executable, "-m", "bench.polls", str(port), str(seconds), str(VMS), habit]
    before = _times(pid)
    asked = subprocess.run(
        on_cores(cores()[1], command), input=request.encode("latin-1"), capture_output=True, check=True
    )
    own, kernel = (after - then for after, then in zip(_times(pid), before, strict=True))
    told = json.loads(asked.stdout)
    if told["failed"] or not told["answered"]:
        raise CannotMeasure(f"{client.name}: {told['failed']} of {told['answered'] + told['failed']} polls failed")
    return _Cost(own / told["answered"] * 1e6, kernel / told["answered"] * 1e6)


def _times(pid: int) -> tuple[float, float]:
    """Seconds of CPU of a server and its workers so far: of its program, and of the kernel for it."""
    own = kernel = 0
    for member in family_of(pid):
        fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        own, kernel = own + int(fields[11]), kernel + int(fields[12])
    return own / _TICKS, kernel / _TICKS


def _title(client: Client) -> str:
    return f"{client.name} ({client.version}), {'kept' if client.kept else 'a connection each'}"


def _figures(client: Client, taken: dict[str, list[_Cost]]) -> list[Figure]:
    what = _title(client)
    figures = []
    for name, costs in taken.items():
        figures.append(figure_of(PART, f"{name}, {what}", [each.all for each in costs], "µs CPU"))
        shares = [each.kernel / each.all * 100 for each in costs]
        figures.append(figure_of(PART, f"{name}, {what}, the kernel's share", shares, "%"))
    ratios = [ours.all / theirs.all for ours, theirs in zip(taken["forewarn"], taken["nginx"], strict=True)]
    note = "" if client.source.startswith("recorded") else client.source
    figures.append(figure_of(PART, f"forewarn to nginx, {what}", ratios, "x", _LIMIT[client.kept], note=note))
    return figures
