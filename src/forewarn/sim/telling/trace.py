"""What happened, line by line: enough to see whether another run is the same history, and where it first is not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, TextIO

from forewarn import __version__
from forewarn.sim.plan import Misfortune, SimulationPlan

FORMAT = 1


class BadTrace(Exception):  # noqa: N818 - the file is
    """A file that is no trace. The message says why."""


class Trace:
    """Every line goes into the digest; into a file too where one was asked for.

    The first line of a file says which version ran which plan. Of that only the plan counts: another version that lives
    through the same has the same digest, and replays the other's record as the same history.
    """

    def __init__(self, plan: SimulationPlan, file: TextIO | None = None, expected: list[str] | None = None) -> None:
        self._digest = hashlib.sha256()
        self._file = file
        self._expected = expected
        self.lines = 1
        self.first_difference: tuple[int, str, str] | None = None
        self._digest.update(json.dumps(plan.told()).encode())
        if file is not None:
            file.write(f"{head_of(plan)}\n")

    def note(self, at: float, kind: str, /, **what: Any) -> None:
        """One thing that happened, with the virtual time in seconds since the beginning."""
        self._put(json.dumps({"t": round(at, 6), kind: what}, separators=(",", ":")))

    def fact(self, at: float, seq: int, fact: bytes, command: str, who: str) -> None:
        """The same for a fact, whose bytes are JSON already."""
        self._put(f'{{"t":{round(at, 6)},"seq":{seq},"by":{json.dumps([command, who])},"fact":{fact.decode()}}}')

    def _put(self, line: str) -> None:
        self._digest.update(line.encode())
        self._digest.update(b"\n")
        if self._file is not None:
            self._file.write(f"{line}\n")
        if self._expected is not None and self.first_difference is None:
            before = self._expected[self.lines] if self.lines < len(self._expected) else "(the record ends here)"
            if before != line:
                self.first_difference = (self.lines + 1, before, line)
        self.lines += 1

    def end(self) -> str:
        """The digest of everything."""
        if self._expected is not None and self.first_difference is None and self.lines < len(self._expected):
            self.first_difference = (self.lines + 1, self._expected[self.lines], "(this run ends here)")
        return self._digest.hexdigest()


def head_of(plan: SimulationPlan) -> str:
    return json.dumps({"forewarn-sim": FORMAT, "version": __version__, "plan": plan.told()}, separators=(",", ":"))


def read_trace(path: Path) -> tuple[SimulationPlan, str, list[str]]:
    """The plan of a recorded run, the version that ran it, and its lines."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise BadTrace(f"{path} cannot be read: {problem}") from None
    try:
        head = json.loads(lines[0])
        known, told = head["forewarn-sim"], head["plan"]
        plan = SimulationPlan(**{**told, "faults": tuple(Misfortune(name) for name in told["faults"])})
    except (LookupError, ValueError, TypeError):
        raise BadTrace(f"{path} is no record of a simulation; 'forewarn sim --record FILE' makes one.") from None
    if known != FORMAT:
        raise BadTrace(f"{path} was recorded in format {known}; this forewarn reads format {FORMAT}.")
    return plan, str(head.get("version", "?")), lines
