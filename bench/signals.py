"""CPU of a VM's GET with metrics on beside off: two servers at a time, asked in turns, so that noise meets both."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.figures import Figure, figure_of
from bench.lines import Line, get
from bench.processes import CannotMeasure
from bench.region import DOCUMENT, Served

PART = "signals"
_ROUNDS = 15  # as many as differences of a few percent take
_GETS = 3000  # of one server in one round: some tenths of a second of CPU


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """CPU of the whole process by the kernel's count in nanoseconds, of the same requests."""
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory, ExitStack() as stack:
        servers = {}
        for name in ("on", "off"):
            place = Path(directory, name)
            place.mkdir()
            servers[name] = Served(place, "--metrics", name)
            stack.callback(servers[name].end)
        lines = {}
        for name, server in servers.items():
            server.wait()
            server.create("web", 10)
            lines[name] = Line(server.metadata_port)
            _ask(lines[name], 300)
        taken: dict[str, list[float]] = {"on": [], "off": []}
        for number in range(max(rounds, _ROUNDS)):
            for name in ("on", "off") if number % 2 else ("off", "on"):
                before = _cpu_nanoseconds(servers[name].pid)
                _ask(lines[name], _GETS)
                taken[name].append((_cpu_nanoseconds(servers[name].pid) - before) / _GETS / 1000)
            say(f"round {number + 1}: on {taken['on'][-1]:.1f} us, off {taken['off'][-1]:.1f} us")
    figures = [figure_of(PART, f"GET, metrics {name}", each, "us CPU") for name, each in taken.items()]
    ratios = [on / off for on, off in zip(taken["on"], taken["off"], strict=True)]
    return [*figures, figure_of(PART, "GET, metrics on to off", ratios, "x")]


def _ask(line: Line, times: int) -> None:
    for number in range(times):
        line.send(get(f"/vm/web-{number % 10}/{DOCUMENT}"))
        while (heard := line.receive()) is None:
            pass
        if heard.status != 200:
            raise CannotMeasure(f"a GET was answered with {heard.status}")


def _cpu_nanoseconds(pid: int) -> int:
    """Of all its threads."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks.iterdir())
