"""Maintenance over a fleet: one update domain at a time, and within it a number of hosts at once.

Several campaigns, and work that was ordered for single hosts, share scopes: whoever ordered it, a campaign opens no
update domain of a scope while another one is open, and works on no VM that other work of a host is ahead of.
"""

from __future__ import annotations

from typing import NamedTuple

from forewarn.core import facts as f
from forewarn.core import keys
from forewarn.core.deciding.events import maintain_host
from forewarn.core.draft import Draft
from forewarn.core.region import Campaign, CampaignState, Event, Host, Region, ScopeKind, replace

VMS_AT_ONCE = 1_000  # in one transaction; a wave over a large fleet is scheduled in many
_ENOUGH_FACTS = 2_000  # after which a transaction takes no further hosts


def proceed(draft: Draft, campaign_id: str) -> None:
    """The next move of a campaign, if there is one. The next domain's turn comes when this one's events are gone."""
    campaign = draft.region.campaigns[campaign_id]
    if campaign.state is not CampaignState.RUNNING:
        return
    if not campaign.waiting:
        if not campaign.open_events:
            _next_wave(draft, campaign)
    elif len(draft.facts) < _ENOUGH_FACTS:
        _take_hosts(draft, campaign)
    else:  # much has happened in this transaction already; the next tick goes on
        agenda = draft.region.agenda.add(campaign.started_at, keys.of_campaign(campaign_id))
        draft.region = replace(draft.region, agenda=agenda)


def may_take(region: Region, campaign: Campaign) -> bool:
    """Whether there is work whose turn has come. Hosts that have become empty can wait until something else ends."""
    if campaign.state is not CampaignState.RUNNING or not campaign.waiting:
        return False
    turn = _whose_turn_it_is(region, campaign)
    return bool(turn) and (not campaign.open_events or any(region.hosts[each].vms for each in turn))


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


def _take_hosts(draft: Draft, campaign: Campaign) -> None:
    taken = _whose_turn_it_is(draft.region, campaign)
    if not taken:
        return
    for number in taken:
        seed = f"{campaign.id}/{campaign.wave}"
        maintain_host(draft, campaign.cause, draft.region.hosts[number], seed, campaign.id)
    draft.record(f.CampaignHostsTaken(draft.now, campaign.id, taken))


def _whose_turn_it_is(region: Region, campaign: Campaign) -> tuple[int, ...]:
    """The first of the waiting hosts: as many as may be worked on at once, and as one transaction may schedule for.

    They are taken in order, so one that is held up holds up those after it. One that has become empty takes nobody's
    place.
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
        for event_id, domain in sorted(region.host_work.get(vm.scope, {}).items()):
            if domain != host.update_domain:
                return region.events[event_id]
    return None


def _next_wave(draft: Draft, campaign: Campaign) -> None:
    hosts = [host for host in _hosts(draft, campaign) if host.vms and host.update_domain > campaign.wave]
    if not hosts:
        draft.record(f.CampaignCompleted(draft.now, campaign.id))
        return
    wave = min(host.update_domain for host in hosts)
    turn = tuple(sorted(host.number for host in hosts if host.update_domain == wave))
    draft.record(f.CampaignWaveBegan(draft.now, campaign.id, wave, turn))


def _hosts(draft: Draft, campaign: Campaign) -> list[Host]:
    hosts = draft.region.hosts
    return [hosts[number] for number in campaign.hosts] if campaign.hosts else list(hosts.values())
