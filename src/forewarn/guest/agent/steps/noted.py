"""What steps share that stop something and start it again: only what ran before is started after.

Which of them ran is noted on disk before the first is stopped. A note that is there already was made before anything
was stopped, and stands: so a step that is begun again, by this agent or a later one, still knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.doing.programs import Receipts
from forewarn.guest.agent.steps.command import run_program
from forewarn.guest.agent.steps.kind import Task
from forewarn.guest.agent.values import Step


class PausedThings:
    """A kind says how it looks, stops and starts; the rest is here."""

    one_program = False
    things = "units"  # what they are called, in sentences and in the name of the note

    def running(self, task: Task) -> list[str]:
        """Those that run now, in the order in which they are stopped. ``task`` is for looking only."""
        raise NotImplementedError

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
        return self._each(task, names, self.stop)

    def undo(self, task: Task) -> StepEnd:
        note, files = self._note(task), task.system.files
        try:
            ran = files.read(note).decode().splitlines() if files.exists(note) else []  # none: nothing was stopped
            ended = self._each(task, [*reversed(self.started(task, ran))], self.start)
            if ended.good:
                files.remove(note)  # for good: one that comes back would speak for a later event
        except OSError as problem:
            told = f"the note of which {self.things} ran cannot be used: {problem.strerror}"
            return StepEnd(StepOutcome.FAILED, told)
        return ended

    def _each(self, task: Task, names: list[str], words: Callable[[Task, str], list[str]]) -> StepEnd:
        for name in names:
            ended = run_program(task, words(task, name))
            if not ended.good:
                return ended
        return StepEnd(StepOutcome.DONE)

    def _note_running(self, task: Task) -> list[str]:
        note, files = self._note(task), task.system.files
        if files.exists(note):
            return files.read(note).decode().splitlines()
        probe = replace(task, receipts=Receipts(task.receipts.directory, f"{task.receipts.run}-probe"))
        names = self.running(probe)
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


def said(task: Task) -> list[str]:
    """The lines that the last program of a task has written."""
    try:
        text = task.system.files.read(task.receipts.output).decode("utf-8", "replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]
