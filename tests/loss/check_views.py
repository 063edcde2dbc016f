"""Every view that anybody was given is a prefix of the journal, no node's view goes back, and none is too old."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from forewarn.core import facts as f
from tests.loss.check_writes import TOLERANCE
from tests.loss.history import Approval, History, Look, Outcome, Sight, Trouble, Write
from tests.loss.replay import Replay, Span

_SLACK_SECONDS = 0.1
_CALM_SECONDS = 5.0  # after a fault, before what only holds in calm is asked for
_SURE_SHARE = 0.4  # of the staleness bound, less than what a relay has left when it has just heard anything
_CUTS = ("relay cut off",)  # what a relay outlives for as long as it may be sure


class _Known:
    """The last record that was surely public before an instant. Instants are asked for in ascending order."""

    def __init__(self) -> None:
        self._coming: list[tuple[float, int]] = []
        self._seq = 0

    def learn(self, at: float, seq: int) -> None:
        heapq.heappush(self._coming, (at, seq))

    def before(self, instant: float) -> int:
        while self._coming and self._coming[0][0] < instant:
            self._seq = max(self._seq, heapq.heappop(self._coming)[1])
        return self._seq


@dataclass
class _Views:
    history: History
    replay: Replay
    troubles: Sequence[Trouble]
    on: dict[str, _Known] = field(default_factory=lambda: defaultdict(_Known))
    anywhere: _Known = field(default_factory=_Known)
    long_ago: _Known = field(default_factory=_Known)

    def learn(self, node: str, at: float, seq: int) -> None:
        for known in (self.on[node], self.anywhere, self.long_ago):
            known.learn(at, seq)

    def calm(self, since: float, until: float, but_for: Collection[str] = ()) -> bool:
        """Whether nothing had been done to nodes and stores, nor to this relay but for such things."""
        return not any(
            trouble.began <= until and trouble.ended + _CALM_SECONDS >= since
            for trouble in self.troubles
            if not trouble.is_a_relays or (but_for and trouble.kind not in but_for)
        )


def of_views(history: History, replay: Replay) -> Iterator[str]:
    """All that was seen, in the order in which it was asked for."""
    views = _Views(history, replay, [note for note in history.notes if isinstance(note, Trouble)])
    written = _last_records(history)
    seen = [note for note in history.notes if isinstance(note, Write | Approval | Sight | Look)]
    for note in sorted(seen, key=lambda each: each.asked):
        match note:
            case Sight() if note.status < 500:
                yield from _of_sight(views, note)
            case Sight(status=503):
                yield from _of_turning_away(views, note)
            case Look():
                yield from _of_look(views, note)
            case Write() | Approval():
                if note.outcome is Outcome.OK and note.request_id in written:
                    views.learn(note.node, note.answered, written[note.request_id])
    yield from _of_bytes(history, replay)


def of_knowledge(history: History, replay: Replay) -> Iterator[tuple[float, int]]:
    """By when somebody outside had been told something, and the record without which it would not be true."""
    written = _last_records(history)
    for note in history.notes:
        if isinstance(note, Write | Approval) and note.outcome is Outcome.OK and note.request_id in written:
            yield note.answered, written[note.request_id]
        elif isinstance(note, Sight) and note.status < 500:
            publics = [span.public for span in _spans(replay, note)[0] if span.public is not None]
            if publics:
                yield note.answered, min(publics)


def _last_records(history: History) -> dict[str, int]:
    return {record.origin.request_id: record.seq for record in history.journal if record.origin.request_id}


def _of_sight(views: _Views, sight: Sight) -> Iterator[str]:
    spans, what = _spans(views.replay, sight)
    told = f"{sight.vm} was told {what} by {sight.node} at {views.history.wall(sight.asked):%H:%M:%S.%f}"
    if not spans:
        yield f"{told}: that never was"
        return
    public = [span for span in spans if span.public is not None]
    if not public:
        yield f"{told}: that only was inside of a transaction, after record {spans[0].first}"
        return
    known = views.on[sight.node].before(sight.asked)
    fit = [span for span in public if span.last >= known]
    if not fit:
        yield f"{told}: that was over with record {public[-1].last}, and the node had shown record {known} before"
        return
    bound = views.history.staleness_seconds
    old = views.long_ago.before(sight.asked - bound - _SLACK_SECONDS)
    if not any(span.last >= old for span in fit):
        yield f"{told}: that was over with record {fit[-1].last}, and record {old} was public {bound:g} s before"
    views.learn(sight.node, sight.answered, _least(fit, known))
    yield from _of_future(views, sight, _least(fit, known), told)


def _of_turning_away(views: _Views, sight: Sight) -> Iterator[str]:
    """A door that has shown a record was sure of its region when that was made, and stays so for a while.

    Not for all of the bound: the first word of a relay's upstream may have been long on its way. First reads are turned
    away wherever they cannot be kept.
    """
    known = views.on[sight.node].before(sight.asked)
    scope = views.replay.scope_of(sight.vm)
    if not known or not views.replay.is_enabled(scope, known):
        return
    made = views.history.journal[known - 1].fact.at.timestamp() - views.history.wall_offset
    passed = sight.answered - made
    if passed < views.history.staleness_seconds * _SURE_SHARE and views.calm(made, sight.answered, _CUTS):
        yield (
            f"{sight.vm} was turned away by {sight.node} at {views.history.wall(sight.asked):%H:%M:%S.%f}, which had "
            f"shown record {known}, made {passed:.1f} s before"
        )


def _of_look(views: _Views, look: Look) -> Iterator[str]:
    spans = views.replay.spans_of_presence(look.vm, present=look.found)
    bound = views.history.staleness_seconds
    known = max(views.on[look.node].before(look.asked), views.long_ago.before(look.asked - bound - _SLACK_SECONDS))
    current = views.anywhere.before(look.asked)
    if views.calm(look.asked, look.answered):
        known = max(known, current)
    fit = [span for span in spans if span.public is not None and span.last >= known]
    if not fit:
        there = "is there" if look.found else "is not there"
        yield f"{look.node} said that {look.vm} {there}, though record {known} was public before it was asked"
        return
    views.learn(look.node, look.answered, _least(fit, known))


def _spans(replay: Replay, sight: Sight) -> tuple[list[Span], str]:
    match sight.status:
        case 404:
            return replay.spans_of_presence(sight.vm, present=False), "that it is not there"
        case 304:
            return replay.spans_of_incarnation(sight.vm, sight.incarnation), f"to keep incarnation {sight.incarnation}"
        case _:
            return replay.spans_of_body(sight.vm, sight.version, sight.body), f"({sight.version}) {sight.body}"


def _least(spans: Sequence[Span], known: int) -> int:
    """The view was at least so far."""
    return min(max(span.public or 0, known) for span in spans)


def _of_future(views: _Views, sight: Sight, seq: int, told: str) -> Iterator[str]:
    if seq and views.history.journal[seq - 1].fact.at > views.history.wall(sight.answered) + TOLERANCE:
        yield f"{told}: record {seq}, which it needs, was only made at {views.history.journal[seq - 1].fact.at}"


def _of_bytes(history: History, replay: Replay) -> Iterator[str]:
    """From what VMs saw alone: within an enabling the same incarnation is the same bytes, on every node."""
    bodies: dict[tuple[str, str, int], Sight] = {}
    for note in history.notes:
        if isinstance(note, Sight) and note.status == 200 and replay.enablings(note.vm) == 1:
            first = bodies.setdefault((replay.scope_of(note.vm), note.version, note.incarnation), note)
            if first.body != note.body:
                yield (
                    f"{note.vm} was told two things under incarnation {note.incarnation} ({note.version}): "
                    f"{first.body} by {first.node}, {note.body} by {note.node}"
                )


def of_disabling(history: History, replay: Replay) -> Iterator[str]:
    """A scope that was read lately, through any node, stays enabled, unless that node could not tell the others."""
    troubles = [note for note in history.notes if isinstance(note, Trouble)]
    reads: dict[str, list[float]] = defaultdict(list)
    for note in history.notes:
        if isinstance(note, Sight) and note.status in (200, 304):
            reads[replay.scope_of(note.vm)].append(note.answered)
    for record in history.journal:
        if not isinstance(record.fact, f.ScopeDisabled):
            continue
        at = record.fact.at.timestamp() - history.wall_offset
        since = at - history.disable_seconds
        late = [read for read in reads[record.fact.scope] if at - history.disable_seconds / 2 < read < at - 1]
        if late and not any(each.began <= at and each.ended + _CALM_SECONDS >= since for each in troubles):
            yield f"record {record.seq} disables {record.fact.scope}, which was read {at - late[-1]:.1f} s before"
