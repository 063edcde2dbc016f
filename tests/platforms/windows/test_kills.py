"""The agent on Windows is killed at each line of its journal, and begun again: nothing is done twice, or left."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from requirements.windows import ROOT

from forewarn.testing import EventHandle, Region, open_region
from tests.platforms.windows.wine import PYTHON, Windows, windows_path

AGENT = r"""
[agent]
endpoint = "ENDPOINT"
name = "web-0"
poll = "0.2s"
state_directory = 'C:\kills\NAME'

[[rule]]
verdict = "prepare-then-approve"

[[step]]
name = "drain"
kind = "command"
run = RUN
undo = 'echo back>>C:\kills\NAME.txt'
"""
AT_ONCE = r"'echo drained>>C:\kills\NAME.txt'"
# Says that it has begun, and waits until it may go on
AT_A_GATE = r"""['PYTHON', '-c', '''
import pathlib, time
told = open("C:/kills/NAME.txt", "a"); told.write("begun\n"); told.flush()
while not pathlib.Path("C:/kills/NAME.gate").exists(): time.sleep(0.1)
told.write("drained\n")''']"""
FEWEST_LINES = 8  # of an event with one step, from its notice to its end
AT_A_TIME = 3  # ours: two cores, and most of the time is spent waiting
PATIENCE_SECONDS = 180.0
QUIET_SECONDS = 3.0  # for its last lines, behind what can be seen


class Story:
    """One event, from its notice to what is put back after it; and the agents that live through it."""

    def __init__(self, windows: Windows, region: Region, name: str, run: str = AT_ONCE) -> None:
        self._windows, self._region = windows, region
        self._home = windows.on_drive("kills")
        self._home.mkdir(exist_ok=True)
        text = AGENT.replace("RUN", run).replace("PYTHON", windows_path(PYTHON)).replace("NAME", name)
        self.config, self._work = self._home / f"{name}.toml", self._home / f"{name}.txt"
        self.config.write_text(text.replace("ENDPOINT", region.vm("web-0").url))
        self.event: EventHandle = region.restart("web-0")
        self._over = False

    def lines(self) -> list[str]:
        return self._work.read_text().split() if self._work.exists() else []

    def counted(self) -> int:
        return int(self.config.with_suffix(".count").read_text())

    def is_done(self) -> bool:
        """Once it is approved, time goes on, and the event is over."""
        if self.event.approved_by and not self._over:
            self._region.advance("1h")
            self._over = True
        return "back" in self.lines()

    def live(self, until: Callable[[], bool], when: str = "after", number: int = 0) -> bool:
        """One life of the agent, until it is killed by itself (True) or by us, because ``until`` is so."""
        program = windows_path(ROOT / "tests" / "platforms" / "windows" / "mortal_agent.py")
        path = {"PYTHONPATH": f"{windows_path(ROOT / 'src')};{windows_path(ROOT)}"}
        words = (program, windows_path(self.config), when, str(number))
        process = self._windows.start(*words, env=path, out=subprocess.PIPE)
        deadline = time.monotonic() + PATIENCE_SECONDS
        try:
            while process.poll() is None:
                assert time.monotonic() < deadline, f"not done within {PATIENCE_SECONDS:g} s, killed {when} {number}"
                if until():
                    return False
                time.sleep(0.05)
            assert number, self._why_it_ended(process)
            return True
        finally:
            process.kill()  # what wine runs as a program is one of Linux too: this is kill -9
            process.wait()
            for pipe in (process.stdin, process.stdout):  # a step that outlives it may have them too
                assert pipe is not None
                pipe.close()

    def _why_it_ended(self, process: subprocess.Popen[bytes]) -> str:
        """What an agent that should have lived on has said; a step that outlives it may hold its output open."""
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        said = (process.stdout.read() or b"").decode("utf-8", "replace")
        return f"ended by itself with {process.returncode}: {said}{self.config.with_suffix('.log').read_text()}"


@pytest.mark.timeout(900)
def test_a_kill_at_any_line_of_the_journal_leaves_everything_done_once(windows: Windows) -> None:
    with open_region() as region:
        whole = Story(windows, region, "whole")
        whole.live(_quietly(whole.is_done))
        lines = whole.counted()
        assert whole.lines() == ["drained", "back"]
    assert lines >= FEWEST_LINES, "the story has more lines than that"

    def killed(case: tuple[str, int]) -> str:
        when, number = case
        with open_region() as region:
            story = Story(windows, region, f"{when}-{number}")
            if not story.live(_quietly(story.is_done), when, number):
                # its last lines come by themselves a while after its end, on a busy machine in some lives only
                ended = number > FEWEST_LINES and story.lines() == ["drained", "back"]
                return "" if ended else f"{when} {number}: it was never killed"
            if story.lines() not in ([], ["drained"], ["drained", "back"]):
                return f"{when} {number}: left {story.lines()}"
            story.live(story.is_done)
            approved = story.event.approved_by
        good = story.lines() == ["drained", "back"] and approved == "web-0"
        return "" if good else f"{when} {number}: {story.lines()}, approved by {approved}"

    with ThreadPoolExecutor(AT_A_TIME) as some:
        told = some.map(killed, [(when, number) for when in ("amid", "after") for number in range(1, lines + 1)])
        wrong = [each for each in told if each]
    assert wrong == []
    print(f"killed amid and after each of {lines} lines of its journal")


@pytest.mark.timeout(300)
def test_a_step_that_runs_when_the_agent_is_killed_is_neither_repeated_nor_forgotten(windows: Windows) -> None:
    with open_region() as region:
        story = Story(windows, region, "gate", AT_A_GATE)
        story.live(lambda: story.lines() == ["begun"])
        windows.on_drive("kills/gate.gate").touch()
        story.live(story.is_done)
        assert story.event.approved_by == "web-0"
    assert story.lines() == ["begun", "drained", "back"]


def _quietly(done: Callable[[], bool]) -> Callable[[], bool]:
    """Done, and for a while: an agent has its last lines to write."""
    since = 0.0

    def is_so() -> bool:
        nonlocal since
        since = (since or time.monotonic()) if done() else 0.0
        return bool(since) and time.monotonic() - since > QUIET_SECONDS

    return is_so
