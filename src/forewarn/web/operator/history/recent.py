"""The newest requests of the journal, read once: a page of activity reads what is new, and what nobody has shown yet.

A record never changes, so what was read of it holds. Of a request is kept where its records are, its door and what it
is about, as eight bytes a name. It is told when it is shown; one with very many records is told when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from weakref import WeakKeyDictionary

from forewarn.plane.ports import Journal
from forewarn.web.operator.history.activity import (
    BOUNDS,
    Book,
    Bounds,
    Run,
    Wanted,
    activity_fields,
    key_of,
    names_of,
    runs_of,
)
from forewarn.web.operator.history.spans import records
from forewarn.web.operator.schema.answers import ActivityAnswer

_GROWTH = 4  # ours: a portion is that much larger than the one before
_LONG = 100  # ours: a request with more records is told once, for reading it again costs a millisecond and more
_REMEMBERED = 2_000  # ours: shorter ones that have been told, a megabyte or two
_NAME = 8  # bytes, as Python hashes a text: by chance two of a million names are alike once in ten million regions


class _Seen(NamedTuple):
    """A request, as far as it is needed for choosing it."""

    first: int
    last: int
    door: str
    who: str  # in small letters
    names: bytes
    told: ActivityAnswer | None  # of a long one

    def is_wanted(self, door: str, who: str, name: bytes) -> bool:
        if (door and door != self.door) or (who and who != self.who):
            return False
        at = self.names.find(name)
        while at % _NAME and at >= 0:  # between two names
            at = self.names.find(name, at + 1)
        return at >= 0


class _Read(NamedTuple):
    """What has been read of a journal, as a value: threads go on with what they hold."""

    runs: tuple[_Seen, ...] = ()  # without a gap between them
    last_key: tuple[object, ...] = ()
    start: int = 0  # the runs are after this record
    head: int = 0  # and go up to this one
    looked_from: int = 0

    def gone_on(self, journal: Journal, book: Book, head: int, most: int) -> _Read:
        """What is known after also reading on to ``head``. The newest request may go on in the new records."""
        if head == self.head:
            return self
        if not self.runs or head - self.head > most:
            return _Read(start=head, head=head, looked_from=head)
        known, runs = self.runs, list(runs_of(records(journal, self.head, head)))
        if key_of(runs[0][0]) == self.last_key:
            begin = max(known[-1].first - 1, head - most)
            known, runs = known[:-1], list(runs_of(records(journal, begin, head)))
        every = (*known, *_seen(runs, book))
        gone = next((at for at, run in enumerate(every) if run.first > head - most), len(every) - 1)
        return _Read(every[gone:], key_of(runs[-1][0]), every[gone].first - 1, head, self.looked_from)

    def gone_back(self, journal: Journal, book: Book, portion: int, most: int) -> _Read | None:
        """What is known after also reading a portion further back; None at the beginning or the bound."""
        floor = max(0, self.head - most)
        if self.looked_from <= floor:
            return None
        begin = max(floor, self.start - portion)
        runs = list(runs_of(records(journal, begin, self.start)))
        if begin and (len(runs) > 1 or self.runs or begin > floor):
            del runs[:1]  # it may have begun before
        if not runs:
            return self._replace(looked_from=begin)
        last_key = self.last_key if self.runs else key_of(runs[-1][0])
        return _Read((*_seen(runs, book), *self.runs), last_key, runs[0][0].seq - 1, self.head, begin)


class RecentRuns:
    """The requests of one journal that were read, from some record to the newest asked for. Threads share it."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self._bounds = bounds
        self._read = _Read()
        self._told: dict[tuple[int, int], ActivityAnswer] = {}

    def newest(
        self, journal: Journal, book: Book, wanted: Wanted, head: int, limit: int
    ) -> list[ActivityAnswer] | None:
        """As ``activity.newest`` finds them. None where that has to look: it folds, or more has been read here."""
        most, read = self._bounds.most, self._read
        if wanted.fold or head < read.head:
            return None
        self._read = read = read.gone_on(journal, book, head, most)
        name, portion = _short(wanted.about.lower()) if wanted.about else b"", _GROWTH * limit
        who = wanted.who.lower()
        while True:
            fitting = (run for run in reversed(read.runs) if run.is_wanted(wanted.door, who, name))
            found = list(islice(fitting, limit))[::-1]
            further = read.gone_back(journal, book, portion, most) if len(found) < limit else None
            if further is None:
                return self._tell(journal, book, found)
            self._read = read = further
            portion *= _GROWTH

    def _tell(self, journal: Journal, book: Book, chosen: Sequence[_Seen]) -> list[ActivityAnswer]:
        if len(self._told) > _REMEMBERED:
            self._told.clear()
        told = {(run.first, run.last): run.told or self._told.get((run.first, run.last)) for run in chosen}
        for near in _neighbours(run for run in chosen if told[run.first, run.last] is None):
            begin = near[0].first
            read = list(records(journal, begin - 1, near[-1].last))
            for run in near:
                part = read[run.first - begin : run.last - begin + 1]
                book.learn(part)
                told[run.first, run.last] = self._told[run.first, run.last] = activity_fields([part], book)
        return [each for each in told.values() if each is not None]


_of_journals: WeakKeyDictionary[Journal, RecentRuns] = WeakKeyDictionary()


def recent_of(journal: Journal) -> RecentRuns:
    """What has been read of a journal; kept for as long as that is open."""
    return _of_journals.setdefault(journal, RecentRuns())


def _seen(runs: Iterable[Run], book: Book) -> Iterator[_Seen]:
    for run in runs:
        book.learn(run)
        names = b"".join(map(_short, names_of(run, book)))
        told = activity_fields([run], book) if len(run) > _LONG else None
        origin = run[0].origin
        yield _Seen(run[0].seq, run[-1].seq, origin.door, origin.who.lower(), names, told)


def _short(name: str) -> bytes:
    return hash(name).to_bytes(_NAME, "big", signed=True)


def _neighbours(runs: Iterable[_Seen]) -> Iterator[list[_Seen]]:
    """Requests in groups that are read at once, because few records lie between them."""
    near: list[_Seen] = []
    for run in runs:
        if near and run.first - near[-1].last > _LONG:
            yield near
            near = []
        near.append(run)
    if near:
        yield near
