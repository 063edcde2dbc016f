"""Campaigns: maintenance over a fleet, one update domain at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

from fastapi import Query

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.facts import CampaignCompleted, Fact
from forewarn.core.looking.lookup import campaign_named
from forewarn.core.region import Campaign, Region
from forewarn.plane.forecasting import LONGEST, Course
from forewarn.web.operator.desk import Asker, Listed, TheAsker, TheListed
from forewarn.web.operator.listing.paging import instant_key, page_of
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.fleet_answers import (
    CampaignAnswer,
    CampaignChanged,
    CampaignsAnswer,
    CampaignStory,
)
from forewarn.web.operator.schema.requests import CampaignBody, Page
from forewarn.web.operator.telling.campaign_views import campaign_fields, campaign_story
from forewarn.web.operator.telling.campaign_work import work_in, work_seen

router = routes_below("/v1/campaigns", "campaigns")

_FACTS_LOOKED_AT = 2_000  # of what is to come, for the end of a new campaign: some 40 ms


@router.post("", status_code=201, summary="Start a campaign")
async def start(body: CampaignBody, asker: TheAsker) -> CampaignChanged:
    """Over the chosen hosts, or over all. The next update domain's turn comes when the last one's events are gone."""
    campaign_id = asker.new_guid()
    hosts, scopes = tuple(body.hosts), tuple(body.scopes)
    await asker.submit(c.StartCampaign(campaign_id, Cause(body.kind), hosts, scopes, body.hosts_at_once or 0))
    look = asker.look()  # one for all that is told: a short campaign may be over at the next
    changed = await asker.tell(_changed, look.region, campaign_id)
    course = asker.plane.forecasts.course(look.region, look.now, _FACTS_LOOKED_AT)
    ends_at = await asyncio.to_thread(_end_of, course, campaign_id, look.now)
    return changed.model_copy(update={"ends_at": ends_at})


def _end_of(course: Course, campaign_id: str, now: datetime) -> datetime | None:
    found = course.until(now + LONGEST, lambda seen: _ends(seen.fact, campaign_id))
    return found.facts[0].fact.at if found.facts else None


def _ends(fact: Fact, campaign_id: str) -> bool:
    return isinstance(fact, CampaignCompleted) and fact.campaign_id == campaign_id


@router.get("", summary="List campaigns")
def list_campaigns(page: Annotated[Page, Query()], listed: TheListed) -> CampaignsAnswer:
    """In pages, oldest first, also those that have ended."""
    campaigns, following = page_of(listed.look.region.campaigns.values(), _in_order, page)
    return CampaignsAnswer(campaigns=told(listed, campaigns), next=following)


def told(listed: Listed, campaigns: Iterable[Campaign]) -> list[CampaignAnswer]:
    """In the order in which they are given."""
    return [campaign_fields(listed.look.region, each, work_in(listed, each)) for each in campaigns]


def _in_order(campaign: Campaign) -> str:
    return instant_key(campaign.started_at, campaign.id)


@router.get("/{campaign_id}", summary="Show a campaign")
def show(campaign_id: str, listed: TheListed) -> CampaignStory:
    """How far it has come wave by wave, whom it waits for, and what comes next."""
    campaign = campaign_named(listed.look.region, campaign_id)
    return campaign_story(listed.look.region, campaign, work_in(listed, campaign))


@router.post("/{campaign_id}/pause", summary="Pause a campaign")
async def pause(campaign_id: str, asker: TheAsker) -> CampaignChanged:
    """Nothing new is scheduled; what is scheduled takes its course."""
    await asker.submit(c.PauseCampaign(campaign_id.upper()))
    return await _as_it_is(asker, campaign_id)


@router.post("/{campaign_id}/resume", summary="Resume a campaign")
async def resume(campaign_id: str, asker: TheAsker) -> CampaignChanged:
    """Go on where it was paused."""
    await asker.submit(c.ResumeCampaign(campaign_id.upper()))
    return await _as_it_is(asker, campaign_id)


@router.post("/{campaign_id}/cancel", summary="Cancel a campaign")
async def cancel(campaign_id: str, asker: TheAsker) -> CampaignChanged:
    """What was scheduled disappears; what has started is finished."""
    await asker.submit(c.CancelCampaign(campaign_id.upper()))
    return await _as_it_is(asker, campaign_id)


async def _as_it_is(asker: Asker, campaign_id: str) -> CampaignChanged:
    return await asker.tell(_changed, asker.look().region, campaign_id)


def _changed(region: Region, campaign_id: str) -> CampaignChanged:
    campaign = campaign_named(region, campaign_id)
    return CampaignChanged(**dict(campaign_story(region, campaign, work_seen(region, campaign))))
