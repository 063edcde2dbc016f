"""A simulated week of 200 VMs, as anybody can replay it: ``forewarn sim``."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from bench.figures import Figure, figure_of
from bench.processes import CannotMeasure
from bench.region import PROGRAM

PART = "week"
VMS, DAYS = 200, 7
_SECONDS = 60.0
_PATIENCE_SECONDS = 600.0


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Another seed each time: a week is as long as what happens in it."""
    taken = []
    for seed in range(1, min(rounds, 3) + 1):
        command = [PROGRAM, "sim", "--seed", str(seed), "--vms", str(VMS), "--days", str(DAYS)]
        begun = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False)
        except subprocess.TimeoutExpired as slow:
            raise CannotMeasure(f"forewarn sim --seed {seed} was not done after {_PATIENCE_SECONDS} s") from slow
        taken.append(time.perf_counter() - begun)
        if done.returncode:
            raise CannotMeasure(f"forewarn sim --seed {seed} ended with {done.returncode}: {done.stderr[-300:]}")
        say(f"seed {seed}: {taken[-1]:.1f} s")
    return [figure_of(PART, f"a simulated week of {VMS} VMs", taken, "s", _SECONDS)]
