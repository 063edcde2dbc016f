"""A VM's GET beside the version before: both programs and nginx in one run, taking turns.

A difference of a few percent is shown only so: two runs of one program on two days differ by more. Fifteen rounds or
more (``--rounds 15``) tell it from noise.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.figures import Figure, figure_of
from bench.peers import nginx
from bench.reads import VMS, WORKLOADS, in_turns, read_all
from bench.region import served

PART = "before"
WHEEL = Path(__file__).parents[1] / "tests" / "upgrade" / "forewarn-0.1.0-py3-none-any.whl"
_RATIOS = (("now", "0.1"), ("now", "nginx"), ("0.1", "nginx"))


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    figures: list[Figure] = []
    with _contestants() as peers:
        for workload in WORKLOADS:
            taken = in_turns(peers, workload, rounds, say)
            costs = {name: [each.cpu_microseconds for each in loads] for name, loads in taken.items()}
            figures += [figure_of(PART, f"{name}, {workload.what}", each, "µs CPU") for name, each in costs.items()]
            for ours, theirs in _RATIOS:
                ratios = [a / b for a, b in zip(costs[ours], costs[theirs], strict=True)]
                figures.append(figure_of(PART, f"{ours} to {theirs}, {workload.what}", ratios, "x"))
    return figures


@contextmanager
def _contestants() -> Iterator[dict[str, tuple[int, int]]]:
    """Name → (port, process id)."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forewarn-bench-")))
        directory.chmod(0o755)  # nginx drops its privileges
        peers: dict[str, tuple[int, int]] = {}
        for name, program in (("now", None), ("0.1", _version_before(directory))):
            region = stack.enter_context(served(pinned=True, program=program))
            region.create("web", VMS)
            answer = read_all(region, VMS)
            peers[name] = (region.metadata_port, region.pid)
        peers["nginx"] = stack.enter_context(nginx.serving(directory, answer.body))
        yield peers


def _version_before(directory: Path) -> str:
    """The command of 0.1."""
    command = directory / "forewarn-before"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={packages_before(directory)} exec {sys.executable} -m forewarn "$@"\n')
    command.chmod(0o755)
    return str(command)


def packages_before(directory: Path) -> Path:
    """0.1 from its wheel, to be put before the packages of this environment."""
    target = directory / "packages"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", target, WHEEL], check=True)
    return target
