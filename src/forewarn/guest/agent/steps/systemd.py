"""``systemd``: units are stopped, in the order given, and started again in reverse; only those that were running."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.doing.programs import Receipts
from forewarn.guest.agent.steps.command import run_program
from forewarn.guest.agent.steps.keys import Key, StepKeys, check_texts
from forewarn.guest.agent.steps.kind import Need, Settings, Task
from forewarn.guest.agent.values import Step

_SYSTEMCTL = "systemctl"


class Systemd:
    """Units that were not running before are not started after: an administrator had stopped them."""

    one_program = False
    keys = StepKeys(
        {
            "units": Key(
                check_texts,
                "stopped in this order, and those that ran are started again in reverse",
                '["worker.service"]',
                required=True,
            )
        }
    )

    def does(self, settings: Settings) -> str:
        return f"stop {_listed(settings)}"

    def undoes(self, settings: Settings) -> str:
        return f"start {_listed(settings)}"

    def needs(self, settings: Settings) -> Iterator[Need]:
        yield Need("program", _SYSTEMCTL)
        units = settings.get("units")
        yield from (Need("systemd unit", str(unit)) for unit in (units if isinstance(units, list) else ()))

    def natural(self, step: Step) -> bool:
        return True

    def has_reverse(self, step: Step) -> bool:
        return True

    def do(self, task: Task) -> StepEnd:
        try:
            _note_active(task)
        except OSError as problem:
            return StepEnd(
                StepOutcome.FAILED, f"which units run cannot be noted, and none was stopped: {problem.strerror}"
            )
        for unit in task.words("units"):
            ended = run_program(task, [_SYSTEMCTL, "stop", "--", unit])
            if not ended.good:
                return ended
        return StepEnd(StepOutcome.DONE)

    def undo(self, task: Task) -> StepEnd:
        note, files = _note(task), task.system.files
        try:
            active = (
                files.read(note).decode().split() if files.exists(note) else []
            )  # without a note nothing was stopped
            for unit in reversed([unit for unit in task.words("units") if unit in active]):
                ended = run_program(task, [_SYSTEMCTL, "start", "--", unit])
                if not ended.good:
                    return ended
            files.remove(note)  # for good: one that comes back would speak for a later event
        except OSError as problem:
            return StepEnd(StepOutcome.FAILED, f"the note of which units ran cannot be used: {problem.strerror}")
        return StepEnd(StepOutcome.DONE)


def _listed(settings: Settings) -> str:
    units = settings.get("units")
    return ", ".join(str(each) for each in units) if isinstance(units, list) else str(units)


def _note(task: Task) -> Path:
    """Kept by the step's name, since a step may be begun again when it has half succeeded."""
    safe = "".join(letter if letter.isalnum() or letter in "-." else f"_{ord(letter):x}_" for letter in task.step.name)
    return task.receipts.directory / f"units-{safe}"


def _note_active(task: Task) -> None:
    """Which units run now. A note that is there already was made before anything was stopped, and stands."""
    note, files = _note(task), task.system.files
    if files.exists(note):
        return
    probe = replace(task, receipts=Receipts(task.receipts.directory, f"{task.receipts.run}-probe"))
    active = [
        unit
        for unit in task.words("units")
        if run_program(probe, [_SYSTEMCTL, "is-active", "--quiet", "--", unit]).good
    ]
    probe.receipts.forget(files)
    files.make_directory(note.parent)
    files.write_whole(note, "\n".join(active).encode())  # it must outlive the impact
