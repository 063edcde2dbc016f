"""Starts ``failing_calls`` for one durable thing, under the library, on a disk of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.e2e.program import ROOT, clean_environment
from tests.loss.machines import Disk
from tests.loss.watched_disk import WatchedDisk


def tried(
    name: str, directory: Path, images: int, most: int = 1000, **environment: str
) -> tuple[list[str], dict[str, int]]:
    """What was wrong with it, and how much was tried."""
    directory.mkdir(parents=True, exist_ok=True)
    disk = Disk(directory / "disk", 64)
    try:
        root, scratch = disk.place / "root", disk.place / "scratch"
        root.mkdir()
        scratch.mkdir()
        watched = WatchedDisk(root, disk.place / "record", disk.place / "rules")
        done = subprocess.run(
            [sys.executable, "-m", "tests.loss.failing_calls", name, str(scratch), str(images), str(most)],
            cwd=ROOT,
            env=clean_environment(**watched.environment(), **environment),
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        disk.close()
    assert done.returncode == 0, done.stderr
    *wrong, told = (json.loads(line) for line in done.stdout.splitlines())
    return [f"{each['case']}: {each['wrong']}" for each in wrong], told
