"""One VM that keeps asking while something large goes on: what everybody else feels of it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from types import TracebackType

from bench.figures import Figure, percentile
from bench.lines import Line, get
from bench.processes import CannotMeasure
from bench.region import DOCUMENT

_PAUSE_SECONDS = 0.002


class Canary:
    """Asks for as long as the block lasts. Its longest wait is the longest stall of the server's loop.

    It is a process of its own: threads of the measuring program would make it wait for each other.
    """

    def __init__(self, port: int, vm: str = "", source: str = "127.0.0.1", *, each: bool = False) -> None:
        """Without the name of a VM the server knows it by its address; ``each``: a connection for each request."""
        self.delays: list[float] = []  # milliseconds
        self._command = [sys.executable, "-m", "bench.canary", str(port), vm, source, "each" if each else ""]

    def __enter__(self) -> Canary:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it has begun
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        told, _ = self._process.communicate()  # the end of its input ends it
        found = json.loads(told or b'{"delays": [], "problem": "it ended"}')
        self.delays = found["delays"]
        if kind is None and (found["problem"] or not self.delays):
            raise CannotMeasure(f"another VM's reads failed meanwhile: {found['problem']}")

    def figures(self, part: str, when: str) -> list[Figure]:
        shares = (("median", 0.5), ("99th percentile", 0.99), ("longest", 1.0))
        return [
            Figure(part, f"another VM's read {when}, {title}", percentile(self.delays, share), "ms")
            for title, share in shares
        ]


def _ask_on(connect: Callable[[], Line], request: bytes, over: threading.Event, *, each: bool) -> list[float]:
    delays: list[float] = []
    line = connect()
    while not over.wait(_PAUSE_SECONDS):
        begun = time.perf_counter()
        if each:
            line.close()
            line = connect()
        line.send(request)
        while (heard := line.receive()) is None:
            pass
        delays.append((time.perf_counter() - begun) * 1e3)
        if heard.status != 200:
            raise CannotMeasure(f"a VM was answered with {heard.status}")
    return delays


def _main(port: int, vm: str, source: str, each: bool) -> None:
    over = threading.Event()
    told: dict[str, object] = {"delays": [], "problem": ""}
    path = f"/vm/{vm}/{DOCUMENT}" if vm else f"/{DOCUMENT}"

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    print("asking", flush=True)
    request = get(path, *(["Connection: close"] if each else []))
    try:
        told["delays"] = _ask_on(partial(Line, port, source), request, over, each=each)
    except (CannotMeasure, OSError) as problem:
        told["problem"] = str(problem) or type(problem).__name__
        over.wait()
    print(json.dumps(told))


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2], sys.argv[3], bool(sys.argv[4]))
