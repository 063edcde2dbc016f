"""Maintenance over a fleet: one update domain at a time, and within it a number of hosts at once."""

from __future__ import annotations

from forewarn.core import facts as f
from forewarn.core.draft import Draft
from forewarn.core.region import Campaign, CampaignState, Host, Region
from forewarn.core.work import maintain_host

VMS_AT_ONCE = 1_000  # in one transaction; a wave over a large fleet is scheduled in many


def proceed(draft: Draft, campaign_id: str) -> None:
    """The next move of a campaign, if there is one. The next domain's turn comes when this one's events are gone."""
    campaign = draft.region.campaigns[campaign_id]
    if campaign.state is not CampaignState.RUNNING:
        return
    if campaign.waiting:
        _take_hosts(draft, campaign)
    elif not campaign.open_events:
        _next_wave(draft, campaign)


def may_take(region: Region, campaign: Campaign) -> bool:
    """Whether there is work whose turn has come. Hosts that have become empty can wait until something else ends."""
    if campaign.state is not CampaignState.RUNNING or not campaign.waiting:
        return False
    return not campaign.open_events or any(region.hosts[each].vms for each in _whose_turn_it_is(region, campaign))


def _take_hosts(draft: Draft, campaign: Campaign) -> None:
    taken = _few(draft.region, _whose_turn_it_is(draft.region, campaign))
    if not taken:
        return
    for number in taken:
        seed = f"{campaign.id}/{campaign.wave}"
        maintain_host(draft, campaign.cause, draft.region.hosts[number], seed, campaign.id)
    draft.record(f.CampaignHostsTaken(draft.now, campaign.id, taken))


def _few(region: Region, hosts: tuple[int, ...]) -> tuple[int, ...]:
    """The first of them: as many as hold the VMs that one transaction may schedule events for, and one at least."""
    vms = 0
    for place, number in enumerate(hosts):
        vms += len(region.hosts[number].vms)
        if place and vms > VMS_AT_ONCE:
            return hosts[:place]
    return hosts


def _whose_turn_it_is(region: Region, campaign: Campaign) -> tuple[int, ...]:
    """As many waiting hosts as may be worked on. One that has become empty takes nobody's place."""
    if not campaign.hosts_at_once:
        return campaign.waiting
    room = campaign.hosts_at_once - len(set(campaign.open_events.values()))
    for place, number in enumerate(campaign.waiting):
        room -= bool(region.hosts[number].vms)
        if room < 0:
            return campaign.waiting[:place]
    return campaign.waiting


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
