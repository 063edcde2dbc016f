"""The programs of a VM: what steps run there. This stands for ``guest.agent.running``, and for nothing else of it.

A program outlives the agent that started it, but not its machine. Its receipt is a file, as it is in production.
"""

from __future__ import annotations

from asyncio import TimerHandle
from dataclasses import dataclass
from random import Random

from forewarn.guest.agent.deciding.state import Outcome
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Ended, Program, Receipts
from forewarn.sim.fabric.disk import Disks
from forewarn.sim.fabric.strands import Strands

_HANGS, _FAILS = 0.02, 0.08  # the share of runs
_LONGEST = {"drain": 110.0, "flush": 9.0, "leave-cluster": 55.0}  # seconds, when nothing goes wrong
_GRACE_SECONDS = (0.05, 2.0)


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

    def run(self, program: Program, budget: Budget, receipts: Receipts) -> Ended:
        """As ``running.run``."""
        told = program.environment or {}
        step, undo, key = told["FOREWARN_STEP"], told["FOREWARN_ACTION"] == "undo", str(receipts.receipt)
        seconds, good = self._fate(step)
        run = _Run(step, undo, good, self._hub.loop.time() + seconds)
        if undo or not good or seconds > _LONGEST[step]:
            self.trouble_at = self._hub.loop.time() + seconds
        self._disks.put(key, b"began 1\n")
        self._runs[key] = run
        self.changed[step] = "half"
        self._began[step] = self._hub.loop.time()
        run.timer = self._hub.loop.call_later(seconds, self._finish, key, run)
        return self._await(run, key, budget)

    def adopt(self, receipts: Receipts, budget: Budget, *, same_boot: bool) -> Ended:
        """As ``running.adopt``."""
        key = str(receipts.receipt)
        if not self._disks.exists(key):
            return Ended(Outcome.NEVER_BEGAN if same_boot else Outcome.UNKNOWN, "it was announced and never begun")
        run = self._runs.get(key)
        if run is not None:
            return self._await(run, key, budget)
        return self._verdict(key) or Ended(Outcome.UNKNOWN, "it was under way when the machine went down")

    def _fate(self, step: str) -> tuple[float, bool]:
        longest, luck = _LONGEST[step], self._random.random()
        seconds = self._random.uniform(0.01, 0.95) * longest
        if self.gentle:
            return seconds, True
        if luck < _HANGS:
            return longest * 5, True
        return seconds, luck >= _HANGS + _FAILS

    def _await(self, run: _Run, key: str, budget: Budget) -> Ended:
        while not run.ended:
            left = budget.left()
            if left <= 0:
                self._stop(run)
                self.trouble_at = max(self.trouble_at, self._hub.loop.time())
                self._hub.sleep(self._random.uniform(*_GRACE_SECONDS))
                if budget.called_off:
                    return Ended(Outcome.INTERRUPTED, "was called off")
                return Ended(Outcome.TIMED_OUT, "took longer than there was time")
            budget.pause(max(run.ends_at - self._hub.loop.time(), 1e-6))
        return self._verdict(key) or Ended(Outcome.UNKNOWN, "ended without a status")

    def _verdict(self, key: str) -> Ended | None:
        said = self._disks.read(key)
        if b"ended 0" in said:
            return Ended(Outcome.DONE)
        return Ended(Outcome.FAILED, "ended with status 1") if b"ended 1" in said else None

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
