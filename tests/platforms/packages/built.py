"""What is built for others to install, and the tools that look at it. ``make platforms`` has installed these."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.program import ROOT, clean_environment

TOOLS = ROOT / ".build" / "package" / "bin"
NAME = "localhost/forewarn"  # of the image
BASE = "localhost/forewarn-base"  # and of the one below it: Debian with its Python
# runc may not raise its own limits where it does not run as the machine's first root
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096")
PATIENCE_SECONDS = 900.0  # what fetches packages takes a minute on a quiet machine


def run(
    command: Sequence[str | Path], *, status: int | None = 0, where: Path = ROOT, **variables: str
) -> subprocess.CompletedProcess[str]:
    """To its end, which must be the one that is expected (None: any)."""
    done = subprocess.run(
        command,
        cwd=where,
        env=clean_environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    told = f"{done.stdout}{done.stderr}"
    assert status is None or done.returncode == status, f"{command} ended with {done.returncode}:\n{told[-6000:]}"
    return done


def build(into: Path, source: Path = ROOT, *targets: str) -> list[Path]:
    """Wheel and sdist of a source tree, or only those that are named."""
    chosen = [word for target in targets for word in ("-t", target)]
    run([sys.executable, "-m", "hatchling", "build", "-d", into, *chosen], where=source)
    return sorted(into.iterdir())


def debian(name: str = "image-base", packages: str = "python3,python3-venv") -> Path:
    """The archive of a small Debian with its Python; made once of Debian's packages, and then kept."""
    kept = ROOT / ".build" / f"{name}.tar"
    if not kept.exists():
        made = kept.with_suffix(f".{os.getpid()}.tar")
        run(["mmdebstrap", "--mode=root", "--variant=minbase", f"--include={packages}", "bookworm", made])
        made.rename(kept)
    return kept
