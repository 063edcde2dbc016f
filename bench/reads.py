"""A VM's GET beside nginx and Go: CPU of the server for each answer, in a region of 10 000 VMs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import load
from bench.figures import Figure, figure_of
from bench.lines import Exchange, Heard, Line, get
from bench.load import Load, Workload
from bench.peers import go, nginx
from bench.processes import CannotMeasure
from bench.region import DOCUMENT, Served, served

PART = "reads"
VMS = 10_000
SECONDS = 2
_WARM_MOST_SECONDS = 64
_LINES = 100
WORKLOADS = (
    Workload("the same VM on every connection", 1, to_nginx=1.3, to_go=1.0),
    Workload("another VM at each request", VMS, to_nginx=1.0, to_go=1.0),
    Workload("bytes never seen before", VMS, new=True, to_go=1.2),
    Workload("a connection for each request", 1, each=True, to_nginx=1.05, to_go=0.65),
    Workload("a connection for each request, another VM each time", VMS, each=True, to_nginx=1.05, to_go=0.65),
)


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    figures: list[Figure] = []
    with _contestants(say) as peers:
        for workload in WORKLOADS:
            figures += _figures(workload, in_turns(peers, workload, rounds, say))
    return figures


def in_turns(
    peers: dict[str, tuple[int, int]], workload: Workload, rounds: int, say: Callable[[str], None]
) -> dict[str, list[Load]]:
    """What each was given in each round. They take turns, and who begins changes: what disturbs the machine disturbs
    all alike."""
    for port, pid in peers.values():
        _warm_up(port, pid, workload)
    taken: dict[str, list[Load]] = {name: [] for name in peers}
    for turn in range(rounds):
        for name in sorted(peers, key=lambda name: (list(peers).index(name) + turn) % len(peers)):
            taken[name].append(_checked(name, load.ask(*peers[name], workload, SECONDS)))
        told = ", ".join(f"{name} {each[-1].cpu_microseconds:.1f} µs" for name, each in taken.items())
        say(f"{workload.what}: {told}")
    return taken


def _warm_up(port: int, pid: int, workload: Workload) -> None:
    """Until each VM was asked for: on a busy machine a second is not enough for that."""
    seconds = 1
    while load.ask(port, pid, workload, seconds).requests < workload.vms and seconds < _WARM_MOST_SECONDS:
        seconds *= 2


@contextmanager
def _contestants(say: Callable[[str], None]) -> Iterator[dict[str, tuple[int, int]]]:
    """Name → (port, process id) of everyone who gives the same answer."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forewarn-bench-")))
        directory.chmod(0o755)  # nginx drops its privileges
        region = stack.enter_context(served(pinned=True))
        region.create("web", VMS)
        answer = read_all(region, VMS)
        peers = {"forewarn": (region.metadata_port, region.pid)}
        peers["nginx"] = stack.enter_context(nginx.serving(directory, answer.body))
        if go.version() is not None:
            server = answer.header(b"server").decode()
            peers["Go"] = stack.enter_context(go.serving(directory, server, answer.body, VMS))
        say(f"nginx {nginx.version()}, {go.version() or 'Go is not installed and not compared'}")
        for name, (port, _) in peers.items():
            _check_same(name, port, answer)
        yield peers


def read_all(region: Served, vms: int, name: str = "web") -> Heard:
    """Let VMs NAME-0 … read once each, which enables their scopes, and give back one answer."""
    lines = [Line(region.metadata_port) for _ in range(_LINES)]
    exchange = Exchange(lines)
    try:
        for first in range(0, vms, _LINES):
            paths = [f"/vm/{name}-{number}/{DOCUMENT}" for number in range(first, min(first + _LINES, vms))]
            heard = exchange.ask({line: get(path) for line, path in zip(lines, paths, strict=False)})
            if any(answer.status != 200 for answer in heard.values()):
                raise CannotMeasure("a VM was not answered with its document")
        return next(iter(heard.values()))
    finally:
        exchange.close()


def _check_same(name: str, port: int, answer: Heard) -> None:
    """The same status, body and header fields; only the values of Server, Date and the request's id may differ."""
    exchange = Exchange([line := Line(port)])
    try:
        found = exchange.ask({line: get(f"/vm/web-0/{DOCUMENT}")})[line]
    finally:
        exchange.close()
    extra = _fields(found) ^ _fields(answer) - {b"connection"}
    if (found.status, found.body) != (answer.status, answer.body) or extra - {b"connection"}:
        raise CannotMeasure(f"{name} does not give the same answer: {found.head!r} {found.body!r}")


def _fields(heard: Heard) -> set[bytes]:
    return {line.partition(b":")[0].lower() for line in heard.head.split(b"\r\n")[1:]}


def _checked(name: str, load: Load) -> Load:
    """The load, if every request was answered."""
    if load.errors:
        raise CannotMeasure(f"{name} failed {load.errors} of {load.requests} requests")
    return load


def _figures(workload: Workload, taken: dict[str, list[Load]]) -> list[Figure]:
    what = workload.what
    costs = {name: [each.cpu_microseconds for each in loads] for name, loads in taken.items()}
    figures = [figure_of(PART, f"{name}, {what}", each, "µs CPU") for name, each in costs.items()]
    for name, wanted in (("nginx", workload.to_nginx), ("Go", workload.to_go)):
        if name in costs:
            ratios = [ours / theirs for ours, theirs in zip(costs["forewarn"], costs[name], strict=True)]
            figures.append(figure_of(PART, f"forewarn to {name}, {what}", ratios, "x", wanted))
    rates = [each.requests / each.seconds for each in taken["forewarn"]]
    figures.append(figure_of(PART, f"forewarn, {what}, on one core", rates, "answers/s"))
    return figures
