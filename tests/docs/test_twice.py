"""The runner of the tests: what fails twice fails the run, what fails once is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_ONCE = """
from pathlib import Path

def test_that_hangs_on_chance():
    seen = Path("seen")
    try:
        assert seen.exists()
    finally:
        seen.touch()
"""
_ALWAYS = "def test_that_never_holds():\n    assert False\n"
_FINE = "def test_that_holds():\n    pass\n"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (_FINE, 0, "1 passed"),
        (_ONCE + _FINE, 0, "  test_them.py::test_that_hangs_on_chance\n"),
        (_ONCE + _ALWAYS, 1, "1 failed, 1 passed"),
        ("import nothing_of_that_name\n", 2, "No module named"),
    ],
)
def test_what_failed_is_run_once_more_alone(tmp_path: Path, text: str, code: int, said: str) -> None:
    (tmp_path / "test_them.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "tests.twice", "-q"]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (code, "")
    assert said in done.stdout
