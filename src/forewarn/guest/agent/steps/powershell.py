"""``powershell``: a line or a script of PowerShell, which gets the event as a command does."""

from __future__ import annotations

from collections.abc import Iterator

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.steps.command import run_program
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_path, check_table, check_text
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.steps.noted import look, no_answer
from forewarn.guest.agent.values import Step

POWERSHELL = "powershell.exe"
_MANNERS = ("-NoProfile", "-NonInteractive")
# Any error is a failure, and no progress bar is written into the log
_STRICT = "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue'; "

_STATE = "state="  # before what is asked for: a cmdlet may write warnings beside it


class PowerShell:
    """Status 0 is success. An error that a line does not catch ends it with status 1."""

    one_program = True
    keys = StepKeys(
        {
            "run": Key(check_text, "a line of PowerShell (one of `run` and `script` is needed)", '"Stop-Website shop"'),
            "script": Key(check_path, "a file of it", "'C:\\app\\drain.ps1'"),
            "undo": Key(check_text, "the line that is its reverse; left out, there is nothing to undo"),
            "undo_script": Key(check_path, "the file that is its reverse", "'C:\\app\\undrain.ps1'"),
            "environment": Key(check_table, "a table of variables, beside the event's"),
            "directory": Key(check_path, "where it runs; default: the root of the system's drive", "'C:\\app'"),
        },
        either=("run", "script"),
    )

    def does(self, settings: Settings) -> str:
        return _told(settings, "run", "script")

    def undoes(self, settings: Settings) -> str:
        return _told(settings, "undo", "undo_script")

    def needs(self, settings: Settings) -> Iterator[Need]:
        yield Need("program", POWERSHELL)

    def natural(self, step: Step) -> bool:
        return False

    def has_reverse(self, step: Step) -> bool:
        return "undo" in step.settings or "undo_script" in step.settings

    def do(self, task: Task) -> StepEnd:
        return run_program(task, _words(task, "run", "script"))

    def undo(self, task: Task) -> StepEnd:
        if not self.has_reverse(task.step):
            return StepEnd(StepOutcome.DONE)
        return run_program(task, _words(task, "undo", "undo_script"))


def _told(settings: Settings, line: str, script: str) -> str:
    if line in settings:
        return f"run in PowerShell: {settings[line]}"
    return f"run {settings[script]} in PowerShell" if script in settings else ""


def _words(task: Task, line: str, script: str) -> list[str]:
    if line in task.step.settings:
        return line_words(task.text(line))
    return [POWERSHELL, *_MANNERS, "-File", task.text(script)]


def line_words(line: str) -> list[str]:
    """The program that runs a line of PowerShell."""
    return [POWERSHELL, *_MANNERS, "-Command", _STRICT + line]


def quoted(text: str) -> str:
    """As one word of PowerShell, in which nothing has a meaning of its own."""
    return "'" + text.replace("'", "''") + "'"


def states(task: Task, command: str, what: str = "$_.State") -> list[str]:
    """The states of what a command gets, in lower case: at least one, or ``LookFailed``."""
    said = look(task, line_words(f"{command} | ForEach-Object {{ '{_STATE}' + {what} }}"))
    told = [line.removeprefix(_STATE).casefold() for line in said if line.startswith(_STATE)]
    if not told or not all(told):
        raise no_answer(f"{command.partition(' ')[0]} tells no state{f': {said[-1]}' if said else ''}")
    return told
