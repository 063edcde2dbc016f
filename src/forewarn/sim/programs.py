"""The programs of a VM: what steps run there, as its system starts and finds them.

A program outlives the agent that started it, but not its machine. Its receipt is a file, as it is in production.
"""

from __future__ import annotations

from asyncio import TimerHandle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from forewarn.guest.system.parts import Program, TimeLeft
from forewarn.sim.fabric.disk import Disks
from forewarn.sim.fabric.strands import Strands

_HANGS, _FAILS = 0.02, 0.08  # ours: the share of runs, as bad as a fleet in trouble
_LONGEST = {"drain": 110.0, "flush": 9.0, "leave-cluster": 55.0}  # seconds, when nothing goes wrong
_GRACE_SECONDS = (0.05, 2.0)  # at most what guest/system/posix/programs.py grants before SIGKILL


@dataclass(slots=True, eq=False)
class _Run:
    step: str
    undo: bool
    good: bool
    ends_at: float
    timer: TimerHandle | None = None
    ended: bool = False


class Programs:
    """Those of one VM. ``changed`` is what they have really done to it, whatever its agent believes."""

    def __init__(self, hub: Strands, disks: Disks, random: Random) -> None:
        self._hub, self._disks, self._random = hub, disks, random
        self._runs: dict[str, _Run] = {}  # by receipt
        self.changed: dict[str, str] = {}  # step -> half | done
        self.trouble_at = -1e9  # when something last went wrong here, or was undone
        self._began: dict[str, float] = {}  # step -> when it, or its reverse, was last begun
        self.gentle = False  # whether all goes well from here on

    def power_off(self) -> None:
        """All that runs dies, half done."""
        if any(not run.ended for run in self._runs.values()):
            self.trouble_at = max(self.trouble_at, self._hub.loop.time())
        for run in self._runs.values():
            self._stop(run)
        self._runs.clear()

    def left_half_before(self, instant: float) -> bool:
        """Whether a step that was begun before is neither done nor undone: it is not begun anew while it is needed."""
        return any(how == "half" and self._began[step] < instant for step, how in self.changed.items())

    def start(self, program: Program, receipt: Path, output: Path) -> RunningProgram:
        told = program.environment or {}
        step, undo, key = told["FOREWARN_STEP"], told["FOREWARN_ACTION"] == "undo", str(receipt)
        seconds, good = self._fate(step)
        run = _Run(step, undo, good, self._hub.loop.time() + seconds)
        if undo or not good or seconds > _LONGEST[step]:
            self.trouble_at = self._hub.loop.time() + seconds
        self._disks.put(key, b"began 1\n")
        self._runs[key] = run
        self.changed[step] = "half"
        self._began[step] = self._hub.loop.time()
        run.timer = self._hub.loop.call_later(seconds, self._finish, key, run)
        return RunningProgram(self, run)

    def find(self, receipt: Path) -> RunningProgram:
        return RunningProgram(self, self._runs.get(str(receipt)))

    def shell(self, line: str) -> Sequence[str]:
        return ("sh", "-c", line)

    def status_words(self, status: int) -> str:
        return f"ended with status {status}"

    def _fate(self, step: str) -> tuple[float, bool]:
        longest, luck = _LONGEST[step], self._random.random()
        seconds = self._random.uniform(0.01, 0.95) * longest
        if self.gentle:
            return seconds, True
        if luck < _HANGS:
            return longest * 5, True
        return seconds, luck >= _HANGS + _FAILS

    def wait(self, run: _Run, time_left: TimeLeft) -> bool:
        while not run.ended:
            if time_left.left() <= 0:
                return False
            time_left.pause(max(run.ends_at - self._hub.loop.time(), 1e-6))
        return True

    def kill(self, run: _Run) -> None:
        """Stop a run as a kill would; it takes some time to die."""
        self._stop(run)
        self.trouble_at = max(self.trouble_at, self._hub.loop.time())
        self._hub.sleep(self._random.uniform(*_GRACE_SECONDS))

    def _finish(self, key: str, run: _Run) -> None:
        run.ended, run.timer = True, None
        if run.good and run.undo:
            self.changed.pop(run.step, None)
        elif run.good:
            self.changed[run.step] = "done"
        self._disks.write(key, b"began 1\nended 0\n" if run.good else b"began 1\nended 1\n")

    def _stop(self, run: _Run) -> None:
        run.ended = True
        if run.timer is not None:
            run.timer.cancel()
            run.timer = None


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """A run as its agent, or a later one, sees it. None: it was over before this boot."""

    programs: Programs
    run: _Run | None

    def wait(self, time_left: TimeLeft) -> bool:
        return self.run is None or self.programs.wait(self.run, time_left)

    def end(self, *, everything: bool) -> None:
        if everything and self.run is not None:
            self.programs.kill(self.run)
