"""Run under wine as ``python mortal_agent.py AGENT.TOML amid|after N``: an agent that is killed at its Nth record.

Each line of the agent's journal is one sync; it dies in the middle of the line, with half of it in the file, or just
after it. With N = 0 it lives. How many lines there were stands in a file beside the agent.toml.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import cached_property
from pathlib import Path

from forewarn.guest.agent.config.reading import read_config
from forewarn.guest.agent.loop import Agent
from forewarn.guest.system.parts import Files

assert sys.platform == "win32"
from forewarn.guest.system.own_files import StandardOwnFile  # noqa: E402 - the same
from forewarn.guest.system.windows import WindowsSystem  # noqa: E402 - there is none elsewhere
from forewarn.guest.system.windows.files import WindowsFiles  # noqa: E402 - the same


class Fate:
    def __init__(self, when: str, number: int, counted: Path) -> None:
        self._when, self._number, self._counted, self._lines = when, number, counted, 0

    def next_line(self) -> None:
        self._lines += 1
        self._counted.write_text(str(self._lines))

    def strike(self, when: str) -> None:
        if self._lines == self._number and when == self._when:
            os.kill(os.getpid(), signal.SIGTERM)  # TerminateProcess: nothing is closed, flushed or told


class MortalFile(StandardOwnFile):
    """Written in two halves, when it is synced."""

    def __init__(self, descriptor: int, fate: Fate) -> None:
        super().__init__(descriptor)
        self._fate, self._unwritten = fate, b""

    def write(self, data: bytes) -> None:
        self._unwritten += data

    def sync(self) -> None:
        self._fate.next_line()
        half = len(self._unwritten) // 2
        super().write(self._unwritten[:half])
        self._fate.strike("amid")
        super().write(self._unwritten[half:])
        self._unwritten = b""
        super().sync()
        self._fate.strike("after")

    def size(self) -> int:
        return super().size() + len(self._unwritten)


class MortalFiles(WindowsFiles):
    def __init__(self, fate: Fate) -> None:
        self._fate = fate

    def append(self, path: Path, *, anew: bool = False) -> StandardOwnFile:
        return MortalFile(super().append(path, anew=anew)._descriptor, self._fate)


class MortalSystem(WindowsSystem):
    def __init__(self, fate: Fate) -> None:
        super().__init__()
        self._fate = fate

    @cached_property
    def files(self) -> Files:
        return MortalFiles(self._fate)


if __name__ == "__main__":
    config = Path(sys.argv[1])
    sys.stdout = sys.stderr = config.with_suffix(".log").open("a", buffering=1)
    system = MortalSystem(Fate(sys.argv[2], int(sys.argv[3]), config.with_suffix(".count")))
    sys.exit(Agent(read_config(config), once=False, dry_run=False, patience_seconds=30.0, system=system).run())
