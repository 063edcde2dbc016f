"""What the oracle remembers of machines, scopes and work: plain and mutable, and only what its rules ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass(slots=True)
class OracleVm:
    """A VM."""

    name: str
    kind: str
    scope: str
    label: str  # its name in documents
    number: int
    update_domain: int
    host: int | None
    scale_set: str
    terminate_notice: timedelta | None
    image_notice: timedelta | None
    down: bool = False

    @property
    def key(self) -> str:
        return self.name.lower()


@dataclass(slots=True)
class Audience:
    """A scope: who sees the same document."""

    kind: str
    reading: bool = False
    lapses_at: datetime | None = None
    auto_reboot: bool = False
    auto_redeploy: bool = False
    all_down: bool = True
    number: int = 0  # of its document, as last noted
    noted: str | None = None  # what that document said


@dataclass(slots=True)
class OracleEvent:
    """An event, shown or not."""

    id: str
    cause: str
    scope: str
    victims: list[str]
    labels: list[str]  # of those it will hit, or was going to hit when it started
    born_at: datetime
    shown_at: datetime  # when its scope could see it first, where it can
    not_before: datetime
    recovery: timedelta
    duration: int
    host: int | None
    campaign: str
    update_domain: int
    batch: str  # work that starts together has the same
    shown: bool
    shown_late: bool = False
    approved: bool = False
    started_at: datetime | None = None
    began_at: datetime | None = None
    impact_ends_at: datetime | None = None
    impact_over_at: datetime | None = None

    @property
    def pending(self) -> bool:
        return self.started_at is None

    @property
    def under_way(self) -> bool:
        """Whether its machines are in the middle of it."""
        return self.began_at is not None and self.impact_over_at is None

    @property
    def over_at(self) -> datetime | None:
        return None if self.impact_over_at is None else self.impact_over_at + self.recovery


@dataclass(slots=True)
class Turn:
    """A campaign."""

    at_once: int
    running: bool = True


@dataclass(slots=True)
class Memory:
    """A region, as far as guests are concerned."""

    machines: dict[str, OracleVm] = field(default_factory=dict)
    audiences: dict[str, Audience] = field(default_factory=dict)
    works: dict[str, OracleEvent] = field(default_factory=dict)  # not ended, oldest first
    turns: dict[str, Turn] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # ids of events, for ever

    def audience(self, key: str) -> Audience:
        return self.audiences.setdefault(key, Audience(key.partition("/")[0]))

    def of(self, machine: str) -> list[OracleEvent]:
        return [work for work in self.works.values() if machine in work.victims]

    def batch(self, work: OracleEvent) -> list[OracleEvent]:
        """What starts together with it, itself included."""
        return [each for each in self.works.values() if each.batch == work.batch]

    def leave(self, machine: str, work: OracleEvent) -> None:
        """It will not be hit; a document names only those who will, until it has started."""
        if machine in work.victims:
            place = work.victims.index(machine)
            del work.victims[place]
            if work.pending:
                del work.labels[place]
