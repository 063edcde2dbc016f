"""Relays on a node with a million VMs: twenty real ones, and 980 streams by a driver that holds what it is told."""

from __future__ import annotations

import json
import selectors
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.figures import Figure, figure_of, percentile
from bench.lines import Exchange, Line, get, post
from bench.million import await_answer
from bench.processes import CannotMeasure, end, exact_cpu_seconds, memory_megabytes, start, wait_for
from bench.region import DOCUMENT, PROGRAM, Served
from bench.stock import NAME, stocked
from forewarn.web.slices.bulletins import decode
from forewarn.web.slices.holding import Holding
from tests.ports import free_port

PART = "relays"
_REAL, _DRIVEN, _VMS_EACH = 20, 980, 50
_QUIET_SECONDS = 30.0
_WRITES = 200
_MEGABYTES, _PERCENT, _MEDIAN, _HIGH = 40.0, 0.1, 30.0, 120.0
_PATIENCE_SECONDS = 120.0


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """What one relay holds and costs while nothing happens, and how soon a VM behind it hears of a write."""
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as name:
        region = Served(stocked(Path(name), say), "--user-operation-limit", "0")
        try:
            await_answer(region)
            wait_for(region.control_port, region.pid)
            with _relays(region) as relays:
                say(f"{len(relays)} relays, {memory_megabytes(relays[0].pid):.0f} MB the first")
                alone = _delays(region, relays, _WRITES)
                with _driven(region) as driver:
                    say(f"{len(driver.holdings)} streams beside them")
                    figures = _quiet(region, relays)
                    among = _delays(region, relays, _WRITES * min(rounds, 5))
                    if driver.complaint:
                        raise CannotMeasure(driver.complaint)
        finally:
            region.end(signal.SIGKILL)
    beside = f"{_REAL + _DRIVEN:,} relays"
    return [
        *figures,
        *_told(f"restart to the answer of a VM that waits behind one of {_REAL} relays", alone),
        *_told(f"restart to the answer of a VM that waits behind one of {beside}", among),
    ]


@dataclass(frozen=True)
class Delays:
    """How long writes took to come to a VM, and what node and relays spent on each of them and on its undoing."""

    milliseconds: list[float]
    node_cpu: float
    relays_cpu: float


def _told(what: str, found: Delays) -> list[Figure]:
    return [
        Figure(PART, f"{what}, median", percentile(found.milliseconds, 0.5), "ms", _MEDIAN),
        Figure(PART, f"{what}, 99th percentile", percentile(found.milliseconds, 0.99), "ms", _HIGH),
        Figure(PART, f"{what}: CPU of the node, with two reads and the undoing", found.node_cpu * 1e6, "µs"),
        Figure(PART, f"{what}: CPU of the {_REAL} relays, the same", found.relays_cpu * 1e6, "µs"),
    ]


@dataclass(frozen=True)
class RunningRelay:
    pid: int
    port: int
    vms: tuple[str, ...]


def _vms_of(number: int) -> tuple[str, ...]:
    return tuple(f"{NAME}-{number * _VMS_EACH + each}" for each in range(_VMS_EACH))


@contextmanager
def _relays(region: Served) -> Iterator[list[RunningRelay]]:
    started = []
    try:
        found = []
        for number in range(_REAL):
            port, vms = free_port(), _vms_of(number)
            command = [PROGRAM, "relay", "--upstream", region.url, "--metadata", f"127.0.0.1:{port}"]
            started.append(start([*command, "--vms", ",".join(vms), "--log-level", "warning"]))
            wait_for(port, started[-1].pid)
            found.append(RunningRelay(started[-1].pid, port, vms))
        yield found
    finally:
        for each in started:
            end(each)


@dataclass
class Driver:
    """What 980 relays would hold, kept by the code of a relay."""

    holdings: dict[socket.socket, Holding] = field(default_factory=dict)
    complaint: str = ""
    stopped: bool = False


@contextmanager
def _driven(region: Served) -> Iterator[Driver]:
    driver, looking, left = Driver(), selectors.DefaultSelector(), dict[socket.socket, bytes]()
    for number in range(_REAL, _REAL + _DRIVEN):
        stream = socket.create_connection(("127.0.0.1", region.control_port))
        body = json.dumps({"vms": _vms_of(number)}).encode()
        stream.sendall(post("/v1/relays/stream", region.control_port, body))
        driver.holdings[stream], left[stream] = Holding(), b""
        looking.register(stream, selectors.EVENT_READ)

    def read_on() -> None:
        while not driver.stopped:
            for key, _ in looking.select(0.2):
                stream = key.fileobj
                assert isinstance(stream, socket.socket)
                data = stream.recv(1 << 20)
                if not data:
                    driver.complaint = "a stream ended"
                    looking.unregister(stream)
                    continue
                *lines, left[stream] = (left[stream] + data).split(b"\n")
                for line in lines:
                    if line.startswith(b"{"):  # between the marks of chunks
                        driver.holdings[stream].apply(decode(line))

    thread = threading.Thread(target=read_on)
    thread.start()
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while any(len(each.region.vms) < _VMS_EACH for each in driver.holdings.values()):
            if time.monotonic() > deadline:
                raise CannotMeasure("not all streams have told of their VMs")
            time.sleep(0.05)
        yield driver
    finally:
        driver.stopped = True
        thread.join()
        for stream in driver.holdings:
            stream.close()


def _quiet(region: Served, relays: list[RunningRelay]) -> list[Figure]:
    pids = [relay.pid for relay in relays]
    before, upstream = [exact_cpu_seconds(pid) for pid in pids], exact_cpu_seconds(region.pid)
    time.sleep(_QUIET_SECONDS)
    shares = [(exact_cpu_seconds(pid) - spent) / _QUIET_SECONDS * 100 for pid, spent in zip(pids, before, strict=True)]
    spent = (exact_cpu_seconds(region.pid) - upstream) / _QUIET_SECONDS * 100
    held = [memory_megabytes(pid) for pid in pids]
    private = [memory_megabytes(pid, "RssAnon") for pid in pids]
    vms = f"a relay with {_VMS_EACH} VMs of a million"
    return [
        figure_of(PART, f"{vms}, RSS", held, "MB", _MEGABYTES),
        figure_of(PART, f"{vms}, of that its own and no file's", private, "MB"),
        figure_of(PART, f"{vms}, CPU while nothing happens", shares, "% of a core", _PERCENT),
        Figure(PART, f"the node, CPU for {_REAL + _DRIVEN:,} relays while nothing happens", spent, "% of a core"),
    ]


def _delays(region: Served, relays: list[RunningRelay], writes: int) -> Delays:
    """From sending a restart to the answer of the VM that waits behind its relay."""
    operator, delays = Line(region.control_port), []
    node, beside = exact_cpu_seconds(region.pid), sum(exact_cpu_seconds(each.pid) for each in relays)
    for turn in range(writes):
        relay = relays[turn % len(relays)]
        vm, guest = relay.vms[turn // len(relays) % _VMS_EACH], Line(relay.port)
        exchange = Exchange([guest, operator])
        known = exchange.ask({guest: get(f"/vm/{vm}/{DOCUMENT}")})[guest].header(b"etag").decode()
        guest.send(get(f"/vm/{vm}/{DOCUMENT}", f"If-None-Match: {known}", "Prefer: wait=120"))
        time.sleep(0.02)  # until it is held
        begun = time.perf_counter()
        asked = json.dumps({"names": [vm]}).encode()
        operator.send(post("/v1/vms/restart", region.control_port, asked))
        heard = exchange.collect(2)
        delays.append((heard[guest].at - begun) * 1e3)
        events = [event["id"] for event in json.loads(heard[operator].body)["events"]]
        exchange.ask({operator: post("/v1/events/cancel", region.control_port, json.dumps({"ids": events}).encode())})
        guest.close()
    operator.close()
    node_cpu = (exact_cpu_seconds(region.pid) - node) / writes
    relays_cpu = (sum(exact_cpu_seconds(each.pid) for each in relays) - beside) / writes
    return Delays(delays, node_cpu, relays_cpu)
