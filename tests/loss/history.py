"""What a round leaves behind: the journal, and what every client wrote down for itself. Values only.

Instants of clients are readings of the machine's monotonic clock, which all processes share and no fault touches.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from forewarn.plane.ports import Record


class Outcome(StrEnum):
    """What a client knows of its request."""

    OK = "ok"  # answered with success: it happened
    REFUSED = "refused"  # answered with a no: it did not happen
    UNKNOWN = "unknown"  # no answer, or one that says that nobody knows


class Write(Struct, frozen=True, tag=True):
    """An operator's request. ``key`` is what the client called itself, once for this request only."""

    key: str
    node: str
    deed: str
    names: tuple[str, ...]
    asked: float
    answered: float
    outcome: Outcome
    status: int = 0
    request_id: str = ""
    told: tuple[str, ...] = ()  # what the answer says was made: names of VMs, ids of events or of a campaign
    message: str = ""


class Approval(Struct, frozen=True, tag=True):
    """A VM lets events start."""

    vm: str
    node: str
    event_ids: tuple[str, ...]
    asked: float
    answered: float
    outcome: Outcome
    status: int = 0
    request_id: str = ""


class Sight(Struct, frozen=True, tag=True):
    """A VM was told its document: whole (200), that it has it already (304), or that there is no such VM (404).

    Or nothing: 503 where whoever was asked cannot be sure, 500 where a first read may have been kept.
    ``node`` is the door at which it asked: a node, or a relay.
    """

    vm: str
    node: str
    version: str
    asked: float
    answered: float
    status: int
    incarnation: int = 0
    body: str = ""


class Look(Struct, frozen=True, tag=True):
    """An operator asked whether a VM is there."""

    vm: str
    node: str
    asked: float
    answered: float
    found: bool


class Begun(Struct, frozen=True, tag=True):
    """A node handed an event to its engine: from here on a machine would feel it."""

    event_id: str
    node: str
    process: int
    at: float


class Trouble(Struct, frozen=True, tag=True):
    """Something was done to the world, from when to when; ``node`` is empty where it struck all of them."""

    kind: str
    node: str
    began: float
    ended: float

    @property
    def is_a_relays(self) -> bool:
        """Then it excuses nothing that a node does."""
        return self.kind.startswith("relay ")


class Gone(Struct, frozen=True, tag=True):
    """From when to when the path of the journal led to nothing, or to something else: nothing may be acknowledged."""

    what: str
    began: float
    ended: float


class Wrong(Struct, frozen=True, tag=True):
    """What whoever did something to the world found wrong with what came of it."""

    what: str


Note: TypeAlias = Write | Approval | Sight | Look | Begun | Trouble | Gone | Wrong


class History(Struct, frozen=True):
    """One round, whole."""

    journal: tuple[Record, ...]
    notes: tuple[Note, ...]
    wall_offset: float  # what is added to a monotonic reading to have the time since 1970
    ended: datetime  # when the journal was read, by the store's clock; every fault had long been healed
    staleness_seconds: float
    disable_seconds: float = 86_400.0  # without a read, after which a scope is disabled
    flaws: tuple[str, ...] = ()  # what the journal itself found wrong when it was told to verify

    def wall(self, reading: float) -> datetime:
        """A client's instant as the store would tell it."""
        return datetime.fromtimestamp(reading + self.wall_offset, UTC)


class Notebook:
    """One client's own record: appended to and never read until the round is over."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self.notes: list[Note] = []

    def add(self, note: Note) -> None:
        self._file.write(msgspec.json.encode(note) + b"\n")
        self.notes.append(note)

    def close(self) -> None:
        self._file.close()


def read_notes(paths: Iterable[Path]) -> list[Note]:
    """What notebooks hold. A last line that a killed process did not finish is no note."""
    decoder = msgspec.json.Decoder(Note)
    lines = (line for path in sorted(paths) for line in path.read_bytes().splitlines(keepends=True))
    return [decoder.decode(line) for line in lines if line.endswith(b"\n")]
