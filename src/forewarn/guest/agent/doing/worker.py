"""The hands: one piece of work at a time, in a thread, under a budget that the deciding thread holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from forewarn.guest.agent.config.values import Step
from forewarn.guest.agent.deciding.handling import UNDO_SECONDS, Running, Work
from forewarn.guest.agent.deciding.state import Effect, Mark, Outcome
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Ended, Receipts, adopt
from forewarn.guest.agent.inbox import Inbox, WorkEnded
from forewarn.guest.agent.steps import KINDS, Task


class Worker:
    """Knows what runs. The inbox hears when it has ended."""

    def __init__(self, directory: Path, inbox: Inbox, boot: str) -> None:
        self._directory = directory
        self._inbox = inbox
        self.boot = boot
        self.running: Running | None = None
        self._budget = Budget(0)

    def begin(self, work: Work, run: int, own_name: str) -> None:
        """The journal has it already."""
        budget = Budget(work.seconds, _timeout_seconds(work.step, undo=work.undo))
        task = Task(work.step, work.event, own_name, budget, self._receipts(run), work.undo)
        self._start(Running(work.step.name, run, work.undo, time.monotonic()), budget, _job(task))

    def pretend(self, name: str, run: int, *, undo: bool) -> None:
        """Work that has nothing to do; the inbox hears of its end from elsewhere."""
        self.running, self._budget = Running(name, run, undo, time.monotonic()), Budget(0)

    def take_up(self, effect: Effect) -> None:
        """Find out what became of work that an earlier agent had begun. What can just be repeated is ended first."""
        waits = effect.step.kind == "command"
        timeout = effect.step.timeout_seconds or UNDO_SECONDS
        budget = Budget(timeout if waits else 0.0, timeout)
        receipts, same_boot = self._receipts(effect.run), effect.boot == self.boot

        def job() -> Ended:
            if waits:
                return adopt(receipts, budget, same_boot=same_boot)
            if receipts.receipt.exists():
                adopt(receipts, budget, same_boot=same_boot)
            return Ended(Outcome.UNKNOWN, "it was under way when the agent went down")

        running = Running(effect.step.name, effect.run, effect.mark is Mark.UNDOING, time.monotonic())
        self._start(running, budget, job)

    def set_left(self, seconds: float) -> None:
        self._budget.set_left(seconds)

    def call_off(self) -> None:
        self._budget.call_off()

    def ended(self, run: int) -> None:
        """The journal knows how: its traces are not needed any more."""
        self.running = None
        self._receipts(run).forget()

    def _receipts(self, run: int) -> Receipts:
        return Receipts(self._directory, f"run-{run}")

    def _start(self, running: Running, budget: Budget, job: Callable[[], Ended]) -> None:
        self.running, self._budget = running, budget

        def work() -> None:
            began = time.monotonic()
            try:
                ended = job()
            except Exception as problem:
                ended = Ended(Outcome.FAILED, f"{type(problem).__name__}: {problem}")
            self._inbox.put(WorkEnded(running.run, ended, time.monotonic() - began))

        threading.Thread(target=work, name=f"step-{running.run}", daemon=True).start()


def _timeout_seconds(step: Step, *, undo: bool) -> float | None:
    """A reverse has no event before it, and so always a limit of its own."""
    return step.timeout_seconds or (UNDO_SECONDS if undo else None)


def _job(task: Task) -> Callable[[], Ended]:
    kind = KINDS[task.step.kind]
    return (lambda: kind.undo(task)) if task.undo else (lambda: kind.do(task))
