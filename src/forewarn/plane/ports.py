"""What the plane asks of the outside. Each port has one contract suite that every implementation passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from forewarn.core.commands import Command
from forewarn.core.facts import Fact
from forewarn.core.forecast import Lasting
from forewarn.core.region import Event, Region


class Origin(Struct, frozen=True, gc=False):
    """Who asked, through which door."""

    door: str  # "vm", "operator", "resource-manager", "clock", "driver"
    who: str = ""  # the VM, or whatever the caller says of itself
    request_id: str = ""

    @property
    def label(self) -> str:
        """Door and caller, for lines that people read."""
        return f"{self.door} {self.who}".strip()


CLOCK = Origin("clock")  # what happens because time has passed


class Record(Struct, frozen=True, gc=False):
    """One fact in its place in the journal. Sequence numbers start at 1 and have no gaps."""

    seq: int
    fact: Fact
    command: str  # the kind of command it followed from
    origin: Origin


class Entry(Struct, frozen=True, gc=False):
    """A fact on its way into the journal; the journal gives it its number."""

    fact: Fact
    command: str
    origin: Origin


class Transaction(Protocol):
    """The head of the journal is ours until the block ends. An exception inside leaves the journal as it was."""

    @property
    def now(self) -> datetime | None:
        """What the store's own clock, which nodes that share a region agree on, said when the head became ours.

        None where there is one node only.
        """

    def read_clock(self) -> datetime | None:
        """What the store's clock says now, where ``now`` may be old: that answer may have been long on its way."""

    def since(self, seq: int) -> Sequence[Record]:
        """What others appended after ``seq``."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Stage facts; they are durable when the block has ended without an exception."""


class Journal(Protocol):
    """Where facts are kept. Methods block; a plane calls ``write`` from one thread only, the rest from any."""

    @property
    def shared(self) -> Shared | None:
        """How the nodes of a region hear of each other; None for a store that has one node at a time."""

    def write(self) -> AbstractContextManager[Transaction]: ...

    def head(self) -> int:
        """The last sequence number; 0 for an empty journal."""

    def read(self, after: int, limit: int) -> list[Record]:
        """At most ``limit`` records after ``after``, in order."""

    def about(self, subject: str, limit: int) -> list[Record]:
        """The story of one subject (see ``core.looking.subjects``), oldest first."""

    def load(self) -> tuple[Region, int]:
        """The newest usable snapshot and the sequence number it stands for; an empty region and 0 without one."""

    def snapshot(self, region: Region, seq: int) -> None:
        """Keep ``region``, the state after ``seq``, to make the next start short. Losing one loses no fact."""

    def verify(self) -> Iterator[str]:
        """Read everything; yield a sentence for each thing that is wrong."""

    def ailment(self) -> str:
        """Why nothing can be written just now, as a sentence, where that is known without trying; else empty.

        Does not wait, and may be called from any thread.
        """

    def close(self) -> None: ...


LEASE_SECONDS = 10.0  # how long a leader that falls silent goes on leading; Kubernetes' components: 15 s


class News(Struct, frozen=True, gc=False):
    """What a shared store says of itself at one instant."""

    head: int
    now: datetime  # by the store's clock
    leads: bool  # whether this node is the one that does what is done once in a region


class Node(Struct, frozen=True):
    """One server of a region, as it tells of itself."""

    id: str
    name: str
    version: str
    faces: tuple[str, ...]
    urls: tuple[str, ...]
    rules: str  # a digest of the settings that all nodes of a region must have in common
    started_at: datetime
    seen_at: datetime  # by the store's clock; set by the store, not by the node that announces itself
    seq: int
    leads: bool
    draining: bool


class Shared(Protocol):
    """A journal that other nodes write as well. Methods block, and may be called from any thread."""

    def await_news(self, after: int, seconds: float, *, willing: bool) -> News:
        """Wait until the head may be beyond ``after``, at most ``seconds``, and answer what the store says then.

        Called by one thread, again and again. A ``willing`` node leads if no other does, and goes on leading from
        call to call; an unwilling one gives the lead up. A leader that has not called for ``LEASE_SECONDS`` (it is
        frozen, or cut off) loses the lead to the next willing caller. ``JournalFault`` means that it is not known;
        this node does not lead then.
        """

    def editing(self) -> AbstractContextManager[Callable[[], bool]]:
        """A lock of the whole region for read-modify-write: one holder at a time, until the block ends.

        What it gives tells whether that still holds: it may be lost with the connection to the store.
        """

    def announce(self, node: Node) -> None:
        """Say that this node is there. Once every few seconds; a node that falls silent is dropped in time."""

    def withdraw(self, node_id: str) -> None:
        """This node goes: it is listed no more, and leads no more."""

    def nodes(self) -> list[Node]:
        """Nodes that have been seen lately, by name."""


class JournalFault(Exception):  # noqa: N818 - the name says enough
    """The journal cannot be read or written. The message says what is wrong and what to do."""


class Uncertain(JournalFault):
    """The store failed while it was told to commit: the facts are there, or they are not, but never half of them."""


class Diverged(JournalFault):
    """The store has lost, or has replaced, records that this node has seen: it must start anew from what is there."""


class PretendedMachines(Protocol):
    """Says how long an impact on machines that are only pretended lasts. Real ones are behind ``plane.hands.engine``.

    ``begin`` must not block. It answers with the instant at which the impact will be over where it knows that in
    advance; None where somebody submits ``EndImpact`` later. After a crash ``begin`` may be called again for the same
    event.
    """

    def begin(self, event: Event, now: datetime) -> datetime | None: ...

    def lasting(self, event: Event) -> Lasting:
        """How long the impact of an event would last, for forecasts: nothing is done, in any thread."""


class Published(Protocol):
    """The last published state and its number, for readers that look for every request; and word of the next ones."""

    @property
    def region(self) -> Region: ...

    @property
    def seq(self) -> int: ...

    def subscribe(self, listener: Callable[[Region, Sequence[Record]], None]) -> Callable[[], None]: ...


class Writes(Protocol):
    """The writing of commands, as those parts of a plane see it that act by themselves."""

    @property
    def region(self) -> Region:
        """The last published state."""

    async def submit_ours(self, command: Command, origin: Origin) -> None:
        """Carry out a command of the server's own. A failure is logged, and this returns a moment later."""


class Submits(Published, Protocol):
    """What carries out commands and says what came of each, as hands see it."""

    async def submit(self, command: Command, origin: Origin) -> tuple[Fact, ...]:
        """As ``Plane.submit``."""

    def rehearse(self, region: Region, command: Command) -> tuple[Region, tuple[Fact, ...]]:
        """As ``Plane.rehearse``."""
