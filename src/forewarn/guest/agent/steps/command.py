"""``command``: a program, which gets the whole event in its environment and as JSON on standard input."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.doing.programs import run
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_flag, check_path, check_table, check_words
from forewarn.guest.agent.steps.kind import Need, Settings, Task, event_environment, event_json
from forewarn.guest.agent.values import Step
from forewarn.guest.system.parts import Program

# Of every kind that runs a command of the file's.
SHELL_KEYS = {
    "environment": Key(check_table, "a table of variables for the command, beside the event's"),
    "shell": Key(
        check_flag,
        "default `false`: a list is run as it stands, word by word; `true` joins it and gives it to `/bin/sh`. A text "
        "is always for the shell",
    ),
    "directory": Key(check_path, "where it runs; default `/`", '"/srv/app"'),
}


class Command:
    """Status 0 is success, everything else is not."""

    one_program = True
    keys = StepKeys(
        {
            "run": Key(
                check_words,
                "the command, as a list of words or as a line for the shell; status 0 is success",
                '["/usr/local/bin/drain"]',
                required=True,
            ),
            "undo": Key(check_words, "its reverse; left out, there is nothing to undo", '["/usr/local/bin/undrain"]'),
            **SHELL_KEYS,
        }
    )

    def does(self, settings: Settings) -> str:
        return f"run {command_words(settings.get('run'))}"

    def undoes(self, settings: Settings) -> str:
        return f"run {command_words(settings['undo'])}" if "undo" in settings else ""

    def needs(self, settings: Settings) -> Iterator[Need]:
        return command_needs(settings, "run", "undo")

    def natural(self, step: Step) -> bool:
        return False

    def has_reverse(self, step: Step) -> bool:
        return "undo" in step.settings

    def do(self, task: Task) -> StepEnd:
        return run_words(task, "run")

    def undo(self, task: Task) -> StepEnd:
        return run_words(task, "undo") if self.has_reverse(task.step) else StepEnd(StepOutcome.DONE)


def command_words(value: object) -> str:
    """A command for a person to read, as a shell would take it."""
    if not isinstance(value, list):
        return str(value or "")
    import shlex  # for a person who asks; a running agent needs none of it

    return shlex.join(str(each) for each in value)


def command_needs(settings: Settings, *keys: str) -> Iterator[Need]:
    """What the commands under these keys need, and the directory that they run in."""
    directory = str(settings.get("directory") or "/")
    if "directory" in settings:
        yield Need("directory", directory)
    for words in (settings[key] for key in keys if key in settings):
        if settings.get("shell") is True or not isinstance(words, list):
            yield Need("shell line", " ".join(map(str, words)) if isinstance(words, list) else str(words), directory)
        else:
            yield Need("program", str(words[0]), directory)


def run_words(task: Task, key: str) -> StepEnd:
    """Run the command that stands under a key of the step."""
    words = task.words(key)
    if task.step.settings.get("shell") is True or not isinstance(task.step.settings.get(key), list):
        words = [*task.system.programs.shell(" ".join(words))]
    return run_program(task, words)


def run_program(task: Task, words: list[str]) -> StepEnd:
    environment = {**event_environment(task), **task.table("environment")}
    directory = task.text("directory") or None
    program = Program(words, event_json(task.event) + b"\n", environment, directory)
    return run(task.system, program, task.budget, task.receipts)
