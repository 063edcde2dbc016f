"""Which VMs somebody looks at, and the last reads of these at this node. In memory; of other VMs nothing is noted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

SECONDS_WATCHED = 60.0  # ours: a page asks every 5 seconds, and one that was closed soon costs nothing
MOST_VMS = 100  # ours: pages that people have open at one node
MOST_READS = 20  # ours: of one VM; what a table on a page shows
LONGEST_CLIENT = 100  # letters of what a client says of itself; the same as the operator face keeps of its callers


@dataclass(frozen=True, slots=True)
class NotedRead:
    """One read of a document, as it was answered."""

    elapsed: float  # on the clock of this machine, which also goes where the region's stands still
    at: datetime  # on the clock of the region
    api_version: str
    status: int
    incarnation: int | None  # None where the answer was no document
    client: str


@dataclass(slots=True)
class _Watch:
    asked: float
    reads: deque[NotedRead] = field(default_factory=lambda: deque(maxlen=MOST_READS))


class WatchedVms:
    """The watched VMs, by name. Asking for a VM's reads begins it; it ends a minute after the last question."""

    def __init__(self) -> None:
        self.names: dict[str, _Watch] = {}  # in the order of asking; looked at for every request, so a plain attribute
        self._watchers: list[Callable[[], None]] = []

    def watch(self, watcher: Callable[[], None]) -> None:
        """Be called after names came or went."""
        self._watchers.append(watcher)

    def ask(self, name: str, elapsed: float) -> tuple[NotedRead, ...]:
        """The reads that were noted of this VM, newest first. It is watched from now on."""
        self._forget(elapsed)
        is_new = name not in self.names
        watch = self.names.pop(name, None) or _Watch(elapsed)
        watch.asked = elapsed
        if len(self.names) >= MOST_VMS:
            del self.names[next(iter(self.names))]
        self.names[name] = watch
        if is_new:
            self._changed()
        return tuple(reversed(watch.reads))

    def show(self, names: Iterable[str]) -> None:
        """These are watched elsewhere, for as long as nothing else is said."""
        self.names.clear()
        self.names.update((name, _Watch(0.0)) for name in names)

    def note(self, name: str, read: NotedRead) -> None:
        """Note a read of a watched VM. VMs that were not asked about for ``SECONDS_WATCHED`` are watched no more."""
        self._forget(read.elapsed)
        watch = self.names.get(name)
        if watch is not None:
            watch.reads.append(read)

    def _forget(self, elapsed: float) -> None:
        before = len(self.names)
        while self.names and next(iter(self.names.values())).asked + SECONDS_WATCHED <= elapsed:
            del self.names[next(iter(self.names))]
        if len(self.names) < before:
            self._changed()

    def _changed(self) -> None:
        for watcher in self._watchers:
            watcher()
