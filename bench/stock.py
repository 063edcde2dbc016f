"""A data directory with a million VMs that all read their events: ``python -m bench.stock DIRECTORY SIZE``."""

from __future__ import annotations

import asyncio
import atexit
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path

from bench.fleet import Fleet
from bench.processes import CannotMeasure
from forewarn.plane.clock import TurnableClock, wall_time
from forewarn.server.assembly import Parts, running
from forewarn.stores.sqlite.journal import SqliteJournal

SIZE = 1_000_000
NAME = "web"
_AGE = timedelta(hours=1)  # recent enough that nobody's 24 hours end while we look


def stocked(directory: Path, say: Callable[[str], None]) -> Path:
    """A copy of the million VMs in a directory of the caller's own."""
    shutil.copytree(_made(say) / "data", directory / "data")
    return directory


@cache
def _made(say: Callable[[str], None]) -> Path:
    """Made once for all parts of a run, in a process of its own, and gone with the run."""
    directory = Path(tempfile.mkdtemp(prefix="forewarn-bench-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    command = [sys.executable, "-m", "bench.stock", str(directory / "data"), str(SIZE)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise CannotMeasure(f"the region of {SIZE:,} VMs could not be made")
    told = json.loads(done.stdout)
    say(f"{SIZE:,} VMs made in {told['cpu_seconds']:.0f} s of CPU")
    return directory


async def _make(directory: Path, size: int) -> None:
    journal = SqliteJournal(directory)
    parts = Parts(journal=journal, clock_from=lambda _: TurnableClock(wall_time() - _AGE))
    async with running(parts) as server:
        told = await Fleet(server.plane, size).build()
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(_make(Path(sys.argv[1]), int(sys.argv[2])))
