"""``command``: a program, which gets the whole event in its environment and as JSON on standard input."""

from __future__ import annotations

from forewarn.guest.agent.config.values import Step
from forewarn.guest.agent.deciding.state import Ended, Outcome
from forewarn.guest.agent.doing.programs import run
from forewarn.guest.agent.steps.kind import Task, event_environment, event_json
from forewarn.guest.system.parts import Program


class Command:
    """Status 0 is success, everything else is not."""

    def natural(self, step: Step) -> bool:
        return False

    def has_reverse(self, step: Step) -> bool:
        return "undo" in step.settings

    def do(self, task: Task) -> Ended:
        return run_words(task, "run")

    def undo(self, task: Task) -> Ended:
        return run_words(task, "undo") if self.has_reverse(task.step) else Ended(Outcome.DONE)


def run_words(task: Task, key: str) -> Ended:
    """Run the command that stands under a key of the step."""
    words = task.words(key)
    if task.step.settings.get("shell") is True or not isinstance(task.step.settings.get(key), list):
        words = [*task.system.programs.shell(" ".join(words))]
    return run_program(task, words)


def run_program(task: Task, words: list[str]) -> Ended:
    environment = {**event_environment(task), **task.table("environment")}
    directory = task.text("directory") or None
    program = Program(words, event_json(task.event) + b"\n", environment, directory)
    return run(task.system, program, task.budget, task.receipts)
