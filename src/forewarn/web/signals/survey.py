"""The open work of a region, counted by looking at it: events, scopes that nobody reads for, campaigns, errands."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from forewarn.core.causes import CAUSES
from forewarn.core.machines.values import ErrandKind
from forewarn.core.phases import PENDING, Phase
from forewarn.core.region import Campaign, CampaignState, Event, HostHealth, Region, Scope, fold
from forewarn.plane.plane import Plane
from forewarn.terms import EventType

OVERDUE_AFTER = timedelta(minutes=1)  # ours: a leader ticks within a second, a new one leads within ten
STILL_AFTER = timedelta(minutes=30)  # ours: twice the longest notice of planned maintenance but for predicted failures
_SHARE = 100  # a look costs at most a hundredth of the time: however large the region, the next waits so much longer


class Survey(Struct, frozen=True):
    """Counts of one region at one instant."""

    events: Mapping[tuple[EventType, Phase], int]  # those that documents show
    overdue: int  # of these: their NotBefore has passed, and they have not started
    enabled: int  # scopes whose VMs read
    unread: int  # of these: no read is known for long
    campaigns: Mapping[CampaignState, int]
    still: int  # running campaigns that nothing moves on
    hosts: Mapping[HostHealth, int]  # real ones
    errands: Mapping[ErrandKind, int]  # open


def survey(region: Region, reads: Mapping[str, datetime], now: datetime, unread_after: timedelta) -> Survey:
    """Count. For a million VMs that is most of a second: call it in a thread."""
    shown = [event for event in region.events.values() if event.announced]
    real = (region.hosts[number] for number in region.real_hosts.values())
    enabled = sum(scope.enabled_at is not None for scope in region.scopes.values())
    return Survey(
        events=Counter((CAUSES[event.cause].type, event.phase) for event in shown),
        overdue=sum(event.phase in PENDING and event.not_before + OVERDUE_AFTER < now for event in shown),
        enabled=enabled,
        unread=len(unread_scopes(region, reads, now - unread_after)),
        campaigns=Counter(campaign.state for campaign in region.campaigns.values()),
        still=sum(is_still(region, campaign, now) for campaign in region.campaigns.values()),
        hosts=Counter(host.health for host in real),
        errands=Counter(each.errand.kind for each in region.errands.values()),
    )


def unread_scopes(region: Region, reads: Mapping[str, datetime], limit: datetime) -> list[Scope]:
    """Scopes that are enabled, and for which neither we nor the journal know a read since ``limit``."""
    read = {region.vms[fold(name)].scope for name, at in reads.items() if at > limit and fold(name) in region.vms}
    enabled = (scope for scope in region.scopes.values() if scope.enabled_at is not None)
    late = (scope for scope in enabled if scope.last_read_at is None or scope.last_read_at <= limit)
    return [scope for scope in late if scope.key not in read]


def is_still(region: Region, campaign: Campaign, now: datetime) -> bool:
    """Whether a running campaign waits for nothing that time alone will bring, and has not moved for long."""
    if campaign.state is not CampaignState.RUNNING:
        return False
    events = [region.events[key] for key in campaign.open_events if key in region.events]
    moments = [campaign.started_at, *(moment for event in events for moment in _moments(event))]
    return max(moments) + STILL_AFTER < now


def _moments(event: Event) -> list[datetime]:
    """The instants at which an event moved, or will move by itself."""
    until = event.not_before if event.phase in PENDING else None
    known = (event.scheduled_at, until, event.started_at, event.impact_ends_at, event.completes_at)
    return [moment for moment in known if moment is not None]


class Surveyor:
    """The newest survey of a plane's region, made in a thread and kept for as long as it is cheap enough to repeat."""

    def __init__(self, plane: Plane, unread_after: timedelta) -> None:
        self._plane = plane
        self._unread_after = unread_after
        self._elapsed = plane.system.elapsed
        self._kept: Survey | None = None
        self._good_until = 0.0
        self._lock = asyncio.Lock()

    async def look(self) -> Survey:
        async with self._lock:
            began = self._elapsed()
            if self._kept is None or began >= self._good_until:
                plane = self._plane
                reads = dict(plane.reads.last)  # a copy at one instant: the loop writes on
                values = plane.region, reads, plane.now(), self._unread_after
                self._kept = await asyncio.to_thread(survey, *values)
                self._good_until = self._elapsed() + _SHARE * (self._elapsed() - began)
            return self._kept
