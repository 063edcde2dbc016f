"""What happened while the clock was turned: the records from before the turn to after it, in lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.plane.ports import Journal, Record
from forewarn.web.operator.desk import Look
from forewarn.web.operator.history.activity import MOST_SHOWN, Book, Run, activity_fields, runs_of
from forewarn.web.operator.history.spans import records
from forewarn.web.operator.schema.answers import Happened
from forewarn.web.operator.telling.outcomes import count

MOST_TOLD = 50  # ours: of the first lines, and as many of the last ones
_HELD_MOST = 100_000  # ours: records, some 25 MB while the clock turns (240 bytes each, measured)
_NOT_TOLD = (f.ClockMoved, f.ScopeRead, f.ScopesRead)


class SeenMeanwhile:
    """Holds what is published from a record on, so that it need not be read again; very much is left to the journal."""

    def __init__(self, seq: int) -> None:
        self._begun, self._seq = seq, seq
        self._held: list[Sequence[Record]] | None = []

    def note(self, _region: Region, published: Sequence[Record]) -> None:
        """A listener of the plane's."""
        if self._held is None or not published:
            return
        if published[0].seq != self._seq + 1 or published[-1].seq - self._begun > _HELD_MOST:
            self._held = None  # too much, or not what follows: another history may have taken the place of this one
            return
        self._held.append(published)
        self._seq = published[-1].seq

    def records(self, journal: Journal, head: int) -> Iterator[Record]:
        """The records up to ``head``: those kept here where they are complete, else those of the journal."""
        if self._held is None or self._seq < head:
            return records(journal, self._begun, head)
        return (record for record in chain.from_iterable(self._held) if record.seq <= head)


def on_the_way(journal: Journal, before: Look, head: int, seen: SeenMeanwhile) -> tuple[list[Happened], int]:
    """The first and the last lines, oldest first, and how many between them were left out. Reads: not on the loop.

    ``before`` knows the events that were open when the turn began; the others come in the records.
    """
    book = Book(before.region, journal)
    lines = (line for run in runs_of(seen.records(journal, head)) for line in _lines(run, book))
    first = list(islice(lines, MOST_TOLD))
    last: deque[Happened] = deque(maxlen=MOST_TOLD)
    further = 0
    for line in lines:
        last.append(line)
        further += 1
    return [*first, *last], further - len(last)


def _lines(run: Run, book: Book) -> Iterator[Happened]:
    """The lines of one run. Disabled scopes have their own line: it tells why operations there have no event then."""
    book.learn(run)
    others = [record for record in run if not isinstance(record.fact, (f.ScopeDisabled, *_NOT_TOLD))]
    if others:
        told = activity_fields([others], book)
        yield Happened(at=told.at, text=told.outcome, about=told.about, about_total=told.about_total)
    disabled = [record.fact.scope for record in run if isinstance(record.fact, f.ScopeDisabled)]
    if disabled:
        text = f"{count(len(disabled), 'scope')} disabled: nobody has read there"
        yield Happened(at=run[0].fact.at, text=text, about=disabled[:MOST_SHOWN], about_total=len(disabled))
