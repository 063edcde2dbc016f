"""Runs one piece of work at a time, in a thread, under a budget that the deciding thread can change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from forewarn.guest.agent.deciding.handling import UNDO_SECONDS, RunningStep, Work
from forewarn.guest.agent.deciding.state import Mark, StepEffect, StepEnd, StepOutcome
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Receipts, adopt
from forewarn.guest.agent.inbox import Inbox, WorkEnded
from forewarn.guest.agent.steps import KINDS, Task
from forewarn.guest.agent.values import Step
from forewarn.guest.system.parts import System


class Worker:
    """Knows what runs. The inbox hears when it has ended."""

    def __init__(self, system: System, directory: Path, inbox: Inbox) -> None:
        self._system = system
        self._directory = directory
        self._inbox = inbox
        self.boot = system.boot_id()
        self.running: RunningStep | None = None
        self._budget = Budget(system, 0)

    def begin(self, work: Work, run: int, own_name: str) -> None:
        """Run it. The caller has written ``Begun`` to disk before."""
        budget = Budget(self._system, work.seconds, _timeout_seconds(work.step, undo=work.undo))
        task = Task(self._system, work.step, work.event, own_name, budget, self._receipts(run), work.undo)
        self._start(RunningStep(work.step.name, run, work.undo, self._system.clock.monotonic()), budget, _job(task))

    def pretend(self, name: str, run: int, *, undo: bool) -> None:
        """Occupy the worker without doing anything, for a dry run; the inbox hears of the end from elsewhere."""
        self.running, self._budget = (
            RunningStep(name, run, undo, self._system.clock.monotonic()),
            Budget(self._system, 0),
        )

    def take_up(self, effect: StepEffect) -> None:
        """Find out what became of work that an earlier agent had begun. What can just be repeated is ended first."""
        waits = KINDS[effect.step.kind].one_program
        timeout = effect.step.timeout_seconds or UNDO_SECONDS
        budget = Budget(self._system, timeout if waits else 0.0, timeout)
        receipts, same_boot = self._receipts(effect.run), effect.boot == self.boot

        def job() -> StepEnd:
            if waits:
                return adopt(self._system, receipts, budget, same_boot=same_boot)
            if self._system.files.exists(receipts.receipt):
                adopt(self._system, receipts, budget, same_boot=same_boot)
            return StepEnd(StepOutcome.UNKNOWN, "it was under way when the agent went down")

        running = RunningStep(effect.step.name, effect.run, effect.mark is Mark.UNDOING, self._system.clock.monotonic())
        self._start(running, budget, job)

    def set_left(self, seconds: float) -> None:
        self._budget.set_left(seconds)

    def call_off(self) -> None:
        self._budget.call_off()

    def ended(self, run: int) -> None:
        """Remove the traces of a run whose end is in the journal."""
        self.running = None
        self._receipts(run).forget(self._system.files)

    def _receipts(self, run: int) -> Receipts:
        return Receipts(self._directory, f"run-{run}")

    def _start(self, running: RunningStep, budget: Budget, job: Callable[[], StepEnd]) -> None:
        self.running, self._budget = running, budget

        def work() -> None:
            began = self._system.clock.monotonic()
            try:
                ended = job()
            except Exception as problem:
                ended = StepEnd(StepOutcome.FAILED, f"{type(problem).__name__}: {problem}")
            self._inbox.put(WorkEnded(running.run, ended, self._system.clock.monotonic() - began))

        self._system.threads.start(work, f"step-{running.run}")


def _timeout_seconds(step: Step, *, undo: bool) -> float | None:
    """The limit of a run. An undo has no event ahead that bounds it, so it always has a limit of its own."""
    return step.timeout_seconds or (UNDO_SECONDS if undo else None)


def _job(task: Task) -> Callable[[], StepEnd]:
    kind = KINDS[task.step.kind]
    return (lambda: kind.undo(task)) if task.undo else (lambda: kind.do(task))
