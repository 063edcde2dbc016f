"""What happened while the clock was turned: the journal's records from before the turn to after it, in lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from forewarn.core import facts as f
from forewarn.plane.ports import Journal
from forewarn.web.operator.desk import Look
from forewarn.web.operator.history.activity import MOST_SHOWN, Book, Run, Wanted, activity_fields, after
from forewarn.web.operator.schema.answers import Happened
from forewarn.web.operator.telling.outcomes import count

MOST_TOLD = 50  # ours: of the first lines, and as many of the last ones
_RUNS_AT_ONCE = 2_000  # ours: others have their turn after so many
_NOT_TOLD = (f.ClockMoved, f.ScopeRead, f.ScopesRead)


def on_the_way(journal: Journal, before: Look, head: int) -> tuple[list[Happened], int]:
    """The first and the last lines, oldest first, and how many between them were left out. Reads: not on the loop."""
    lines = (line for run in _runs(journal, before, head) for line in run)
    first = list(islice(lines, MOST_TOLD))
    last: deque[Happened] = deque(maxlen=MOST_TOLD)
    further = 0
    for line in lines:
        last.append(line)
        further += 1
    return [*first, *last], further - len(last)


def _runs(journal: Journal, before: Look, head: int) -> Iterator[Iterator[Happened]]:
    """``before`` knows the events that were open when the turn began; the others come in the records."""
    book, start = Book(before.region, journal), before.seq
    while start < head:
        found, start = after(journal, book, Wanted(), start, head, _RUNS_AT_ONCE)
        yield from (_lines(run, book) for runs in found for run in runs)


def _lines(run: Run, book: Book) -> Iterator[Happened]:
    """That scopes were disabled is a line of its own: it says why operations there have no event from then on."""
    others = [record for record in run if not isinstance(record.fact, (f.ScopeDisabled, *_NOT_TOLD))]
    if others:
        told = activity_fields([others], book)
        yield Happened(at=told.at, text=told.outcome, about=told.about, about_total=told.about_total)
    disabled = [record.fact.scope for record in run if isinstance(record.fact, f.ScopeDisabled)]
    if disabled:
        text = f"{count(len(disabled), 'scope')} disabled: nobody has read there"
        yield Happened(at=run[0].fact.at, text=text, about=disabled[:MOST_SHOWN], about_total=len(disabled))
