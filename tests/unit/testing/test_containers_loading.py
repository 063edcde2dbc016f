"""What a test needs for a region in a container: Testcontainers, and nothing of a server."""

from __future__ import annotations

import subprocess
import sys

_WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({lacking!r}))  # as if they were not installed
import forewarn.testing.containers
"""


def _load(*lacking: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", _WITHOUT.format(lacking=lacking)]
    return subprocess.run(line, capture_output=True, text=True, timeout=60)


def test_no_package_of_a_server_is_needed() -> None:
    done = _load("msgspec", "immutables", "fastapi", "uvloop", "httptools", "pydantic")
    assert (done.returncode, done.stderr) == (0, "")


def test_without_testcontainers_it_says_what_to_install() -> None:
    assert "pip install '.[testcontainers]'" in _load("testcontainers").stderr
