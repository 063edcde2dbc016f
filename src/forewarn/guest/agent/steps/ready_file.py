"""``ready-file``: the file by which a load balancer's probe knows that this VM may be given work."""

from __future__ import annotations

from pathlib import Path

from forewarn.durable import make_directory, remove, write_whole
from forewarn.guest.agent.config.values import Step
from forewarn.guest.agent.deciding.state import Outcome
from forewarn.guest.agent.doing.programs import Ended
from forewarn.guest.agent.steps.kind import Task

_SUFFIX = ".forewarn-away"


class ReadyFile:
    """Moved aside, contents and all, and back. Where there was none, none is put there afterwards.

    A reboot empties /run, and the file that was put aside with it: then it is made anew, empty.
    """

    def natural(self, step: Step) -> bool:
        return True

    def has_reverse(self, step: Step) -> bool:
        return True

    def do(self, task: Task) -> Ended:
        path = Path(task.text("path"))
        try:
            if path.exists():
                make_directory(_note(task).parent)
                write_whole(_note(task), b"", 0o600)  # first: a reboot empties the place where the file is put aside
                path.replace(_aside(path))
        except OSError as problem:
            return Ended(Outcome.FAILED, f"{path} cannot be moved: {problem.strerror}")
        return Ended(Outcome.DONE)

    def undo(self, task: Task) -> Ended:
        path = Path(task.text("path"))
        try:
            if _aside(path).exists():
                _aside(path).replace(path)
            elif _note(task).exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            remove(_note(task))
        except OSError as problem:
            return Ended(Outcome.FAILED, f"{path} cannot be put back: {problem.strerror}")
        return Ended(Outcome.DONE)


def _aside(path: Path) -> Path:
    return path.with_name(path.name + _SUFFIX)


def _note(task: Task) -> Path:
    """On a disk that survives a reboot: that there was a file."""
    name = "".join(letter if letter.isalnum() or letter in "-." else f"_{ord(letter):x}_" for letter in task.step.name)
    return task.receipts.directory / f"ready-{name}"
