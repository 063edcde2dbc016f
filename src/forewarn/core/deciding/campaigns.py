"""Maintenance over a fleet: one update domain at a time, and within it a number of hosts at once.

Which hosts it may take is seen in ``looking.turns``.
"""

from __future__ import annotations

from forewarn.core import facts as f
from forewarn.core import keys
from forewarn.core.deciding.events import maintain_host
from forewarn.core.draft import Draft
from forewarn.core.looking.turns import whose_turn_it_is
from forewarn.core.region import Campaign, CampaignState, Host, replace

_NOT_DONE_MOST = 2  # ours: one machine that cannot be moved may be its own fault, two are a reason to look
_ENOUGH_FACTS = 2_000  # ours, as in settle: after which a transaction takes no further hosts


def proceed(draft: Draft, campaign_id: str) -> None:
    """The next move of a campaign, if there is one. The next domain's turn comes when this one's events are gone."""
    campaign = draft.region.campaigns[campaign_id]
    if campaign.state is not CampaignState.RUNNING:
        return
    if campaign.not_done >= _NOT_DONE_MOST:
        draft.record(f.CampaignPaused(draft.now, campaign_id))
        return
    if not campaign.waiting:
        if not campaign.open_events:
            _next_wave(draft, campaign)
    elif len(draft.facts) < _ENOUGH_FACTS:
        _take_hosts(draft, campaign)
    else:  # much has happened in this transaction already; the next tick goes on
        agenda = draft.region.agenda.add(campaign.started_at, keys.of_campaign(campaign_id))
        draft.region = replace(draft.region, agenda=agenda)


def _take_hosts(draft: Draft, campaign: Campaign) -> None:
    taken = whose_turn_it_is(draft.region, campaign)
    if not taken:
        return
    for number in taken:
        seed = f"{campaign.id}/{campaign.wave}"
        maintain_host(draft, campaign.cause, draft.region.hosts[number], seed, campaign.id)
    draft.record(f.CampaignHostsTaken(draft.now, campaign.id, taken))


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
