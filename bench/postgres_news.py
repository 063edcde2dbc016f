"""From a write on one node to the answer of a VM that waits on another, while fifty nodes' worth of sessions listen."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable

from bench.figures import Figure, percentile
from bench.lines import Exchange, Line, get, post
from bench.postgres import PART, nodes
from bench.processes import CannotMeasure
from bench.region import DOCUMENT, Served
from tests.postgres import Server

LISTENERS = 50
_VMS = 600  # each is restarted once: the same operation would join the event that is open
_MEDIAN_MS, _HIGH_MS = 25.0, 100.0
_PAUSE_SECONDS = 0.05  # writes come one by one, as people make them


def measure(server: Server, rounds: int, say: Callable[[str], None]) -> list[Figure]:
    url = server.region()
    with nodes(url, 2, "--user-operation-limit", "0") as (here, there):
        here.create("web", _VMS)
        with _Listeners(url, LISTENERS) as listeners:
            delays = _restarts(here, there, _VMS * min(rounds, 3) // 3)
        heard = listeners.heard
    say(f"{len(delays)} answers, the last after {max(delays):.1f} ms; {heard:,} times a listener read what was new")
    if heard < len(delays) * LISTENERS / 2:
        raise CannotMeasure(f"the listeners read only {heard} times")
    what = f"write on one node to the answer on another, {LISTENERS} nodes listening"
    return [
        Figure(PART, f"{what}, median", percentile(delays, 0.5), "ms", _MEDIAN_MS),
        Figure(PART, f"{what}, 99th percentile", percentile(delays, 0.99), "ms", _HIGH_MS),
    ]


def _restarts(here: Served, there: Served, turns: int) -> list[float]:
    """Milliseconds from sending each restart to one node to the answer that the other gives."""
    vms = {Line(there.metadata_port): f"web-{number}" for number in range(_VMS)}
    operator = Line(here.control_port)
    exchange = Exchange([*vms, operator])
    delays: list[float] = []
    try:
        known = exchange.ask({line: get(f"/vm/{vm}/{DOCUMENT}") for line, vm in vms.items()})
        for line in vms:
            _wait(line, vms[line], known[line].header(b"etag"))
        time.sleep(1.0)  # until the server has read what was sent: nothing tells us when
        order = list(vms)
        for turn in range(turns):
            line = order[turn * 7 % _VMS]
            begun = time.perf_counter()
            body = json.dumps({"names": [vms[line]]}).encode()
            operator.send(post("/v1/vms/restart", here.control_port, body))
            heard = exchange.collect(2)
            if line not in heard or heard[operator].status >= 300:
                raise CannotMeasure(f"a restart was answered with {heard[operator].body!r}")
            delays.append((heard[line].at - begun) * 1e3)
            _wait(line, vms[line], heard[line].header(b"etag"))
            time.sleep(_PAUSE_SECONDS)
        return delays
    finally:
        exchange.close()


def _wait(line: Line, vm: str, tag: bytes) -> None:
    line.send(get(f"/vm/{vm}/{DOCUMENT}", f"If-None-Match: {tag.decode()}", "Prefer: wait=300"))


class _Listeners:
    """The other end of ``bench.listeners``. ``heard`` says how often one of them read, once they have ended."""

    def __init__(self, url: str, count: int) -> None:
        self.heard = 0
        command = [sys.executable, "-m", "bench.listeners", url, str(count)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> _Listeners:
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "listening":
            raise CannotMeasure("the listeners did not come up")
        return self

    def __exit__(self, *_: object) -> None:
        self.heard = int(self._process.communicate(timeout=60)[0] or 0)
