"""Anonymous memory inside a VM beside the version before: an idle agent, and a process that holds a ``Client``.

Fresh processes, taking turns. They run without ``site``, so that what an environment loads at a start does not count.
Anonymous memory is what the process has for itself; files that it shares with other Pythons are left out. The figures
differ by pages, not by percents, so 25 rounds (``--rounds 25``) tell more than their median: the lowest and highest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.agent import SETTLING_SECONDS, Wire, first_read, running_agent
from bench.before import packages_before
from bench.figures import Figure, figure_of
from bench.plain_service import PlainService, plain_service
from bench.processes import CannotMeasure

PART = "memory"
_SOURCE = Path(__file__).parents[1] / "src"
_PYTHON = (sys.executable, "-S")
_CLIENT = """
from forewarn.guest import Client
kept = Client()
import gc
gc.collect()
print(open("/proc/self/smaps_rollup").read())
"""


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as name, Wire(Path(name) / "wire") as wire:
        directory = Path(name)
        versions = {"now": _environment(_SOURCE), "0.1": _environment(packages_before(directory))}
        agents: dict[str, list[float]] = {version: [] for version in versions}
        clients: dict[str, list[float]] = {version: [] for version in versions}
        with plain_service() as service:
            for number in range(-1, rounds):  # the first one compiles, and is not counted
                for version, environment in versions.items():
                    client = _of_client(environment)
                    agent = _of_agent(service, directory, wire, f"{version}-{number}".replace(".", "-"), environment)
                    if number >= 0:
                        clients[version].append(client)
                        agents[version].append(agent)
                say(f"{number + 1} of {rounds} rounds")
    return [
        figure_of(PART, f"{version}, {what}, anonymous", values, "MiB")
        for what, of in (("an idle agent", agents), ("a process with a Client", clients))
        for version, values in of.items()
    ]


def _environment(packages: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPATH": str(packages)}


def _of_client(environment: Mapping[str, str]) -> float:
    told = subprocess.run([*_PYTHON, "-c", _CLIENT], env=environment, capture_output=True, text=True, check=True)
    return _anonymous(told.stdout)


def _of_agent(service: PlainService, directory: Path, wire: Wire, guest: str, environment: Mapping[str, str]) -> float:
    endpoint = f"http://127.0.0.1:{service.port}/{guest}"
    program = (*_PYTHON, "-m", "forewarn")
    with running_agent(directory / guest, endpoint, wire, guest, program, environment) as agent:
        first_read(service, guest)
        time.sleep(SETTLING_SECONDS)
        return _anonymous(Path(f"/proc/{agent.pid}/smaps_rollup").read_text(encoding="ascii"))


def _anonymous(rollup: str) -> float:
    """In MiB."""
    for line in rollup.splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) / 1024
    raise CannotMeasure("the kernel does not tell Anonymous")
