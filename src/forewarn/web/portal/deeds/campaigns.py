"""Maintenance over a fleet: started, held, gone on with, taken back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from forewarn.web.operator.desk import Asker, Desk
from forewarn.web.operator.routes import campaigns
from forewarn.web.operator.schema.requests import CampaignBody
from forewarn.web.portal.deeds.deed import Outlook, PortalDeed, body_of
from forewarn.web.portal.deeds.hosts import KIND
from forewarn.web.portal.doors.twins import ApiCall, cannot, forewarn
from forewarn.web.portal.forms import Filled, FormField
from forewarn.web.portal.written import count

_START = (
    KIND,
    FormField("host", "Hosts", "words", "hosts", hint="Like host-0 host-3; empty for every host.", longest=4096),
    FormField(
        "scope",
        "Scopes",
        "words",
        "scopes",
        longest=4096,
        hint="Like availability-set/front: only hosts where its VMs live.",
    ),
    FormField(
        "hosts_at_once", "Hosts at once", "whole", hint="How many hosts of a wave go at once; all if empty.", longest=6
    ),
)
START = "start-campaign"
_NOT_A_USER = "Maintenance is the platform's: users of Azure cannot order it."
_CAMPAIGN = (FormField("campaign", "Campaign", "hidden", required=True),)


async def _start(filled: Filled, asker: Asker, desk: Desk) -> Any:
    return await campaigns.start(filled.body(CampaignBody), asker)


def _told_of_start(answer: Any) -> Outlook:
    waves, hosts = count(answer.waves_total, "wave"), count(answer.hosts.total, "host")
    told = [f"{waves} over {hosts} with {count(answer.vms_total, 'VM')}, one update domain after the other."]
    if answer.open_events_total:
        told.append(f"{count(answer.open_events_total, 'event')} will be scheduled at once.")
    if answer.state == "completed":
        told.append("No VM lives there, so it will be over at once.")
    elif answer.ends_at is not None:
        told.append(f"If nobody acts, it ends at {answer.ends_at:%Y-%m-%dT%H:%M:%SZ}; approvals make it earlier.")
    else:
        told.append("Its end is farther away than the forecast looks.")
    return Outlook(" ".join(told))


def _words(filled: Filled) -> list[str]:
    words = ["campaign", "start", "--kind", filled.typed("kind", "freeze")]
    words += [word for host in filled.values.get("hosts", ()) for word in ("--host", host)]
    words += [word for scope in filled.values.get("scopes", ()) for word in ("--scope", scope)]
    at_once = filled.typed("hosts_at_once")
    return [*words, "--hosts-at-once", at_once] if at_once else words


def _told(answer: Any) -> Outlook:
    left = f"{count(answer.open_events_total, 'event')} still open, {count(answer.hosts.left, 'host')} left"
    return Outlook(f"The campaign will be {answer.state}: {left}.")


def _turning(
    verb: str, hint: str, route: Callable[[str, Asker], Awaitable[Any]], *, danger: bool = False
) -> PortalDeed:
    async def do(filled: Filled, asker: Asker, desk: Desk) -> Any:
        return await route(filled.typed("campaign"), asker)

    return PortalDeed(
        key=f"{verb}-campaign",
        title=verb.capitalize(),
        question=lambda filled: f"{verb.capitalize()} campaign {filled.typed('campaign')}?",
        fields=_CAMPAIGN,
        do=do,
        tell=_told,
        call=lambda filled: ApiCall("POST", f"/v1/campaigns/{filled.typed('campaign')}/{verb}"),
        twins=lambda filled, region: (
            forewarn(["campaign", verb, filled.typed("campaign")]),
            cannot("az", _NOT_A_USER),
        ),
        final="what it has scheduled disappears, and it cannot be gone on with" if danger else "",
        danger=danger,
        hint=hint,
    )


DEEDS = (
    PortalDeed(
        key=START,
        title="Start",
        question=lambda filled: f"Start a campaign of {filled.typed('kind', 'freeze')}?",
        fields=_START,
        do=_start,
        tell=_told_of_start,
        call=lambda filled: ApiCall("POST", "/v1/campaigns", body_of(filled, CampaignBody)),
        twins=lambda filled, region: (forewarn(_words(filled)), cannot("az", _NOT_A_USER)),
        hint="Maintenance over hosts, one update domain at a time.",
    ),
    _turning("pause", "Nothing new is scheduled; what is scheduled takes its course.", campaigns.pause),
    _turning("resume", "Go on where it was paused.", campaigns.resume),
    _turning("cancel", "What was scheduled disappears; what has started is finished.", campaigns.cancel, danger=True),
)
