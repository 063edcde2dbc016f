"""A start, a VM's GET and a restart in instructions, beside the version before: what a noisy machine cannot hide.

Both programs run under valgrind's callgrind, one after the other. Requests go over one kept-alive connection, or over
one for each: some to warm up, then a counted number of them, with the counters set to zero before and read after. What
the kernel does is not counted. Valgrind makes a program some fifty times slower, so this part takes minutes and is run
only when named.
"""

from __future__ import annotations

import compileall
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path

import forewarn
from bench.before import packages_before
from bench.figures import Figure, figure_of
from bench.lines import Exchange, Line, get
from bench.load import Workload
from bench.processes import CannotMeasure
from bench.reads import WORKLOADS
from bench.region import DOCUMENT, Served

PART = "instructions"
_VMS = 100
_WARM_UP = 300  # each VM is read three times before anything is counted
_COUNTED = 200
_TIMES = 7
_RESTARTS = 20
_START_SECONDS = 900.0  # two seconds, fifty times slower, on a machine that others use


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """One round is a fresh process of each program."""
    if shutil.which("valgrind") is None:
        raise CannotMeasure("valgrind is not installed (Debian: apt-get install valgrind)")
    compileall.compile_dir(Path(forewarn.__file__).parent, quiet=1)  # as an installed wheel is
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory:
        packages = {"now": "", "0.1": str(packages_before(Path(directory)))}
        taken = {name: [_count(name, path, say) for _ in range(rounds)] for name, path in packages.items()}
    for what in taken["now"][0]:
        counts = {name: [each[what] for each in runs] for name, runs in taken.items()}
        figures += [figure_of(PART, f"{name}, {what}", each, "instructions") for name, each in counts.items()]
        ratios = [now / before for now, before in zip(counts["now"], counts["0.1"], strict=True)]
        figures.append(figure_of(PART, f"now to 0.1, {what}", ratios, "x"))
    return figures


def _count(name: str, packages: str, say: Callable[[str], None]) -> dict[str, float]:
    """Instructions of one program, by what was done: for each answer, for each restart, for a start."""
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as own:
        region = Served(Path(own), "--user-operation-limit", "0", program=_under_valgrind(Path(own), packages))
        try:
            region.wait(_START_SECONDS)
            counted: dict[str, float] = {"start until both faces listen": _since_the_last_dump(region)}
            region.create("web", _VMS)
            counted[f"start, and {_VMS} VMs created"] = sum(counted.values()) + _since_the_last_dump(region)
            counted |= {f"GET, {each.what}": _instructions(region, each) for each in WORKLOADS}
            counted["restart + approval, on disk"] = _restart_and_approval(region)
        finally:
            region.end()
    say(f"{name}: " + ", ".join(f"{what} {each:,.0f}" for what, each in counted.items()))
    return counted


def _restart_and_approval(region: Served) -> float:
    """An operator's restart, the VM's read and its approval, all on kept-alive connections; the lowest of some."""
    line = Line(region.metadata_port)
    exchange = Exchange([line])
    try:
        return min(_one_restart(region, exchange, line, f"web-{number}") for number in range(_RESTARTS))
    finally:
        exchange.close()


def _one_restart(region: Served, exchange: Exchange, line: Line, vm: str) -> int:
    path = f"/vm/{vm}/{DOCUMENT}"
    _since_the_last_dump(region)
    region.call("POST", "/v1/vms/restart", {"names": [vm]})
    told = json.loads(exchange.ask({line: get(path)})[line].body)
    approval = json.dumps({"StartRequests": [{"EventId": told["Events"][0]["EventId"]}]})
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nMetadata: true\r\nContent-Length: {len(approval)}\r\n\r\n"
    if exchange.ask({line: (head + approval).encode()})[line].status != 200:
        raise CannotMeasure("an approval was not taken")
    return _since_the_last_dump(region)


def _under_valgrind(directory: Path, packages: str) -> str:
    """A command that runs forewarn and counts. The seed of hashes is fixed, or two runs would differ."""
    command = directory / "counted"
    valgrind = f"valgrind --tool=callgrind --callgrind-out-file={directory}/callgrind.out"
    run = f'exec {valgrind} {sys.executable} -m forewarn "$@" 2>/dev/null'
    command.write_text(f"#!/bin/sh\nexport PYTHONPATH={packages} PYTHONHASHSEED=0\n{run}\n")
    command.chmod(0o755)
    return str(command)


def _instructions(region: Served, workload: Workload) -> float:
    """For each answer, the lowest of some times: what else a server does meanwhile, by its clock, only adds."""
    requests = _requests(workload)
    with _asking(region.metadata_port, each=workload.each) as ask:
        _ask(ask, islice(requests, _WARM_UP))
        return min(_counted(region, ask, requests) for _ in range(_TIMES)) / _COUNTED


@contextmanager
def _asking(port: int, *, each: bool) -> Iterator[Callable[[bytes], int]]:
    """Sends a request and gives the answer's status, over one connection or over one for each."""
    if each:
        yield partial(_ask_alone, port)
        return
    line = Line(port)
    exchange = Exchange([line])
    try:
        yield lambda request: exchange.ask({line: request})[line].status
    finally:
        exchange.close()


def _ask_alone(port: int, request: bytes) -> int:
    with _asking(port, each=False) as ask:
        return ask(request)


def _counted(region: Served, ask: Callable[[bytes], int], requests: Iterator[bytes]) -> int:
    _since_the_last_dump(region)
    _ask(ask, islice(requests, _COUNTED))
    return _since_the_last_dump(region)


def _requests(workload: Workload) -> Iterator[bytes]:
    for turn in count():
        request = get(f"/vm/web-{turn % min(workload.vms, _VMS)}/{DOCUMENT}")
        fields = b"X-Turn: %d\r\n" % turn if workload.new else b""
        fields += b"Connection: close\r\n" if workload.each else b""
        yield request[:-2] + fields + b"\r\n"


def _ask(ask: Callable[[bytes], int], requests: Iterator[bytes]) -> None:
    for request in requests:
        if ask(request) != 200:
            raise CannotMeasure("a VM was not answered with its document")


def _since_the_last_dump(region: Served) -> int:
    """The instructions of all threads. Writing them down sets the counters to zero."""
    subprocess.run(["callgrind_control", "--dump", str(region.pid)], capture_output=True, check=True)
    newest = max(region.directory.glob("callgrind.out.*"), key=lambda path: int(path.suffix[1:]))
    found = re.search(r"^(?:summary|totals): (\d+)", newest.read_text(), re.MULTILINE)
    if found is None:
        raise CannotMeasure(f"{newest} has no sum")
    return int(found[1])
