"""The store of a simulated region: production's journal in memory, with faults.

A node sees it through a ``Handle``, which can be cut off, can fail, and can die with its node before or after a commit.
With one node it behaves as a file does; with several it is shared, and its clock is the one they agree on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from enum import StrEnum
from io import BytesIO
from random import Random
from types import TracebackType
from typing import Protocol

from forewarn.core.region import Region
from forewarn.plane.ports import Entry, JournalFault, News, Node, Record, Transaction, Uncertain
from forewarn.sim.fabric.strands import Strands, Ticket
from forewarn.stores.memory import MemoryJournal
from forewarn.stores.snapshots import region as snapshots

_LATENCY_SECONDS = (0.0005, 0.004)  # ours: about what commits on a good and on a slow disk take
LEAD_SECONDS = 60.0  # ten in production; more here, because glances are rarer


class Fate(StrEnum):
    """What becomes of the next commit of a node."""

    FAILS = "fails"  # nothing is written, and the node is told so
    UNTOLD = "untold"  # it is written, and the node cannot find out
    DIES_BEFORE = "dies-before"  # the node dies, and nothing is written
    DIES_AFTER = "dies-after"  # it is written, and the node dies before it can answer


class _Dying(Exception):  # noqa: N818 - it is under way
    """The node dies inside its transaction."""


Committed = Callable[[Sequence[Record], str], None]


class Store:
    """The facts, and the nodes that wait for more of them."""

    def __init__(self, hub: Strands, random: Random, now: Callable[[], datetime], *, shared: bool) -> None:
        self.hub = hub
        self.random = random
        self.now = now
        self.shared = shared
        self.memory = MemoryJournal()
        self.kept = b""  # the last snapshot
        self.committed: Committed = lambda records, place: None
        self.waiting: deque[Ticket] = deque()
        self.leader: Handle | None = None
        self.leader_seen = 0.0
        self.nodes: dict[str, Node] = {}
        self.editor: Handle | None = None
        self.editors: deque[Ticket] = deque()

    def tell(self) -> None:
        while self.waiting:
            self.waiting.popleft().wake(self.hub)

    def release(self, handle: Handle) -> None:
        """Free the locks and the lead of a node that is gone."""
        if self.leader is handle:
            self.leader = None
        if self.editor is handle:
            self.editor = None
            if self.editors:
                self.editors.popleft().wake(self.hub)


class Handle:
    """A node's way to the store: production's ``Journal`` and ``Shared``."""

    def __init__(self, store: Store, place: str, die: Callable[[], None]) -> None:
        self._store = store
        self._die = die
        self.place = place
        self.fates: deque[Fate] = deque()
        self.cut = False
        self.dead = False

    @property
    def shared(self) -> Handle | None:
        return self if self._store.shared else None

    def _reach(self) -> None:
        """A dead node's calls never come back; one that is cut off gets a ``JournalFault``."""
        if self.dead:
            self._store.hub.park()
        if self.cut:
            raise JournalFault("The store does not answer.")

    def _perish(self) -> None:
        self._store.hub.loop.call_soon(self._die)
        self._store.hub.park()

    # Journal

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        store = self._store
        self._reach()
        store.hub.sleep(store.random.uniform(*_LATENCY_SECONDS))
        self._reach()
        fate = self.fates.popleft() if self.fates else None
        before = store.memory.head()
        try:
            with store.memory.write() as staged:
                transaction = _Timed(staged, store.now if store.shared else lambda: None)
                yield transaction
                if fate is Fate.FAILS:
                    raise JournalFault("The journal cannot be written: no space left on device.")
                if fate is Fate.DIES_BEFORE:
                    raise _Dying
        except _Dying:
            self._perish()
        records = store.memory.read(before, store.memory.head() - before)
        store.committed(records, self.place)
        if records:
            store.tell()
        if fate is Fate.DIES_AFTER:
            self._perish()
        if fate is Fate.UNTOLD:
            raise Uncertain("The store went away while it was told to commit; nobody can say whether it did.")

    def head(self) -> int:
        self._reach()
        return self._store.memory.head()

    def read(self, after: int, limit: int) -> list[Record]:
        self._reach()
        return self._store.memory.read(after, limit)

    def about(self, subject: str, limit: int) -> list[Record]:
        self._reach()
        return self._store.memory.about(subject, limit)

    def load(self) -> tuple[Region, int]:
        if not self._store.kept:
            return self._store.memory.load()
        region, header = snapshots.unpack(BytesIO(self._store.kept))
        return region, header.seq

    def snapshot(self, region: Region, seq: int) -> None:
        """As bytes, by production's codec: what a start reads back is what was written."""
        self._reach()
        self._store.kept = b"".join(snapshots.pack(region, seq, b""))

    def verify(self) -> Iterator[str]:
        yield from self._store.memory.verify()

    def ailment(self) -> str:
        return ""

    def close(self) -> None:
        self.dead = True
        self._store.release(self)

    # Shared

    def await_news(self, after: int, seconds: float, *, willing: bool) -> News:
        store, loop = self._store, self._store.hub.loop
        self._reach()
        if store.memory.head() <= after and seconds > 0:
            store.waiting.append(Ticket(store.hub))
            store.hub.park(seconds)
            self._reach()
        if store.leader is self and not willing:
            store.leader = None
        elif willing and (store.leader is None or loop.time() - store.leader_seen > LEAD_SECONDS):
            store.leader = self
        if store.leader is self:
            store.leader_seen = loop.time()
        return News(store.memory.head(), store.now(), store.leader is self)

    def editing(self) -> AbstractContextManager[Callable[[], bool]]:
        return _Editing(self._store, self)

    def announce(self, node: Node) -> None:
        self._reach()
        self._store.nodes[node.id] = node

    def withdraw(self, node_id: str) -> None:
        self._reach()
        self._store.nodes.pop(node_id, None)
        self._store.release(self)

    def nodes(self) -> list[Node]:
        self._reach()
        return sorted(self._store.nodes.values(), key=lambda node: node.name)


class _Staging(Protocol):
    def since(self, seq: int) -> Sequence[Record]: ...

    def append(self, entries: Sequence[Entry]) -> None: ...


class _Timed:
    """A transaction that knows what the store's clock says."""

    def __init__(self, staged: _Staging, read_clock: Callable[[], datetime | None]) -> None:
        self.now = read_clock()
        self.read_clock = read_clock
        self.since = staged.since
        self.append = staged.append


class _Editing:
    """One editor at a time, in the whole region."""

    def __init__(self, store: Store, handle: Handle) -> None:
        self._store, self._handle = store, handle

    def __enter__(self) -> Callable[[], bool]:
        self._handle._reach()
        while self._store.editor is not None:
            self._store.editors.append(Ticket(self._store.hub))
            self._store.hub.park()
            self._handle._reach()
        self._store.editor = self._handle
        return lambda: self._store.editor is self._handle

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store.editor is self._handle:
            self._store.editor = None
            if self._store.editors:
                self._store.editors.popleft().wake(self._store.hub)
