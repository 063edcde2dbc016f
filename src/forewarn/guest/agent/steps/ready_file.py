"""``ready-file``: the file by which a load balancer's probe knows that this VM may be given work."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_path
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.values import Step

_SUFFIX = ".forewarn-away"


class ReadyFile:
    """Moved aside, contents and all, and back. Where there was none, none is put there afterwards.

    A reboot empties /run, and the file that was put aside with it: then it is made anew, empty.
    """

    one_program = False
    keys = StepKeys(
        {
            "path": Key(
                check_path,
                "moved aside, and back; where there was none, none is made",
                '"/run/app/ready"',
                required=True,
            )
        }
    )

    def does(self, settings: Settings) -> str:
        return f"take {settings.get('path')} away"

    def undoes(self, settings: Settings) -> str:
        return f"put {settings.get('path')} back"

    def needs(self, settings: Settings) -> Iterable[Need]:
        return (Need("directory", str(Path(str(settings.get("path"))).parent)),)

    def natural(self, step: Step) -> bool:
        return True

    def has_reverse(self, step: Step) -> bool:
        return True

    def do(self, task: Task) -> StepEnd:
        path, files = Path(task.text("path")), task.system.files
        try:
            if files.exists(path):
                files.make_directory(_note(task).parent)
                files.write_whole(_note(task), b"")  # first: a reboot empties the place where the file is put aside
                files.move(path, _aside(path))
        except OSError as problem:
            return StepEnd(StepOutcome.FAILED, f"{path} cannot be moved: {problem.strerror}")
        return StepEnd(StepOutcome.DONE)

    def undo(self, task: Task) -> StepEnd:
        path, files = Path(task.text("path")), task.system.files
        try:
            if files.exists(_aside(path)):
                files.move(_aside(path), path)
            elif files.exists(_note(task)):
                files.touch(path)
            files.remove(_note(task))
        except OSError as problem:
            return StepEnd(StepOutcome.FAILED, f"{path} cannot be put back: {problem.strerror}")
        return StepEnd(StepOutcome.DONE)


def _aside(path: Path) -> Path:
    return path.with_name(path.name + _SUFFIX)


def _note(task: Task) -> Path:
    """On a disk that survives a reboot: that there was a file."""
    name = "".join(letter if letter.isalnum() or letter in "-." else f"_{ord(letter):x}_" for letter in task.step.name)
    return task.receipts.directory / f"ready-{name}"
