"""What end-to-end tests borrow from those of the command line, the wire of agents, and the signals that programs begin
with."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.agents import Wire
from tests.unit.cli.conftest import run

__all__ = ["run"]

# Programs inherit what their parent ignores: under nohup or in the background of a shell, SIGHUP and SIGINT would not
# end them, and no test of that could pass.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    """Where the steps of agents tell that they run."""
    found = Wire(tmp_path / "wire")
    yield found
    found.close()
