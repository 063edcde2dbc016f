"""``wait``: until a command or a URL says that it is so."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.doing.calling import call
from forewarn.guest.agent.steps.command import SHELL_KEYS, command_needs, command_words, run_words
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_duration, check_url, check_words
from forewarn.guest.agent.steps.kind import Need, Settings, Task, over
from forewarn.guest.agent.values import Step
from forewarn.wire.times import parse_duration

_EVERY = "2s"


class Wait:
    """Status 0, or 200 to 299, is yes; everything else is not yet."""

    one_program = False
    keys = StepKeys(
        {
            "command": Key(check_words, "asked until it ends with status 0", '["/usr/local/bin/is-idle"]'),
            "url": Key(check_url, "asked by GET until it answers 200 to 299", '"http://127.0.0.1:8080/idle"'),
            "every": Key(check_duration, "the pause between two questions; default `2s`", '"2s"'),
            **SHELL_KEYS,
        },
        either=("command", "url"),
    )

    def does(self, settings: Settings) -> str:
        asked = settings["url"] if "url" in settings else command_words(settings.get("command"))
        return f"wait until {asked} says so"

    def undoes(self, settings: Settings) -> str:
        return ""

    def needs(self, settings: Settings) -> Iterator[Need]:
        return command_needs(settings, "command")

    def natural(self, step: Step) -> bool:
        return True

    def has_reverse(self, step: Step) -> bool:
        return False

    def do(self, task: Task) -> StepEnd:
        every = parse_duration(task.text("every", _EVERY)).total_seconds()
        while True:
            said = _ask(task)
            if not said:
                return StepEnd(StepOutcome.DONE)
            if not task.budget.pause(every):
                return over(task, said)

    def undo(self, task: Task) -> StepEnd:
        return StepEnd(StepOutcome.DONE)


def _ask(task: Task) -> str:
    """Why not yet; empty when it is so."""
    if "command" in task.step.settings:
        ended = run_words(task, "command")
        return "" if ended.good else ended.detail or ended.outcome
    answer = call(task.system.sockets, "GET", task.text("url"), task.budget)
    if isinstance(answer, str):
        return answer
    return "" if 200 <= answer.status < 300 else f"it answered {answer.status}"
