"""What one operation costs among a thousand VMs and among a million."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import cast

from bench.figures import Figure, figure_of
from bench.processes import CannotMeasure

PART = "sizes"
SMALL, LARGE = 1_000, 1_000_000
_LIMIT = 2.0
_QUESTIONS = {
    "written": "restart + approval, on disk",
    "stepped": "restart + approval, core alone",
    "idle_tick": "tick, nothing due",
    "due_tick": "tick, each event due",
}


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Both sizes stand ready in processes of their own and take turns."""
    small, large = _Fleet(SMALL), _Fleet(LARGE)
    try:
        built = {fleet.size: fleet.answer() for fleet in (small, large)}
        say(f"{LARGE:,} VMs made in {built[LARGE]['cpu_seconds']:.0f} s of CPU")
        figures: list[Figure] = []
        for question, what in _QUESTIONS.items():
            taken = [(small.ask(question), large.ask(question)) for _ in range(rounds)]
            figures += _figures(what, taken)
            say(f"{what}: " + ", ".join(f"{s['cpu'] * 1e6:.1f}/{m['cpu'] * 1e6:.1f} µs" for s, m in taken))
        for what in ("created", "reading"):
            held = built[LARGE][what] * 1024 * 1024 / LARGE
            figures.append(Figure(PART, f"memory of each VM, {what}, among {LARGE:,}", held, "bytes"))
        return figures
    finally:
        small.close()
        large.close()


def _figures(what: str, taken: list[tuple[dict[str, float], dict[str, float]]]) -> list[Figure]:
    ratios = [many["cpu"] / few["cpu"] for few, many in taken]
    walls = [many["wall"] * 1e3 for _, many in taken if "wall" in many]
    return [
        *([figure_of(PART, f"{what}, {LARGE:,} VMs, one after the other", walls, "ms")] if walls else []),
        figure_of(PART, f"{what}, {SMALL:,} VMs", [few["cpu"] * 1e6 for few, _ in taken], "µs CPU"),
        figure_of(PART, f"{what}, {LARGE:,} VMs", [many["cpu"] * 1e6 for _, many in taken], "µs CPU"),
        figure_of(PART, f"{what}, {LARGE:,} to {SMALL:,} VMs", ratios, "x", _LIMIT),
    ]


class _Fleet:
    """The other end of ``bench.fleet``."""

    def __init__(self, size: int) -> None:
        self.size = size
        command = [sys.executable, "-m", "bench.fleet", str(size)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question: str) -> dict[str, float]:
        assert self._process.stdin is not None
        print(question, file=self._process.stdin, flush=True)
        return self.answer()

    def answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CannotMeasure(f"the region of {self.size:,} VMs has ended early")
        return cast(dict[str, float], json.loads(line))

    def close(self) -> None:
        """An empty question ends it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
