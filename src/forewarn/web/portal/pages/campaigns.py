"""Campaigns: the list, and one with its waves, its open events and what it waits for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from forewarn.core.looking.lookup import campaign_named
from forewarn.web.operator.routes import campaigns
from forewarn.web.operator.schema.fleet_answers import CampaignAnswer, CampaignsAnswer, EventAnswer
from forewarn.web.operator.schema.requests import Page
from forewarn.web.operator.telling.campaign_views import campaign_fields
from forewarn.web.operator.telling.views import event_fields
from forewarn.web.portal.forms import checked
from forewarn.web.portal.page import PortalPage, Reading, Visit

_ROWS = 50
_EVENTS_SHOWN = 20


@dataclass(frozen=True)
class Wave:
    """One wave, and what has become of it."""

    number: int
    state: str  # done, now, to come


@dataclass(frozen=True)
class CampaignView:
    campaign: CampaignAnswer
    waves: tuple[Wave, ...]
    events: list[EventAnswer]  # that have not ended, the first of them


async def part_of(visit: Visit, after: str, limit: int) -> CampaignsAnswer:
    """Those from there on, oldest first."""
    page = checked(Page, {"after": after, "limit": limit})
    return await asyncio.to_thread(campaigns.list_campaigns, page, visit.look)


def view_list(visit: Visit) -> list[CampaignAnswer]:
    """Newest first, also those that have ended."""
    region = visit.look.region
    newest = sorted(region.campaigns.values(), key=lambda each: (each.started_at, each.id), reverse=True)
    return [campaign_fields(region, each) for each in newest[:_ROWS]]


def view_campaign(visit: Visit) -> CampaignView:
    look = visit.look
    campaign = campaign_fields(look.region, campaign_named(look.region, visit.path["id"]))
    events = [event_fields(look, look.region.events[each]) for each in campaign.open_events[:_EVENTS_SHOWN]]
    return CampaignView(campaign, tuple(_waves(campaign)), events)


def _waves(campaign: CampaignAnswer) -> list[Wave]:
    return [Wave(number, _state(campaign, number)) for number in range(1, campaign.waves_total + 1)]


def _state(campaign: CampaignAnswer, number: int) -> str:
    if campaign.state == "completed" or number < campaign.wave_number:
        return "done"
    return "now" if number == campaign.wave_number and campaign.state != "canceled" else "to come"


PAGES = (
    PortalPage(
        "campaigns",
        "/campaigns",
        "Campaigns",
        view_list,
        "pages/campaigns.html",
        parts={"part-campaigns": "parts/campaigns.html"},
        api=("GET /v1/campaigns",),
        reading=lambda visit: Reading((("campaign", "list"),)),
        menu="Campaigns",
    ),
    PortalPage(
        "campaign",
        "/campaigns/{id}",
        "Campaign",
        view_campaign,
        "pages/campaign.html",
        parts={"part-campaign": "parts/campaign.html"},
        api=("GET /v1/campaigns/{campaign_id}",),
        reading=lambda visit: Reading((("campaign", "show", visit.path["id"]),)),
        under="campaigns",
    ),
)
