"""Maintenance over a fleet: one update domain at a time, and within it a number of hosts at once."""

from __future__ import annotations

from forewarn.core import facts as f
from forewarn.core.draft import Draft
from forewarn.core.region import Campaign, CampaignState, Host
from forewarn.core.work import maintain_host


def proceed(draft: Draft, campaign_id: str) -> None:
    """The next move of a campaign, if there is one. The next domain's turn comes when this one's events are gone."""
    campaign = draft.region.campaigns[campaign_id]
    if campaign.state is not CampaignState.RUNNING:
        return
    if campaign.waiting:
        _take_hosts(draft, campaign)
    elif not campaign.open_events:
        _next_wave(draft, campaign)


def _take_hosts(draft: Draft, campaign: Campaign) -> None:
    taken = _whose_turn_it_is(draft, campaign)
    if not taken:
        return
    for number in taken:
        seed = f"{campaign.id}/{campaign.wave}"
        maintain_host(draft, campaign.cause, draft.region.hosts[number], seed, campaign.id)
    draft.record(f.CampaignHostsTaken(draft.now, campaign.id, taken))


def _whose_turn_it_is(draft: Draft, campaign: Campaign) -> tuple[int, ...]:
    """As many waiting hosts as may be worked on. One that has become empty takes nobody's place."""
    if not campaign.hosts_at_once:
        return campaign.waiting
    room = campaign.hosts_at_once - len(set(campaign.open_events.values()))
    for place, number in enumerate(campaign.waiting):
        room -= bool(draft.region.hosts[number].vms)
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
