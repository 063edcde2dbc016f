"""The region under test: the one writer on a journal that may fail, a clock in the test's hand, impacts at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Protocol

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.looking.documents import document_for
from forewarn.core.region import Event, Region, Scope, replace
from forewarn.core.rules import Rules
from forewarn.engines.simulated import SimulatedEngine
from forewarn.plane.clock import elapsed
from forewarn.plane.ports import Journal, JournalFault, Origin, Transaction
from forewarn.plane.reads import ReadBook
from forewarn.plane.writer import Asked, Writer, load
from forewarn.sim.oracle import Oracle, OracleSettings
from forewarn.stores.memory import MemoryJournal
from forewarn.stores.snapshots import region as snapshots
from forewarn.stores.sqlite.journal import SqliteJournal
from forewarn.terms import Document
from forewarn.web.metadata.answering.cache import DocumentCache
from forewarn.wire.versions import API_VERSIONS

_ORIGIN = Origin("model")
_MOVING = (
    Cause.REDEPLOY,
    Cause.USER_REDEPLOY,
    Cause.PREDICTED_FAILURE,
    Cause.FAILURE,
    Cause.LIVE_MIGRATION,
)
_STATUSES = ["Scheduled", "Started", "gone"]


class Shelf(Protocol):
    """Where a journal is kept, and how a server comes back to it."""

    @property
    def journal(self) -> Journal: ...

    def reopen(self, region: Region, seq: int) -> tuple[Region, int]:
        """What a new server finds that starts from a snapshot of ``region``."""

    def close(self) -> None: ...


class MemoryShelf:
    """A journal in memory; its snapshots go through bytes all the same."""

    def __init__(self) -> None:
        self.journal = MemoryJournal()

    def reopen(self, region: Region, seq: int) -> tuple[Region, int]:
        read, header = snapshots.unpack(BytesIO(b"".join(snapshots.pack(region, seq, b""))))
        return read, header.seq

    def close(self) -> None:
        self.journal.close()


class SqliteShelf:
    """A journal in a directory, closed and opened again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.journal = SqliteJournal(directory)

    def reopen(self, region: Region, seq: int) -> tuple[Region, int]:
        self.journal.snapshot(region, seq)
        self.journal.close()
        self.journal = SqliteJournal(self._directory)
        return self.journal.load()

    def close(self) -> None:
        assert list(self.journal.verify()) == []
        self.journal.close()


class _Shaky:
    """The writer's view of a shelf: the next write fails if it is told to, at the very end of its block."""

    def __init__(self, shelf: Shelf, loaded: tuple[Region, int]) -> None:
        self.shelf = shelf
        self.loaded = loaded
        self.fails = False

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        with self.shelf.journal.write() as transaction:
            yield transaction
            if self.fails:
                self.fails = False
                raise JournalFault("The disk went away; look after it.")

    def load(self) -> tuple[Region, int]:
        return self.loaded

    def __getattr__(self, name: str) -> object:
        return getattr(self.shelf.journal, name)


def _asked(command: c.Command) -> Asked:
    return Asked(command, _ORIGIN, elapsed())


class System:
    """Commands go in as the plane would bring them; after each transaction the documents are watched."""

    def __init__(self, shelf: Shelf, rules: Rules, now: datetime) -> None:
        self.shelf = shelf
        self.rules = rules
        self.now = now
        self._engine = SimulatedEngine()
        self._oracle = Oracle(OracleSettings(user_operation_limit=rules.user_operation_limit))
        self._served = DocumentCache("rfc1123")
        self._statuses: dict[str, str] = {}
        self._told: dict[str, int] = {}  # by scope key, over all that ever had it
        self._open(Region(), 0)

    def _open(self, region: Region, seq: int) -> None:
        self._journal = _Shaky(self.shelf, (region, seq))
        loaded = load(self._journal)  # type: ignore[arg-type]  # a journal that fails on demand
        # A journal that fails on demand
        self._writer = Writer(self._journal, loaded, self.rules, lambda: self.now, ReadBook(), elapsed)  # type: ignore[arg-type]

    @property
    def region(self) -> Region:
        return self._writer.region

    def do(self, command: c.Command) -> list[f.Fact]:
        """The facts of the command and of the impacts that begin because of it; raises what the command's answer is."""
        facts = self._write([command])
        begun = self._begin(facts)
        while begun:
            more = self._write(begun)
            facts += more
            begun = self._begin(more)
        return facts

    def _write(self, commands: list[c.Command]) -> list[f.Fact]:
        before = self.region
        written = self._writer.write([_asked(command) for command in commands])
        for answer in written.answers:
            if isinstance(answer, Exception):
                assert self.region is before, "a refusal changed something"
                raise answer
        facts = [record.fact for record in written.records]
        self._watch(before, facts)
        return facts

    def _begin(self, facts: list[f.Fact]) -> list[c.Command]:
        return [
            c.BeginImpact(event.id, self._engine.begin(event, self.now))
            for event in map(self._started, facts)
            if event is not None
        ]

    def _started(self, fact: f.Fact) -> Event | None:
        if isinstance(fact, f.EventStarted):
            return self.region.events.get(fact.event_id)
        return self.region.events.get(fact.event.id) if isinstance(fact, f.EventBornStarted) else None

    # What can be seen from outside

    def document(self, scope: Scope) -> Document:
        return document_for(self.region, scope)

    def next_deadline(self) -> datetime | None:
        return next_deadline(self.region)

    def _watch(self, before: Region, facts: list[f.Fact]) -> None:
        """Ids never return, statuses never go back, and the incarnation grows exactly when the events change."""
        self._watch_moves(before, facts)
        self._ask_the_oracle(facts)
        for fact in facts:
            if isinstance(fact, f.EventScheduled | f.EventBornStarted):
                assert fact.event.id not in self._statuses, "an id has returned"
                self._statuses[fact.event.id] = "Scheduled"
        for key, scope in self.region.scopes.items():
            shown = self.document(scope)
            for event in shown.events:
                self._seen(event.event_id, event.status)
            earlier = before.scopes.get(key)
            if earlier is not None and earlier.enabled_at == scope.enabled_at is not None:
                was = document_for(before, earlier)
                assert (shown.incarnation > was.incarnation) == (shown.events != was.events), (was, shown)
                assert shown.incarnation >= was.incarnation
            elif scope.enabled_at is not None:
                assert shown.incarnation == self._told.get(key, 0) + 1
            if scope.enabled_at is not None:
                self._told[key] = shown.incarnation
        for event_id in set(before.events) - set(self.region.events):
            self._seen(event_id, "gone")

    def _ask_the_oracle(self, facts: list[f.Fact]) -> None:
        """What every enabled scope is served, in every version and through the warm cache, is what the facts make."""
        wrong = [sentence for fact in facts for sentence in self._oracle.fold(fact)]
        wrong += self._oracle.settled(self.now)
        for key, scope in self.region.scopes.items():
            assert self._oracle.is_enabled(key) == (scope.enabled_at is not None), key
            if scope.enabled_at is None:
                continue
            wrong += self._oracle.number(key, scope.incarnation)
            for version in API_VERSIONS:
                whole = self._served.served(self.region, scope, version).whole
                _, _, body = whole.after.partition(b"\r\n\r\n")
                assert body == self._oracle.document(key, version.date, scope.incarnation), (key, version.date)
                assert f'ETag: "{scope.incarnation}"\r\n'.encode() in whole.before
        assert not wrong, "\n".join(wrong)

    def _watch_moves(self, before: Region, facts: list[f.Fact]) -> None:
        """Redeployed and migrated VMs that run end on another host than the one they were on."""
        homes = {key: vm.host for key, vm in before.vms.items()}
        moved: set[str] = set()
        for fact in facts:
            if isinstance(fact, f.VmMoved):
                assert fact.host != homes[fact.vm], f"{fact.vm} was moved to where it was"
                homes[fact.vm] = fact.host
                moved.add(fact.vm)
        for fact in facts:
            event = before.events.get(fact.event_id) if isinstance(fact, f.ImpactEnded) else None
            if event is not None and event.cause in _MOVING:
                running = {key for key in event.vms if before.vms[key].host is not None and key in self.region.vms}
                down = {key for key in running if self.region.vms[key].host is None}
                assert running - down <= moved, f"{event.id} left VMs where they were"

    def _seen(self, event_id: str, status: str) -> None:
        known = self._statuses[event_id]
        assert _STATUSES.index(status) >= _STATUSES.index(known), f"{event_id} went from {known} to {status}"
        self._statuses[event_id] = status

    # Trouble

    def fail_once(self, command: c.Command) -> None:
        """The journal fails under a command: nothing has changed, on disk or in memory."""
        before, head = self.region, self.shelf.journal.head()
        self._journal.fails = True
        try:
            self._writer.write([_asked(command)])
        except JournalFault:
            pass
        else:
            raise AssertionError("the journal's fault was swallowed")
        assert self.region is before
        assert self.shelf.journal.head() == head

    def restart(self, *, from_snapshot: bool) -> None:
        """A new server on the same journal: from a snapshot, or from the first fact on. It finds the same region."""
        before, seq = self.region, self._writer.seq
        loaded = self.shelf.reopen(before, seq) if from_snapshot else (Region(), 0)
        self._open(*loaded)
        assert self._writer.seq == seq
        assert replace(self.region, agenda=before.agenda) == before
        assert next_deadline(self.region) == next_deadline(before)
