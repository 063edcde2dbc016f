"""The journal lived again: every region there ever was, and from when to when each document could be seen."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.folding.evolve import evolve
from forewarn.core.looking.deadlines import tidied
from forewarn.core.looking.documents import document_for
from forewarn.core.region import Region, Scope, fold, scope_key
from forewarn.core.specs import ScopeKind
from forewarn.plane.ports import Record
from forewarn.terms import Document
from forewarn.wire.document import encode_document
from forewarn.wire.versions import find

FOREVER = 1 << 62
_ALL = 1 << 62


@dataclass(frozen=True)
class Span:
    """The records between which something held: after ``first``, until the one after ``last``.

    ``public`` is the first end of a transaction in there: nobody may see what only holds inside of one.
    """

    first: int
    last: int
    public: int | None


@dataclass
class _State:
    """What a scope showed, as long as it showed it."""

    enabling: int
    incarnation: int
    document: Document
    kind: ScopeKind
    first: int
    last: int = FOREVER


@dataclass
class Replay:
    """Regions by sequence number; 0 is before the first record."""

    journal: Sequence[Record]
    regions: list[Region] = field(default_factory=lambda: [Region()])
    ends: list[int] = field(default_factory=list)  # of transactions, ascending
    wrong: list[str] = field(default_factory=list)  # what could not be lived again
    causes: dict[str, Cause] = field(default_factory=dict)  # of every event there was
    let_start: dict[str, datetime] = field(default_factory=dict)  # event id -> when it was approved or started
    _states: dict[str, list[_State]] = field(default_factory=lambda: defaultdict(list))
    _scopes: dict[str, str] = field(default_factory=dict)  # VM key -> scope key
    _lives: dict[str, list[list[int]]] = field(default_factory=lambda: defaultdict(list))  # VM key -> [made, gone]
    _bodies: dict[tuple[str, str], dict[str, list[Span]]] = field(default_factory=dict)
    _enablings: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _touched: set[str] = field(default_factory=set)  # scopes that this transaction has changed
    _public: dict[str, _State] = field(default_factory=dict)  # what each scope showed when a transaction last ended

    @classmethod
    def of(cls, journal: Sequence[Record]) -> Replay:
        replay = cls(journal)
        for place, record in enumerate(journal):
            try:
                replay._take(record)
            except Exception as fault:
                replay.wrong.append(f"record {record.seq} does not fit what was before it: {fault!r}")
                break
            if place + 1 == len(journal) or journal[place + 1].fact.at != record.fact.at:
                replay._end(record)
        return replay

    def _take(self, record: Record) -> None:
        before = self.regions[-1]
        region = evolve(before, record.fact)
        self.regions.append(region)
        fact = record.fact
        if isinstance(fact, f.VmCreated):
            key = fold(fact.name)
            self._scopes[key] = scope_key(fact.spec.kind, fact.spec.set_name or fact.name)
            self._lives[key].append([record.seq, FOREVER])
        elif isinstance(fact, f.VmDeleted):
            self._lives[fold(fact.vm)][-1][1] = record.seq
        elif isinstance(fact, f.ScopeEnabled):
            self._enablings[fact.scope] += 1
        elif isinstance(fact, f.EventAnnounced):
            self.let_start.pop(fact.event_id, None)
        elif isinstance(fact, f.EventApproved | f.EventStarted):
            self.let_start.setdefault(fact.event_id, fact.at)
        if isinstance(fact, f.EventScheduled | f.EventBornStarted):
            self.causes[fact.event.id] = fact.event.cause
        if isinstance(fact, f.EventBornStarted):
            self.let_start.setdefault(fact.event.id, fact.at)
        for key in {*before.scopes, *region.scopes}:
            if before.scopes.get(key) is not region.scopes.get(key):
                self._note(key, region.scopes.get(key), region, record.seq)
                self._touched.add(key)

    def _end(self, record: Record) -> None:
        """Of a transaction. What was due by then was looked at, which leaves no fact."""
        self.regions[-1] = tidied(self.regions[-1], record.fact.at, _ALL)
        self.ends.append(record.seq)
        for key in sorted(self._touched):
            self._publish(key, record.seq)
        self._touched.clear()

    def _publish(self, key: str, seq: int) -> None:
        """Nobody sees what holds inside of a transaction only, so documents are told apart at the ends of them."""
        states = self._states[key]
        if not states or states[-1].last != FOREVER:
            return
        before, after = self._public.get(key), states[-1]
        same = before is not None and (before.enabling, before.incarnation) == (after.enabling, after.incarnation)
        if before is not None and same and before.document != after.document:
            self.wrong.append(f"record {seq} changes the document of {key} and not its incarnation")
        self._public[key] = after

    def _note(self, key: str, scope: Scope | None, region: Region, seq: int) -> None:
        states = self._states[key]
        open_state = states[-1] if states and states[-1].last == FOREVER else None
        if scope is None or scope.enabled_at is None:
            if open_state is not None:
                open_state.last = seq - 1
            return
        document, enabling = document_for(region, scope), self._enablings[key]
        if open_state is not None:
            if (open_state.enabling, open_state.document) == (enabling, document):
                return
            open_state.last = seq - 1
        states.append(_State(enabling, document.incarnation, document, scope.kind, seq))

    # What could be seen, and when

    def enablings(self, vm: str) -> int:
        """How often somebody began to read for the VM's scope."""
        return self._enablings[self.scope_of(vm)]

    def is_enabled(self, scope: str, seq: int) -> bool:
        """Whether somebody reads for it after this record, and to the end."""
        regions = (self.regions[seq], self.regions[-1])
        enablings = [found.enabled_at for region in regions if (found := region.scopes.get(scope)) is not None]
        return len(enablings) == 2 and enablings[0] is not None and enablings[0] == enablings[1]

    def scope_of(self, vm: str) -> str:
        return self._scopes.get(fold(vm), "")

    def spans_of_body(self, vm: str, version: str, body: str) -> list[Span]:
        """When the VM's document was this, byte for byte."""
        key = (self.scope_of(vm), version)
        if key not in self._bodies:
            self._bodies[key] = self._encode(*key)
        return self._bodies[key].get(body, [])

    def spans_of_incarnation(self, vm: str, incarnation: int) -> list[Span]:
        states = self._states[self.scope_of(vm)]
        return [self._span(state.first, state.last) for state in states if state.incarnation == incarnation]

    def spans_of_presence(self, vm: str, *, present: bool) -> list[Span]:
        """When the VM was there, or when it was not."""
        lives = self._lives[fold(vm)]
        if present:
            return [self._span(made, gone - 1) for made, gone in lives]
        begins = [0, *(gone for _, gone in lives if gone != FOREVER)]
        ends = [*(made - 1 for made, _ in lives), FOREVER]
        return [self._span(first, last) for first, last in zip(begins, ends, strict=False)]

    def _encode(self, scope: str, version: str) -> dict[str, list[Span]]:
        found, bodies = find(version), defaultdict[str, list[Span]](list)
        assert found is not None, version
        for state in self._states[scope]:
            service = state.kind is ScopeKind.CLOUD_SERVICE
            body = encode_document(state.document, found, role_instances=service).decode()
            bodies[body].append(self._span(state.first, state.last))
        return bodies

    def _span(self, first: int, last: int) -> Span:
        if first == 0:
            return Span(first, last, 0)
        place = bisect_left(self.ends, first)
        public = self.ends[place] if place < len(self.ends) and self.ends[place] <= last else None
        return Span(first, last, public)

    def transactions(self) -> Iterator[tuple[int, Region]]:
        """The region after each transaction."""
        for seq in self.ends:
            yield seq, self.regions[seq]
