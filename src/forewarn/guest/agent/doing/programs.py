"""One run of a program, from its start to a verdict, and what became of a run that an earlier agent began."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.system.parts import OUTPUT_BYTES, Files, Program, System


@dataclass(frozen=True, slots=True)
class Receipts:
    """The files in which a run leaves its traces."""

    directory: Path
    run: str

    @property
    def receipt(self) -> Path:
        return self.directory / f"{self.run}.receipt"

    @property
    def output(self) -> Path:
        return self.directory / f"{self.run}.output"

    def forget(self, files: Files) -> None:
        for path in (self.receipt, self.output):
            files.discard(path)


def run(system: System, program: Program, budget: Budget, receipts: Receipts) -> StepEnd:
    """Run it to its end, or to the end of the budget: then it is ended together with everything it started."""
    try:
        started = system.programs.start(program, receipts.receipt, receipts.output)
    except (OSError, ValueError) as problem:
        return StepEnd(StepOutcome.FAILED, f"cannot be started: {problem}")
    in_time = started.wait(budget)
    started.end(everything=not in_time)
    return _verdict(system, receipts, budget, in_time=in_time)


def adopt(system: System, receipts: Receipts, budget: Budget, *, same_boot: bool) -> StepEnd:
    """What became of a run that an earlier agent began. One that still runs is waited for."""
    if not system.files.exists(receipts.receipt):
        return StepEnd(
            StepOutcome.NEVER_BEGAN if same_boot else StepOutcome.UNKNOWN, "it was announced and never begun"
        )
    found = system.programs.find(receipts.receipt)
    in_time = found.wait(budget)
    if not in_time:
        found.end(everything=True)
    began, status = _read(system.files, receipts)
    if status is not None or not in_time:
        return _verdict(system, receipts, budget, in_time=in_time)
    if not began and same_boot:
        return StepEnd(StepOutcome.NEVER_BEGAN, "it was announced and never begun")
    return StepEnd(StepOutcome.UNKNOWN, "it was under way when the machine or the agent went down")


def _read(files: Files, receipts: Receipts) -> tuple[bool, int | None]:
    """Whether it began, and its status if it ended."""
    began, status = False, None
    for line in _text(files, receipts.receipt).splitlines():
        word, _, number = line.partition(" ")
        began = began or word == "began"
        if word == "ended" and number.isdecimal():
            status = int(number)
    return began, status


def _text(files: Files, path: Path) -> str:
    with suppress(OSError):
        return files.read(path)[:OUTPUT_BYTES].decode("utf-8", "replace")
    return ""


def _verdict(system: System, receipts: Receipts, budget: Budget, *, in_time: bool) -> StepEnd:
    said = last_lines(_text(system.files, receipts.output))
    _, status = _read(system.files, receipts)
    if in_time and status == 0:
        return StepEnd(StepOutcome.DONE, said)
    if not in_time:
        outcome = StepOutcome.INTERRUPTED if budget.called_off else StepOutcome.TIMED_OUT
        return StepEnd(outcome, f"{budget.why_over()}{f': {said}' if said else ''}")
    how = "ended without a status" if status is None else system.programs.status_words(status)
    return StepEnd(StepOutcome.FAILED, f"{how}{f': {said}' if said else ''}")


def last_lines(text: str, most: int = 400) -> str:
    """What a log line can hold of a program's output."""
    return " ".join(text.split())[-most:]
