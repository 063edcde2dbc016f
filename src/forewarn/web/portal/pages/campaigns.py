"""Campaigns: the list, and one with its waves, its open events and what it waits for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from forewarn.web.operator.desk import Listed
from forewarn.web.operator.routes import campaigns
from forewarn.web.operator.schema.fleet_answers import CampaignAnswer, CampaignsAnswer, CampaignStory, EventAnswer
from forewarn.web.operator.schema.requests import Page
from forewarn.web.operator.telling.views import event_fields
from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.deeds.campaigns import START
from forewarn.web.portal.deeds.deed import PortalDeed
from forewarn.web.portal.forms import Given, checked
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit

_ROWS = 50  # a screen and a half of a desk, as all lists of the portal
_EVENTS_SHOWN = 20  # less than a screen; the list of events has all of them


@dataclass(frozen=True)
class CampaignView:
    campaign: CampaignStory
    events: list[EventAnswer]  # that have not ended, the first of them
    held_back: EventAnswer | None  # the slowest of them, with those that it waits for


async def part_of(visit: Visit, after: str, limit: int) -> CampaignsAnswer:
    """Those from there on, oldest first."""
    page = checked(Page, {"after": after, "limit": limit})
    return await asyncio.to_thread(campaigns.list_campaigns, page, await visit.listed())


async def view_list(visit: Visit) -> list[CampaignAnswer]:
    """Newest first, also those that have ended."""
    listed = await visit.listed()
    every = listed.look.region.campaigns.values()
    newest = sorted(every, key=lambda each: (each.started_at, each.id), reverse=True)
    return await asyncio.to_thread(campaigns.told, listed, newest[:_ROWS])


async def view_campaign(visit: Visit) -> CampaignView:
    return await asyncio.to_thread(_view, visit.path["id"], await visit.listed())


def _view(campaign_id: str, listed: Listed) -> CampaignView:
    look, campaign = listed.look, campaigns.show(campaign_id, listed)
    events = [event_fields(look, look.region.events[each]) for each in campaign.open_events[:_EVENTS_SHOWN]]
    slowest = campaign.slowest
    held_back = None if slowest is None else event_fields(look, look.region.events[slowest.event])
    return CampaignView(campaign, events, held_back)


@dataclass(frozen=True)
class NewCampaign:
    """The form for a campaign: it leads to the confirmation of its deed."""

    deed: PortalDeed
    given: Given


async def view_new(visit: Visit) -> NewCampaign:
    return NewCampaign(DEEDS[START], visit.query)


PAGES = (
    PortalPage(
        "campaigns",
        "/campaigns",
        "Campaigns",
        view_list,
        "pages/campaigns.html",
        parts={"part-campaigns": "parts/campaigns.html"},
        api=("GET /v1/campaigns",),
        reading=lambda visit: Elsewhere((("campaign", "list"),)),
        menu="Campaigns",
    ),
    PortalPage(
        "new-campaign",
        "/campaigns/new",
        "New campaign",
        view_new,
        "pages/new_campaign.html",
        api=("POST /v1/campaigns",),
        under="campaigns",
    ),
    PortalPage(
        "campaign",
        "/campaigns/{id}",
        "Campaign",
        view_campaign,
        "pages/campaign.html",
        parts={"part-campaign": "parts/campaign.html"},
        api=("GET /v1/campaigns/{campaign_id}",),
        reading=lambda visit: Elsewhere((("campaign", "show", visit.path["id"]),)),
        under="campaigns",
    ),
)
