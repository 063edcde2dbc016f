"""``systemd``: units are stopped, in the order given, and started again in reverse; only those that were running."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from forewarn.guest.agent.config import Step
from forewarn.guest.agent.running import Ended, Receipts
from forewarn.guest.agent.state import Outcome
from forewarn.guest.agent.steps.command import run_program
from forewarn.guest.agent.steps.kind import Task

_SYSTEMCTL = "systemctl"


class Systemd:
    """What was not running before is not started after: its administrator had a reason."""

    def natural(self, step: Step) -> bool:
        return True

    def has_reverse(self, step: Step) -> bool:
        return True

    def do(self, task: Task) -> Ended:
        _note_active(task)
        for unit in task.words("units"):
            ended = run_program(task, [_SYSTEMCTL, "stop", "--", unit])
            if not ended.good:
                return ended
        return Ended(Outcome.DONE)

    def undo(self, task: Task) -> Ended:
        note = _note(task)
        active = note.read_text().split() if note.exists() else task.words("units")
        for unit in reversed([unit for unit in task.words("units") if unit in active]):
            ended = run_program(task, [_SYSTEMCTL, "start", "--", unit])
            if not ended.good:
                return ended
        with suppress(OSError):
            note.unlink(missing_ok=True)
        return Ended(Outcome.DONE)


def _note(task: Task) -> Path:
    """Kept by the step's name, since a step may be begun again when it has half succeeded."""
    safe = "".join(letter if letter.isalnum() or letter in "-." else f"_{ord(letter):x}_" for letter in task.step.name)
    return task.receipts.directory / f"units-{safe}"


def _note_active(task: Task) -> None:
    """Which units run now. A note that is there already was made before anything was stopped, and stands."""
    note = _note(task)
    if note.exists():
        return
    probe = replace(task, receipts=Receipts(task.receipts.directory, f"{task.receipts.run}-probe"))
    active = [
        unit
        for unit in task.words("units")
        if run_program(probe, [_SYSTEMCTL, "is-active", "--quiet", "--", unit]).good
    ]
    probe.receipts.forget()
    fresh = note.with_suffix(".new")
    fresh.write_text("\n".join(active))
    fresh.replace(note)
