"""``make demo MACHINES=…``: the five stories on real machines, and what is said where they cannot be played."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(600)
_ROOT = Path(__file__).parents[2]
_TYPES = ("Reboot:", "Freeze:", "Redeploy:", "Preempt:", "Terminate:")


def play(machines: str, **environment: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "tests.platforms.stories", machines]
    return subprocess.run(
        line, capture_output=True, text=True, timeout=500, cwd=_ROOT, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("machines", ["containers", "libvirt"])
def test_the_five_stories_go_as_they_should_on_real_machines(machines: str) -> None:
    done = play(machines)

    assert "5 of 5 stories went as they should." in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
    titles = [line.split()[0] for line in done.stdout.splitlines() if line and not line.startswith((" ", "5", "A "))]
    assert tuple(titles) == _TYPES


@pytest.mark.parametrize("machines", ["containers", "libvirt"])
def test_what_is_missing_is_said_in_one_line(machines: str) -> None:
    """As somebody who is not root."""
    line = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-B", "-m"]
    done = subprocess.run(
        [*line, "tests.platforms.stories", machines], capture_output=True, text=True, timeout=60, cwd=_ROOT
    )

    assert (done.returncode, len(done.stdout.splitlines())) == (1, 2), done.stdout + done.stderr
    assert "not played: " in done.stdout.splitlines()[1]
    assert "need" in done.stdout.splitlines()[1]
    assert "root" in done.stdout.splitlines()[1]
