"""Who did what through which door: the journal's records, one line for each request.

The facts of one command stand together in the journal, with the kind of the command, its door, who asked and the id of
the request. So a request is a run of records that share these. What follows from no request (time passing, an engine at
work) has no request id; there the instant tells one run from the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias, get_args

from forewarn.core import facts as f
from forewarn.core.lifecycle import EventMoved
from forewarn.core.looking.subjects import subject_of
from forewarn.core.region import Event, Region, scope_key
from forewarn.core.specs import ScopeKind
from forewarn.plane.ports import Journal, Record
from forewarn.web.operator.history.activity_words import kinds_of, kinds_of_outcome, outcome_of_facts, words_of
from forewarn.web.operator.history.spans import records
from forewarn.web.operator.schema.answers import ActivityAnswer

MOST_SHOWN = 20  # ours: things that one request was about, a line of a list

Run: TypeAlias = list[Record]  # the records of one request
Told: TypeAlias = list[Run]  # what one line tells of: a request, or several that are alike
Things: TypeAlias = tuple[tuple[str, str], ...]  # each with its kind: ("vm", "vm/web-0")

_FIRST = (f.EventScheduled, f.EventBornStarted)  # which have the event in them
_LATER = frozenset(get_args(EventMoved))


class Book:
    """The events that records speak of by their ids alone: seen on the way, active, or looked up."""

    def __init__(self, region: Region, journal: Journal) -> None:
        self._region = region
        self._journal = journal
        self._seen: dict[str, Event | None] = {}
        self._things: dict[str, Things] = {}  # of events that were found, each several times in the facts of its life

    def learn(self, run: Run) -> None:
        for fact in [record.fact for record in run if isinstance(record.fact, _FIRST)]:
            self._seen[fact.event.id] = fact.event
            self._things.pop(fact.event.id, None)

    def find(self, event_id: str) -> Event | None:
        if event_id not in self._seen:
            self._seen[event_id] = self._region.events.get(event_id) or self._first(event_id)
        return self._seen[event_id]

    def things_of(self, event_id: str) -> Things:
        """What an event is about, as far as it is known."""
        known = self._things.get(event_id)
        if known is not None:
            return known
        event = self.find(event_id)
        if event is None:
            return (("event", event_id),)
        self._things[event_id] = _things_of_event(event)
        return self._things[event_id]

    def _first(self, event_id: str) -> Event | None:
        for record in self._journal.about(event_id, 1):
            if isinstance(record.fact, _FIRST):
                return record.fact.event
        return None


@dataclass(frozen=True)
class Bounds:
    """How many records one answer looks at; the newest are looked for in a window that grows."""

    most: int = 100_000  # ours: bounds how long one answer reads
    window: int = 2_000  # ours, at first: mostly more than a page's lines need


BOUNDS = Bounds()


@dataclass(frozen=True)
class Wanted:
    """Which requests; empty means any."""

    door: str = ""
    about: str = ""
    who: str = ""
    fold: bool = False  # like requests that follow each other are told as one

    def has(self, run: Run, book: Book) -> bool:
        if self.door and run[0].origin.door != self.door:
            return False
        if self.who and run[0].origin.who.lower() != self.who.lower():
            return False
        if not self.about:
            return True
        return self.about.lower() in names_of(run, book)


def names_of(run: Run, book: Book) -> set[str]:
    """What a request is about, by the whole subject and by its name alone, in small letters.

    ``vm/web-0`` or ``web-0``, ``host/3`` or ``3`` or ``host-3``.
    """
    subjects = {thing.lower() for record in run for _, thing in _things(record.fact, book)}
    names = subjects | {subject.partition("/")[2] for subject in subjects}
    return names | {subject.replace("/", "-", 1) for subject in subjects if subject.startswith("host/")}


def _things(fact: f.Fact, book: Book) -> Things:
    """All that a fact is about, each with its kind."""
    subject = subject_of(fact)
    if type(fact) in _LATER:
        return book.things_of(subject)
    match fact:
        case f.EventScheduled(event=event) | f.EventBornStarted(event=event):
            return _things_of_event(event)
        case f.VmCreated(spec=spec):
            own = ("vm", subject)
            return (
                (own,) if spec.kind is ScopeKind.VM else (own, *_things_of_scope(scope_key(spec.kind, spec.set_name)))
            )
        case f.ResourceKept() | f.ResourceForgotten():
            return (("resource", subject),)
        case f.OperationStarted() | f.OperationEnded():
            return (("operation", subject),)
        case _ if "/" in subject:
            return tuple(_things_of_scope(subject))
        case _:
            return (("clock" if subject == "clock" else "campaign", subject),)


def _things_of_event(event: Event) -> Things:
    """Its VMs, its scope and its host, too."""
    vms = (("vm", f"vm/{key}") for key in event.vms)
    host = () if event.host is None else (("host", f"host/{event.host}"),)
    campaign = (("campaign", event.campaign),) if event.campaign else ()
    return (("event", event.id), *vms, *_things_of_scope(event.scope), *host, *campaign)


def _things_of_scope(key: str) -> Iterator[tuple[str, str]]:
    """A placement group is its scale set's."""
    kind, _, name = key.partition("/")
    yield kind, key
    if kind == ScopeKind.PLACEMENT_GROUP.value:
        yield "scale-set", f"scale-set/{name.partition('~')[0]}"


def after(
    journal: Journal, book: Book, wanted: Wanted, start: int, head: int, limit: int, bounds: Bounds = BOUNDS
) -> tuple[list[Told], int]:
    """What is told after the record ``start``, and the last record looked at."""
    found: list[Told] = []
    looked_at, first = start, start
    for run in runs_of(records(journal, start, head)):
        book.learn(run)
        if wanted.has(run, book) and not _tell(found, run, book, wanted.fold, limit):
            break
        looked_at = run[-1].seq
        if looked_at - first >= bounds.most:
            break
    return found, looked_at


def newest(journal: Journal, book: Book, wanted: Wanted, head: int, limit: int, bounds: Bounds = BOUNDS) -> list[Told]:
    """The last of what is to be told, looked for in a window that grows until it holds enough."""
    window = min(max(bounds.window, limit), bounds.most)
    while True:
        start = max(0, head - window)
        runs = list(runs_of(records(journal, start, head)))
        if start and len(runs) > 1:
            del runs[0]  # it may have begun before the window
        found: list[Told] = []
        for run in runs:
            book.learn(run)
            if wanted.has(run, book):
                _tell(found, run, book, wanted.fold, len(runs))
        if len(found) > limit or not start or window >= bounds.most:
            return found[-limit:]
        window = min(window * 4, bounds.most)


def _tell(found: list[Told], run: Run, book: Book, fold: bool, limit: int) -> bool:
    """Append a run, to the last line where it is like that one, else as a new line; False where no line is left."""
    if fold and found and _likeness(found[-1][-1], book) == _likeness(run, book):
        found[-1].append(run)
    elif len(found) < limit:
        found.append([run])
    else:
        return False
    return True


def _likeness(run: Run, book: Book) -> tuple[object, ...]:
    """What two runs must share to be told as one: the door, what was asked, and what came of it, but for the number.

    VMs may differ from line to line; any other caller must be the same one.
    """
    first, facts = run[0], [record.fact for record in run]
    who = "" if first.origin.door == "vm" else first.origin.who
    return first.origin.door, who, words_of(first.command, facts), kinds_of_outcome(facts, book.find)


def runs_of(records: Iterable[Record]) -> Iterator[Run]:
    return (list(run) for _, run in groupby(records, key=key_of))


def key_of(record: Record) -> tuple[object, ...]:
    """What the records of one request share."""
    origin = record.origin
    at = None if origin.request_id else record.fact.at
    return origin.door, origin.who, origin.request_id, record.command, at


def activity_fields(runs: Told, book: Book) -> ActivityAnswer:
    first, last = runs[0][0], runs[-1][-1]
    facts = [record.fact for run in runs for record in run]
    words = words_of(first.command, facts)
    about = _about(words, facts, book)
    return ActivityAnswer(
        seq=last.seq,
        first_seq=first.seq,
        at=first.fact.at,
        until=runs[-1][0].fact.at,
        times=len(runs),
        door=first.origin.door,
        who=_who(runs),
        request_id=first.origin.request_id,
        command=first.command,
        text=words,
        about=about[:MOST_SHOWN],
        about_total=len(about),
        outcome=outcome_of_facts(facts, book.find),
    )


def _who(runs: Told) -> str:
    first, others = runs[0][0].origin.who, {run[0].origin.who for run in runs}
    return first if len(others) == 1 else f"{first} and {len(others) - 1} more"


def _about(words: str, facts: Sequence[f.Fact], book: Book) -> list[str]:
    """The things of the most telling kind that a run is about; where it names none of these kinds, all things."""
    things = [_things(fact, book) for fact in facts]
    for kind in kinds_of(words):
        if shown := dict.fromkeys(subject for some in things for found, subject in some if found == kind):
            return list(shown)
    return [subject for _, subject in dict.fromkeys(thing for some in things for thing in some)]
