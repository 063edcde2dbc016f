"""Whether and how long ``forewarn demo`` stays up, at a real terminal."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest

from forewarn.cli.demo.staying import STAY
from tests.e2e.program import clean_environment
from tests.terminals import at_terminal

# It says "up" from within the wait: a key that came before would not be for the demo.
STAYING = """
import threading
from forewarn.cli.demo.staying import stay

class Waiting(threading.Event):
    def wait(self, timeout=None):
        if timeout:
            print("up", flush=True)
        return super().wait(timeout)

threading.Event = Waiting
stay({seconds})
print("over", flush=True)
"""
LOOKING = "import sys; from forewarn.cli.demo.staying import somebody_looks; sys.exit(40 + somebody_looks())"
LONG = 3600


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in clean_environment().items() if name != "CI"} | more


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.parametrize("keys", ["\n", "anything\n", "\x03", "\x04"], ids=["Enter", "a line", "Ctrl-C", "Ctrl-D"])
def test_a_key_ends_the_demo(keys: str) -> None:
    with at_terminal(python(STAYING.format(seconds=LONG)), environment()) as terminal:
        terminal.sees("up\n")
        assert terminal.process.poll() is None
        terminal.types(keys)
        assert terminal.ends() == 0
        terminal.sees("over\n")


def test_the_demo_ends_by_itself_when_its_time_is_over() -> None:
    with at_terminal(python(STAYING.format(seconds=0.01)), environment()) as terminal:
        assert terminal.ends() == 0
        terminal.sees("over\n")
    assert timedelta(minutes=10) == STAY


@pytest.mark.parametrize(("ci", "expected"), [("", True), ("true", False)])
def test_the_demo_stays_up_at_a_terminal_but_not_for_a_build_service(ci: str, expected: bool) -> None:
    more = {"CI": ci} if ci else {}
    with at_terminal(python(LOOKING), environment(**more)) as terminal:
        assert terminal.ends() == 40 + expected


@pytest.mark.parametrize("end", ["stdin", "stdout"])
def test_the_demo_does_not_stay_up_where_input_or_output_is_no_terminal(end: str) -> None:
    with at_terminal(python(LOOKING), environment(), **{end: subprocess.DEVNULL}) as terminal:
        assert terminal.ends() == 40
