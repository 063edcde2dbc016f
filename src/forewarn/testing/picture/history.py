"""What a summary and a timeline need to know of all events and faults, gathered from facts as they come."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from forewarn.core import facts as f
from forewarn.core.causes import CAUSES
from forewarn.core.region import Event


@dataclass(slots=True)
class Life:
    """One event."""

    id: str
    type: str
    cause: str
    scope: str
    vms: tuple[str, ...]
    announced: bool
    scheduled_at: datetime
    not_before: datetime
    born_started: bool = False
    approved_at: datetime | None = None
    approved_by: str = ""
    started_at: datetime | None = None
    impact_ended_at: datetime | None = None
    ended_at: datetime | None = None
    how: str = ""  # completed, canceled; empty while it is open
    host: int | None = None  # whose work it is

    @property
    def early(self) -> bool:
        return self.started_at is not None and self.started_at < self.not_before


@dataclass(slots=True)
class Mishap:
    """One fault, for as long as it lasted."""

    kind: str
    what: str
    begin: datetime
    end: datetime
    places: tuple[str, ...] = ()


@dataclass(slots=True)
class CampaignSpan:
    """One campaign, from its start to its end."""

    id: str
    cause: str
    begin: datetime
    end: datetime | None = None


@dataclass(slots=True)
class Home:
    """Where a VM lives, and when it does."""

    name: str
    scope: str
    host: int | None
    born_at: datetime
    gone_at: datetime | None = None
    tenant: str = ""


@dataclass(slots=True)
class History:
    """Everything, in the order in which it began."""

    begin: datetime
    lives: dict[str, Life] = field(default_factory=dict)
    mishaps: list[Mishap] = field(default_factory=list)
    homes: dict[str, Home] = field(default_factory=dict)
    campaigns: dict[str, CampaignSpan] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def follow(self, fact: f.Fact) -> None:
        self.counts[type(fact).__name__] += 1
        match fact:
            case f.EventScheduled(event=event):
                self.lives[event.id] = _life(event)
            case f.EventBornStarted(event=event):
                self.lives[event.id] = life = _life(event)
                life.born_started, life.started_at = True, fact.at
            case f.EventAnnounced(event_id=key):
                self.lives[key].approved_at, self.lives[key].approved_by = None, ""
            case f.EventApproved(event_id=key, by=by):
                self.lives[key].approved_at, self.lives[key].approved_by = fact.at, by
            case f.EventStarted(event_id=key):
                self.lives[key].started_at = fact.at
            case f.ImpactEnded(event_id=key):
                self.lives[key].impact_ended_at = fact.at
            case f.EventCompleted(event_id=key):
                self.lives[key].ended_at, self.lives[key].how = fact.at, "completed"
            case f.EventCanceled(event_id=key):
                self.lives[key].ended_at, self.lives[key].how = fact.at, "canceled"
            case f.CampaignStarted(campaign_id=key, cause=cause):
                self.campaigns[key] = CampaignSpan(key, cause.value, fact.at)
            case f.CampaignCompleted(campaign_id=key) | f.CampaignCanceled(campaign_id=key):
                self.campaigns[key].end = fact.at
            case f.VmMoved(vm=key, host=host) | f.VmStarted(vm=key, host=host):
                self.homes[key].host = host
            case f.VmDeleted(vm=key):
                self.homes[key].gone_at = fact.at


def _life(event: Event) -> Life:
    return Life(
        event.id,
        CAUSES[event.cause].type.value,
        event.cause.value,
        event.scope,
        event.vms,
        event.announced,
        event.scheduled_at,
        event.not_before,
        host=event.host,
    )
