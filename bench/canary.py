"""One VM that keeps asking while something large goes on: what everybody else feels of it."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from bench.figures import Figure, percentile
from bench.lines import Line, get
from bench.processes import CannotMeasure
from bench.region import DOCUMENT

_PAUSE_SECONDS = 0.002


class Canary:
    """Asks in a thread of its own for as long as the block lasts. Its longest wait is the loop's longest stall."""

    def __init__(self, port: int, vm: str) -> None:
        self.delays: list[float] = []  # milliseconds
        self._line = Line(port)
        self._request = get(f"/vm/{vm}/{DOCUMENT}")
        self._over = threading.Event()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._ask_on, daemon=True)

    def _ask_on(self) -> None:
        try:
            while not self._over.wait(_PAUSE_SECONDS):
                begun = time.perf_counter()
                self._line.send(self._request)
                while (heard := self._line.receive()) is None:
                    pass
                self.delays.append((time.perf_counter() - begun) * 1e3)
                if heard.status != 200:
                    raise CannotMeasure(f"a VM was answered with {heard.status}")
        except (CannotMeasure, OSError) as problem:
            self._problem = problem

    def __enter__(self) -> Canary:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._line.close()
        if kind is None and (self._problem is not None or not self.delays):
            raise CannotMeasure(f"another VM's reads failed meanwhile: {self._problem}")

    def figures(self, part: str, when: str) -> list[Figure]:
        shares = (("median", 0.5), ("99th percentile", 0.99), ("longest", 1.0))
        return [
            Figure(part, f"another VM's read {when}, {title}", percentile(self.delays, share), "ms")
            for title, share in shares
        ]
