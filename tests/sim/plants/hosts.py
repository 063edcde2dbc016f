"""Work on hosts and in batches: campaigns, groups, turns, and VMs that leave in the middle of it."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.core import draft
from forewarn.core.deciding import campaigns, fleet, impacts, settle
from forewarn.core.keys import Key, of_event
from forewarn.core.looking import deadlines, turns
from forewarn.core.region import DOWN, CampaignState
from tests.sim.plants.plant import Plant


def campaigns_see_campaigns_only(patch: pytest.MonkeyPatch) -> None:
    honest = turns._in_the_way

    def in_the_way(region: Any, campaign: Any, host: Any, free: Any) -> Any:
        found = honest(region, campaign, host, free)
        return found if found is not None and found.campaign else None

    patch.setattr(turns, "_in_the_way", in_the_way)


def the_next_wave_does_not_wait(patch: pytest.MonkeyPatch) -> None:
    honest = campaigns.proceed

    def proceed(given: Any, campaign_id: str) -> None:
        campaign = given.region.campaigns[campaign_id]
        if campaign.state is CampaignState.RUNNING and not campaign.waiting:
            campaigns._next_wave(given, campaign)
        else:
            honest(given, campaign_id)

    patch.setattr(campaigns, "proceed", proceed)


def a_cancellation_frees_nobody(patch: pytest.MonkeyPatch) -> None:
    honest = draft._freed

    def freed(before: Any, after: Any, event_id: str) -> list[Key]:
        return honest(before, after, event_id) if event_id in after.events else [of_event(event_id)]

    patch.setattr(draft, "_freed", freed)


def one_that_is_down_speaks_for_all(patch: pytest.MonkeyPatch) -> None:
    def all_down(region: Any, event: Any) -> bool:
        scope = region.scopes.get(event.scope)
        wanted = scope is not None and scope.policy.all_instances_down
        return wanted and any(region.vms[key].power in DOWN for key in event.vms)

    patch.setattr(settle, "_all_down", all_down)


def nobody_waits_for_its_turn(patch: pytest.MonkeyPatch) -> None:
    for module in (settle, deadlines):
        patch.setattr(module, "is_in_hand", lambda region, event: False)


def the_end_of_an_impact_calls_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(draft, "_whose_turn_may_come", lambda region, event_id: [])


def a_vm_that_has_moved_is_still_hit(patch: pytest.MonkeyPatch) -> None:
    for module in (impacts, fleet):
        patch.setattr(module, "leave_host", lambda draft, key: None)


HOSTS = (
    Plant(
        "a campaign does not look at work that was ordered for single hosts",
        "core.looking.turns._in_the_way",
        campaigns_see_campaigns_only,
        seam=True,
    ),
    Plant(
        "a campaign begins an update domain while another is worked on",
        "core.deciding.campaigns.proceed",
        the_next_wave_does_not_wait,
    ),
    Plant(
        "when the last that was awaited is canceled, the approved others of its batch wait on",
        "core.draft._freed",
        a_cancellation_frees_nobody,
        seam=True,
    ),
    Plant(
        "an event of several VMs is approved when one of them is down",
        "core.deciding.settle._all_down",
        one_that_is_down_speaks_for_all,
        seam=True,
    ),
    Plant(
        "an event starts while another has its VM in hand", "core.looking.turns.is_in_hand", nobody_waits_for_its_turn
    ),
    Plant(
        "what waits for its turn is not looked at when that comes",
        "core.draft._whose_turn_may_come",
        the_end_of_an_impact_calls_nobody,
        seam=True,
    ),
    Plant(
        "a VM that has moved is still hit by the work on the host that it has left",
        "core.deciding.events.leave_host",
        a_vm_that_has_moved_is_still_hit,
        vms=12,
        pace=40.0,  # the more often VMs move, the more often one does while its host is about to be worked on
        seam=True,
    ),
)
