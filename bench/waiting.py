"""From an operator's restart to the answer of the VMs that wait for news, a thousand of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping

from bench.figures import Figure, percentile
from bench.lines import Exchange, Heard, Line, get, post
from bench.processes import CannotMeasure
from bench.region import DOCUMENT, Served, served

PART = "waiting"
WAITERS = 1_000
_LIMIT = 50.0
_PAUSE_SECONDS = 0.2  # until the server has read what was sent: nothing tells us when


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Each on a scope of its own, where one is told of each restart; all in one scope, where all are told."""
    figures: list[Figure] = []
    with served("--user-operation-limit", "0", "--availability-set-size", "0") as region:
        region.create("web", WAITERS)
        region.create("set", WAITERS, availability_set="front")
        for what, name, restarts, told in (
            ("each waiting for its own", "web", 40 * rounds, 1),
            ("all waiting for one", "set", 2 * rounds, WAITERS),
        ):
            delays = _Waiting(region, name).restart(restarts, told)
            say(f"{what}: {len(delays)} answers, the last after {max(delays):.1f} ms")
            for share, title in ((0.5, "median"), (0.99, "99th percentile")):
                text = f"restart to answer, {WAITERS:,} {what} scope, {title}"
                figures.append(Figure(PART, text, percentile(delays, share), "ms", _LIMIT))
    return figures


class _Waiting:
    """VMs that hold a request open, and the operator who disturbs them."""

    def __init__(self, region: Served, name: str) -> None:
        self._name, self._region = name, region
        self._vms = {Line(region.metadata_port): f"{name}-{number}" for number in range(WAITERS)}
        self._operator = Line(region.control_port)
        self._exchange = Exchange([*self._vms, self._operator])
        self._known: dict[Line, bytes] = {}

    def restart(self, restarts: int, told: int) -> list[float]:
        """Milliseconds from sending each restart to each answer that it led to."""
        try:
            self._know(self._exchange.ask({line: get(f"/vm/{vm}/{DOCUMENT}") for line, vm in self._vms.items()}))
            self._wait(self._vms)
            return [delay for turn in range(restarts) for delay in self._one(turn, told)]
        finally:
            self._exchange.close()

    def _one(self, turn: int, told: int) -> list[float]:
        time.sleep(_PAUSE_SECONDS if told > 1 or turn == 0 else 0.01)
        vm = f"{self._name}-{turn * 7 % WAITERS}"
        begun = time.perf_counter()
        heard = self._ask("/v1/vms/restart", {"names": [vm]}, told)
        delays = [(answer.at - begun) * 1e3 for line, answer in heard.items() if line is not self._operator]
        events = json.loads(heard[self._operator].body)["events"]
        if told > 1:  # take it back, so that the next document is no longer than this one
            time.sleep(_PAUSE_SECONDS)
            self._ask("/v1/events/cancel", {"ids": [event["id"] for event in events]}, told)
        return delays

    def _ask(self, path: str, body: object, told: int) -> Mapping[Line, Heard]:
        """An operator's request and the answers of those who are told; then they wait again."""
        self._operator.send(post(path, self._region.control_port, json.dumps(body).encode()))
        heard = self._exchange.collect(told + 1)
        news = {line: answer for line, answer in heard.items() if line is not self._operator}
        if heard[self._operator].status >= 300 or any(answer.status != 200 for answer in news.values()):
            raise CannotMeasure(f"{path} was answered with {heard[self._operator].body!r}")
        self._know(news)
        self._wait(news)
        return heard

    def _know(self, heard: Mapping[Line, Heard]) -> None:
        self._known |= {line: answer.header(b"etag") for line, answer in heard.items()}

    def _wait(self, lines: Mapping[Line, object]) -> None:
        for line in lines:
            known = f"If-None-Match: {self._known[line].decode()}"
            line.send(get(f"/vm/{self._vms[line]}/{DOCUMENT}", known, "Prefer: wait=120"))
