"""How many answers each face has given, by method and status. A count is one addition, without a lock or a call.

The library of the field, prometheus_client, takes 235 ns for an increment of its own counter and 880 ns with a look-up
of its labels; this takes 12 (``docs/performance.md``). So the library writes the page of ``web.signals``, and what is
counted for each GET is counted here. Everything is counted on the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

_METHODS = {each.encode(): each for each in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}
_NAMES = frozenset(_METHODS.values())
_OTHER = "other"  # anything may stand in a request: what is not in the list has one name together


Taken: TypeAlias = tuple[str, bytes, bytes, int]  # which table, verb, status, how many


class Count:
    """One number that grows."""

    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0


class Answers:
    """Counts of one server. Labels are of a fixed list each, whatever is asked."""

    def __init__(self) -> None:
        # Documents to a question that is known by its bytes from then on, by status; and other documents
        self.memorable = {b"200": Count(), b"304": Count()}
        self.documents = {b"200": Count(), b"304": Count()}
        self._replies: dict[tuple[bytes, bytes], Count] = {}
        self._told: Counter[tuple[str, str, int]] = Counter()

    def note_reply(self, verb: bytes, status: bytes) -> None:
        """An answer of the metadata face, as it is written, but for those that are counted in ``memorable``."""
        cell = self._replies.get((verb, status))
        if cell is None:
            cell = self._replies.setdefault((verb if verb in _METHODS else b"", status), Count())
        cell.n += 1

    def note(self, face: str, method: str, status: int) -> None:
        """An answer of another face."""
        self._told[face, method if method in _NAMES else _OTHER, status] += 1

    def take_out(self) -> list[Taken]:
        """What was counted of the metadata face since the last time; from here on it is counted from nothing."""
        cells = [("memorable", b"", status, cell) for status, cell in self.memorable.items()]
        cells += [("documents", b"", status, cell) for status, cell in self.documents.items()]
        cells += [("reply", verb, status, cell) for (verb, status), cell in self._replies.items()]
        found = [(kind, verb, status, cell.n) for kind, verb, status, cell in cells if cell.n]
        for *_, cell in cells:
            cell.n = 0
        return found

    def put_in(self, taken: Iterable[Taken]) -> None:
        """Count here what was counted in another process."""
        for kind, verb, status, number in taken:
            if kind == "reply":
                self._replies.setdefault((verb, status), Count()).n += number
            else:
                (self.memorable if kind == "memorable" else self.documents)[status].n += number

    def told(self) -> Iterator[tuple[str, str, int, int]]:
        """Face, method, status, and how many."""
        counts = Counter(dict(self._told))
        for (verb, status), cell in dict(self._replies).items():
            counts["metadata", _METHODS.get(verb, _OTHER), int(status)] += cell.n
        for status, cell in self.memorable.items():
            counts["metadata", "GET", int(status)] += cell.n
        return ((*key, number) for key, number in sorted(counts.items()))

    def reads(self) -> dict[int, int]:
        """Documents that were read, by status: 304 tells a reader that it has it already."""
        return {int(status): self.memorable[status].n + self.documents[status].n for status in self.memorable}
