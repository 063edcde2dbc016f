"""Whose turn it is: which events wait for another, which hosts a campaign may take now, and what holds it up.

Several campaigns, and work that was ordered for single hosts, share scopes: whatever ordered it, a campaign opens no
update domain of a scope while another one is open, and works on no VM that other work of a host is ahead of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from forewarn.core.phases import Phase
from forewarn.core.region import Campaign, CampaignState, Event, Host, Region
from forewarn.core.specs import ScopeKind

_LAST = datetime.max.replace(tzinfo=UTC)
VMS_AT_ONCE = 1_000  # ours: in one transaction; a wave over a large fleet is scheduled in many


def is_under_way(event: Event) -> bool:
    """Whether it has its VMs in hand: from its start until its impact has ended."""
    return event.phase is Phase.STARTED and event.impact_ended_at is None


def is_in_hand(region: Region, event: Event) -> bool:
    """Whether another event has one of its VMs in hand. Impacts on a VM do not overlap: this one has to wait."""
    others = (region.events[other] for key in event.vms for other in region.vms[key].events if other != event.id)
    return any(is_under_way(other) for other in others)


def may_take(region: Region, campaign: Campaign) -> bool:
    """Whether there is work whose turn has come. Hosts that have become empty can wait until something else ends."""
    if campaign.state is not CampaignState.RUNNING or not campaign.waiting:
        return False
    turn = whose_turn_it_is(region, campaign)
    return bool(turn) and (not campaign.open_events or any(region.hosts[each].vms for each in turn))


def in_turn(region: Region, campaigns: Iterable[str]) -> list[str]:
    """Ids of campaigns in the order in which they were started."""
    return sorted(campaigns, key=lambda each: region.campaigns[each].number)


def place_of(region: Region, event_id: str) -> tuple[object, ...]:
    """Where an event stands among those of one instant: the order of these has nothing to do with their ids.

    So what a dry run foretells with ids of its own comes in the order in which it then happens. Only where two are
    alike in all of this, on the same VM and for the same cause, the id decides.
    """
    event = region.events.get(event_id)
    if event is None:
        return (_LAST, event_id)  # it has ended, and nothing comes of it
    first = event.vms[0] if event.vms else ""
    return (event.scheduled_at, event.scope, event.update_domain, first, event.cause, event_id)


def events_in_turn(region: Region, event_ids: Iterable[str]) -> list[str]:
    ids = list(event_ids)
    return ids if len(ids) < 2 else sorted(ids, key=lambda each: place_of(region, each))


class HeldUp(NamedTuple):
    """A host that is not taken, and the work that has to end before."""

    host: Host
    event: Event


def held_up(region: Region, campaign: Campaign) -> HeldUp | None:
    """What a campaign waits for that is not its own: work on the next host, or in another domain of a scope there."""
    if campaign.state is not CampaignState.RUNNING or _room(campaign) == 0:
        return None
    host = next((region.hosts[each] for each in campaign.waiting if region.hosts[each].vms), None)
    event = None if host is None else _in_the_way(region, campaign, host, set())
    return None if host is None or event is None else HeldUp(host, event)


def domains_open(region: Region, scope: str) -> list[int]:
    """The update domains of a scope in which the work of hosts is open."""
    return sorted(set(region.host_work.get(scope, {}).values()))


def whose_turn_it_is(region: Region, campaign: Campaign) -> tuple[int, ...]:
    """The first of the waiting hosts: as many as may be worked on at once, and as one transaction may schedule for.

    They are taken in order, so one that is held up holds up those after it. One that has become empty is passed
    over.
    """
    room, vms = _room(campaign), 0
    free: set[str] = set()  # scopes that were looked at; a wave is of one update domain
    for place, number in enumerate(campaign.waiting):
        host = region.hosts[number]
        if not host.vms:
            continue
        room -= 1
        vms += len(host.vms)
        if room < 0 or (place and vms > VMS_AT_ONCE) or _in_the_way(region, campaign, host, free) is not None:
            return campaign.waiting[:place]
    return campaign.waiting


def _room(campaign: Campaign) -> int:
    """How many more hosts may be worked on."""
    if not campaign.hosts_at_once:
        return len(campaign.waiting)
    return campaign.hosts_at_once - len(set(campaign.open_events.values()))


def _in_the_way(region: Region, campaign: Campaign, host: Host, free: set[str]) -> Event | None:
    """Other work that is open on a VM of the host, or in another update domain of a scope that has a VM there."""
    for key in sorted(host.vms):
        vm = region.vms[key]
        for event in map(region.events.__getitem__, vm.events):
            if event.host is not None and event.campaign != campaign.id:
                return event
        if vm.spec.kind is ScopeKind.VM or vm.scope in free:
            continue
        free.add(vm.scope)
        work: Mapping[str, int] = region.host_work.get(vm.scope, {})
        others = [event_id for event_id, domain in work.items() if domain != host.update_domain]
        if others:
            return region.events[min(others, key=lambda each: place_of(region, each))]
    return None
