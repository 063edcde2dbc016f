"""Agents as processes against a real region, and the wire on which their steps tell that they run."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from forewarn.core.facts import EventApproved, EventStarted, Fact
from forewarn.core.region import Region
from forewarn.plane.ports import Record
from tests.e2e.metadata_region import MetadataRegion
from tests.e2e.program import ROOT, clean_environment

PATIENCE_SECONDS = 30.0
PREPARE = """
[[rule]]
name = "always"
verdict = "prepare-then-approve"
"""

# Ends itself, as kill -9 would, just before or just after the n-th record reaches the disk.
_PROGRAM = """
import os, signal, sys
from pathlib import Path
from forewarn.guest.agent.keeping import journal
from forewarn.guest.agent.telling.logs import configure
from forewarn.guest.agent.run import run_agent
from forewarn.guest.agent.config.reading import read_config

path, when, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
written, write = 0, journal.AgentJournal.write

def write_and_die(self, record):
    global written
    written += 1
    if when == "before" and written == number:
        os.kill(os.getpid(), signal.SIGKILL)
    state = write(self, record)
    if when == "after" and written == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return state

journal.AgentJournal.write = write_and_die
config = read_config(Path(path))
configure(config.log_format)
sys.exit(run_agent(config, once="--once" in sys.argv, dry_run="--dry-run" in sys.argv))
"""


class Wire:
    """A named pipe that steps write lines to, so that a test can wait for what they do."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.lines: list[str] = []
        self._file = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._held = b""

    def close(self) -> None:
        os.close(self._file)

    def until(self, *wanted: str) -> None:
        """Wait until all of these lines have come, in whatever order."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while missing := [line for line in wanted if line not in self.lines]:
            left = ends - time.monotonic()
            assert left > 0, f"{missing} did not come; there was {self.lines}"
            self.read(left)

    def read(self, seconds: float = 0.0) -> list[str]:
        if select.select([self._file], [], [], seconds)[0]:
            *lines, self._held = (self._held + os.read(self._file, 65536)).split(b"\n")
            self.lines += [line.decode() for line in lines]
        return self.lines


@dataclass
class AgentProgram:
    """One agent, its file and its state. It can be killed and started again."""

    directory: Path
    config: Path
    process: subprocess.Popen[bytes] | None = None
    wrapper: tuple[str, ...] = ()  # a command that runs ours, such as one that enters a namespace

    def start(self, when: str = "never", number: int = 0, *options: str) -> None:
        environment = clean_environment(PYTHONPATH=str(ROOT / "src"))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.wrapper, sys.executable, "-c", _PROGRAM, self.config, when, str(number), *options],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def log(self) -> Path:
        return self.directory / "log"

    @property
    def journal(self) -> Path:
        return self.directory / "state" / "journal"

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(PATIENCE_SECONDS)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.wait()


def toml(endpoint: str, directory: Path, steps: str, extra: str = "", *, margin: str = "5s", name: str = "") -> str:
    return f"""
[agent]
endpoint = "{endpoint}"
name = "{name}"
poll = "1s"
margin = "{margin}"
state_directory = "{directory / "state"}"
{extra}
{steps}
"""


def step(wire: Wire, vm: str, name: str, *, more: str = "", before: str = "", status: int = 0) -> str:
    """A step that tells the wire when it was done and when undone."""
    do = f"{before}echo {vm}:do:{name} >>{wire.path}; exit {status}"
    return f"""
[[step]]
name = "{name}"
kind = "command"
shell = true
run = ["{do}"]
undo = ["echo {vm}:undo:{name} >>{wire.path}"]
{more}
"""


@dataclass
class Watch:
    """The facts of a region as they happen, to be waited for."""

    facts: list[Fact] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def hear(self, region: Region, records: Sequence[Record]) -> None:
        with self._changed:
            self.facts += [record.fact for record in records]
            self._changed.notify_all()

    def until(self, found: Callable[[list[Fact]], bool], what: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: found(self.facts), PATIENCE_SECONDS), f"no {what} in {self.facts}"

    def until_started(self, count: int = 1) -> None:
        self.until(lambda facts: sum(isinstance(fact, EventStarted) for fact in facts) >= count, "start")

    @property
    def approvals(self) -> list[str]:
        return [fact.by for fact in self.facts if isinstance(fact, EventApproved)]


def watch(region: MetadataRegion) -> Watch:
    found = Watch()
    region.do(lambda: region.plane.subscribe(found.hear))
    return found


def run_out(region: MetadataRegion) -> None:
    """Let the region's time pass until nothing is scheduled any more."""
    while region.do(lambda: bool(region.plane.region.events)):
        region.advance(timedelta(minutes=1))


@contextmanager
def agents(*programs: AgentProgram) -> Iterator[None]:
    try:
        yield
    finally:
        for program in programs:
            if program.process is not None:
                program.process.kill()
                program.process.wait()


def agent_of(region: MetadataRegion, directory: Path, vm: str, text: str, **more: str) -> AgentProgram:
    directory.mkdir(exist_ok=True)
    config = directory / "agent.toml"
    config.write_text(toml(f"http://127.0.0.1:{region.face.port}/vm/{vm}", directory, text, **more))
    return AgentProgram(directory, config)
