"""What steps share that stop something and start it again: only what ran before is started after.

Which of them ran is noted on disk before the first is stopped. A note that is there already was made before anything
was stopped, and stands: so a step that is begun again, by this agent or a later one, still knows.

A look that fails says nothing about what runs: the step fails then, and notes nothing, so that the next try looks anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.doing.programs import Receipts
from forewarn.guest.agent.steps.command import run_program
from forewarn.guest.agent.steps.kind import Task, over
from forewarn.guest.agent.values import Step

_PAUSE_SECONDS = 1.0  # between two looks at what is on its way: short beside a drain, long beside a look


class LookFailed(Exception):  # noqa: N818 - it reads as what it is
    """What runs cannot be seen: how the program ended that looks, or what is wrong with its answer."""

    def __init__(self, end: StepEnd) -> None:
        super().__init__(end.detail)
        self.end = end


class NotInTime(LookFailed):
    """What runs is seen well, and the time is over before it has stopped."""


class PausedThings:
    """A kind says how it looks, stops and starts; the rest is here."""

    one_program = False
    things = "units"  # what they are called, in sentences and in the name of the note

    def running(self, task: Task) -> list[str]:
        """Those that run now, in the order in which they are stopped. ``task`` is for looking only.

        Raises ``LookFailed``: what is not known to be stopped must not be taken for it.
        """
        raise NotImplementedError

    def already(self, task: Task, name: str, *, runs: bool) -> bool:
        """Whether it runs, or is stopped, already: asked for kinds whose programs take that for a fault.

        What is on its way is waited for, by ``settled``. May raise ``LookFailed``.
        """
        return False

    def stop(self, task: Task, name: str) -> list[str]:
        """The program that stops one."""
        raise NotImplementedError

    def start(self, task: Task, name: str) -> list[str]:
        """The program that starts one."""
        raise NotImplementedError

    def stopped(self, task: Task, running: list[str]) -> list[str]:
        """Which of them are stopped."""
        return running

    def started(self, task: Task, ran: list[str]) -> list[str]:
        """Which of those that ran are started again, last first."""
        return ran

    def natural(self, step: Step) -> bool:
        return True

    def has_reverse(self, step: Step) -> bool:
        return True

    def do(self, task: Task) -> StepEnd:
        try:
            names = self.stopped(task, self._note_running(task))
        except OSError as problem:
            told = f"which {self.things} run cannot be noted, and none was stopped: {problem.strerror}"
            return StepEnd(StepOutcome.FAILED, told)
        except LookFailed as problem:
            return _unseen(problem, f"which {self.things} run cannot be seen, and none was stopped")
        return self._each(task, names, self.stop, runs=False)

    def undo(self, task: Task) -> StepEnd:
        note, files = self._note(task), task.system.files
        try:
            ran = files.read(note).decode().splitlines() if files.exists(note) else []  # none: nothing was stopped
            ended = self._each(task, [*reversed(self.started(task, ran))], self.start, runs=True)
            if ended.good:
                files.remove(note)  # for good: one that comes back would speak for a later event
        except OSError as problem:
            told = f"the note of which {self.things} ran cannot be used: {problem.strerror}"
            return StepEnd(StepOutcome.FAILED, told)
        return ended

    def _each(self, task: Task, names: list[str], words: Callable[[Task, str], list[str]], *, runs: bool) -> StepEnd:
        for name in names:
            try:
                if self.already(task, name, runs=runs):
                    continue
            except NotInTime as problem:
                return problem.end
            except LookFailed as problem:
                return _unseen(problem, f"whether {name} runs cannot be seen")
            ended = run_program(task, words(task, name))
            if not ended.good:
                return ended
        return StepEnd(StepOutcome.DONE)

    def _note_running(self, task: Task) -> list[str]:
        note, files = self._note(task), task.system.files
        if files.exists(note):
            return files.read(note).decode().splitlines()
        probe = replace(task, receipts=Receipts(task.receipts.directory, f"{task.receipts.run}-probe"))
        try:
            names = self.running(probe)
        finally:
            probe.receipts.forget(files)
        files.make_directory(note.parent)
        files.write_whole(note, "\n".join(names).encode())  # it must outlive the impact
        return names

    def _note(self, task: Task) -> Path:
        """Kept by the step's name, since a step may be begun again when it has half succeeded."""
        name = task.step.name
        safe = "".join(letter if letter.isalnum() or letter in "-." else f"_{ord(letter):x}_" for letter in name)
        return task.receipts.directory / f"{self.things}-{safe}"


def listed(value: object) -> str:
    """Names, for a sentence."""
    return ", ".join(str(each) for each in value) if isinstance(value, list) else str(value)


def look(task: Task, words: list[str]) -> list[str]:
    """The lines that a program writes which only looks. ``LookFailed`` unless it succeeds and can be read."""
    if task.budget.left() <= 0:
        raise LookFailed(over(task, "it is not looked at any more"))
    ended = run_program(task, words)
    if not ended.good:
        raise LookFailed(ended)
    return said(task)


def settled(task: Task, state: Callable[[], str], moving: str) -> str:
    """The state once it is no longer the one that passes by itself; ``NotInTime`` where the step's time ends before."""
    while (seen := state()) == moving:
        if not task.budget.pause(_PAUSE_SECONDS):
            raise NotInTime(over(task, f"still {moving}"))
    return seen


def said(task: Task) -> list[str]:
    """The lines that the last program of a task has written; ``LookFailed`` where they cannot be read."""
    try:
        text = task.system.files.read(task.receipts.output).decode("utf-8", "replace")
    except OSError as problem:
        raise no_answer(f"the answer cannot be read: {problem.strerror}") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def no_answer(what: str) -> LookFailed:
    """Of a look that told nothing that can be used."""
    return LookFailed(StepEnd(StepOutcome.FAILED, what))


def _unseen(problem: LookFailed, told: str) -> StepEnd:
    """How a step ends that could not look. That its time was over says a sentence of its own."""
    end = problem.end
    said = f"{end.detail}; {told}" if end.outcome is not StepOutcome.FAILED else f"{told}: {end.detail}"
    return StepEnd(end.outcome, said)
