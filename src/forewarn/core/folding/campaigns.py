"""How facts about campaigns change a region."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from forewarn.core import facts as f
from forewarn.core import keys
from forewarn.core.region import Campaign, CampaignState, Region, replace

_Moved: TypeAlias = (
    f.CampaignWaveBegan
    | f.CampaignHostsTaken
    | f.CampaignPaused
    | f.CampaignResumed
    | f.CampaignCanceled
    | f.CampaignCompleted
)
CampaignFact: TypeAlias = f.CampaignStarted | _Moved


def fold_campaign(region: Region, fact: CampaignFact) -> Region:
    """The region after a fact about one campaign."""
    if isinstance(fact, f.CampaignStarted):
        number = len(region.campaigns)
        started = Campaign(fact.campaign_id, fact.cause, fact.at, fact.hosts, fact.hosts_at_once, number=number)
        return _put_campaign(region, started)
    return _put_campaign(region, _campaign_after(region.campaigns[fact.campaign_id], fact))


def _put_campaign(region: Region, campaign: Campaign) -> Region:
    """Set a campaign. Hosts may be waiting only because they are many, so the next tick has a look at them."""
    waiting = region.campaigns_waiting
    if campaign.waiting and campaign.state is CampaignState.RUNNING:
        region = replace(region, agenda=region.agenda.add(campaign.started_at, keys.of_campaign(campaign.id)))
        waiting = waiting.set(campaign.id, None)
    elif campaign.id in waiting:
        waiting = waiting.delete(campaign.id)
    return replace(region, campaigns=region.campaigns.set(campaign.id, campaign), campaigns_waiting=waiting)


def _campaign_after(campaign: Campaign, fact: _Moved) -> Campaign:
    match fact:
        case f.CampaignWaveBegan(wave=wave, hosts=hosts):
            return replace(campaign, wave=wave, waiting=hosts)
        case f.CampaignHostsTaken(hosts=hosts):
            return replace(campaign, waiting=campaign.waiting[len(hosts) :])
        case f.CampaignPaused():
            return replace(campaign, state=CampaignState.PAUSED)
        case f.CampaignResumed():
            return replace(campaign, state=CampaignState.RUNNING, not_done=0)
        case f.CampaignCanceled():
            return replace(campaign, state=CampaignState.CANCELED, waiting=(), ended_at=fact.at)
        case f.CampaignCompleted():
            return replace(campaign, state=CampaignState.COMPLETED, ended_at=fact.at)
        case _:
            assert_never(fact)
