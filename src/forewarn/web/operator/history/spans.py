"""From an instant to an instant, as a part of the journal: its records are in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from forewarn.core.refusal import Hint, Refused
from forewarn.plane.ports import Journal, Record

_AT_ONCE = 2_000  # ours: bounds the memory of one look at the journal


def check_order(since: datetime | None, until: datetime | None) -> None:
    if since is not None and until is not None and until < since:
        raise Refused(Hint.INVALID, "The query parameter 'until' is not right: it is earlier than 'since'.")


def last_before(journal: Journal, at: datetime, head: int) -> int:
    """The last record that is earlier than ``at``; 0 where there is none. Looks at a few records only."""
    low, high = 0, head  # the records up to low are earlier, those after high are not
    while low < high:
        middle = (low + high) // 2
        found = journal.read(middle, 1)
        if found and found[0].fact.at < at:
            low = middle + 1
        else:
            high = middle
    return low


def last_until(journal: Journal, at: datetime, head: int) -> int:
    """The last record that is not later than ``at``."""
    return last_before(journal, at + datetime.resolution, head) if at < datetime.max.replace(tzinfo=at.tzinfo) else head


def records(journal: Journal, start: int, head: int) -> Iterator[Record]:
    """Those after ``start``, up to ``head``."""
    while start < head:
        found = journal.read(start, min(_AT_ONCE, head - start))
        if not found:
            return
        yield from found
        start = found[-1].seq
