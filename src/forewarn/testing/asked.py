"""What the programs under test have asked, folded: the same question with the same end is one line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from forewarn.testing.moments import Moment
from forewarn.web.seen import SeenRequest

_MOST_KEPT = 20_000  # ours: different lines, more than anybody reads; a test that asks longer loses the newest
_AT_THE_END = sys.maxsize
_MOST_NAMED = 5  # VMs that never asked


@dataclass(slots=True)
class _Run:
    """Requests of one VM, alike in all that is told, between two facts."""

    seen: SeenRequest  # the first of them
    order: int
    count: int = 1
    incarnation: int | None = None

    def moment(self) -> Moment:
        seen = self.seen
        by = f"vm {seen.vm}" if seen.vm else "stranger"
        return Moment(seen.seq, seen.at, by, self._text(), order=self.order)

    def _text(self) -> str:
        if self.seen.fault:
            answers = "1 answer" if self.count == 1 else f"{self.count} answers"
            return f"fault {self.seen.fault} spoiled {answers} ({self.seen.words})"
        often = f" ×{self.count}" if self.count > 1 else ""
        saw = "" if self.incarnation is None else f", last saw incarnation {self.incarnation}"
        reason = f": {self.seen.reason}" if self.seen.reason else ""
        return f"{self.seen.words}{often}{saw}{reason}"


class FoldedRequests:
    """Told of every request on the loop's thread; read from any other."""

    def __init__(self, number: Callable[[], int]) -> None:
        self._number = number
        self._runs: dict[tuple[object, ...], _Run] = {}
        self._names: set[str] = set()

    def note(self, seen: SeenRequest) -> None:
        """The witness of the metadata face."""
        self._names.add(seen.vm)
        _fold(self._runs, (seen.seq, *_kind(seen)), _Run(seen, self._number(), 1, seen.incarnation))

    def by_hand(self, vm: str) -> None:
        """Note that the test itself has read or approved for a VM, in the place of a program."""
        self._names.add(vm)

    def moments(self, told: Sequence[int]) -> list[Moment]:
        """One line for all that is alike between two facts of which the timeline tells (``told``: their numbers)."""
        folded: dict[tuple[object, ...], _Run] = {}
        for run in list(self._runs.values()):
            before = sum(1 for seq in told if seq <= run.seen.seq)
            _fold(folded, (before, *_kind(run.seen)), _Run(run.seen, run.order, run.count, run.incarnation))
        return [run.moment() for run in folded.values()]

    def silent(self, vms: Iterable[str], seq: int, now: datetime) -> list[Moment]:
        """A line about the VMs for which nobody ever asked."""
        silent = sorted(set(vms) - self._names)
        if not silent:
            return []
        more = f" and {len(silent) - _MOST_NAMED} more" if len(silent) > _MOST_NAMED else ""
        return [Moment(seq, now, "", f"{', '.join(silent[:_MOST_NAMED])}{more} never asked", order=_AT_THE_END)]


def _kind(seen: SeenRequest) -> tuple[object, ...]:
    """The key of a request: two with the same are told in one line."""
    return seen.vm, seen.words, seen.reason, seen.fault


def _fold(runs: dict[tuple[object, ...], _Run], key: tuple[object, ...], new: _Run) -> None:
    known = runs.get(key)
    if known is None:
        if len(runs) < _MOST_KEPT:
            runs[key] = new
        return
    known.count += new.count
    known.incarnation = known.incarnation if new.incarnation is None else new.incarnation
