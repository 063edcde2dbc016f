"""Campaigns as answers: how far one has come, in counts, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from forewarn.core.looking.turns import held_up
from forewarn.core.region import Campaign, CampaignState, Region
from forewarn.web.operator.schema.fleet_answers import (
    CampaignAnswer,
    CampaignHosts,
    CampaignStory,
    CampaignWave,
    SlowestEvent,
)
from forewarn.web.operator.telling.campaign_work import HostsOfDomain, OpenWork, hosts_of
from forewarn.web.operator.telling.views import vm_names

# Ours: over a large fleet it has more events than a person reads, and listing them holds up the loop.
_EVENTS_SHOWN = 1000
_VMS_SHOWN = 20  # ours: a line that somebody still reads


def campaign_fields(region: Region, campaign: Campaign, work: OpenWork) -> CampaignAnswer:
    hosts = hosts_of(region, campaign)
    domains = sorted(hosts)
    return CampaignAnswer(
        id=campaign.id,
        kind=campaign.cause.value,
        state=campaign.state.value,
        wave=campaign.wave,
        wave_number=sum(domain <= campaign.wave for domain in domains),
        waves_total=len(domains),
        next_wave=_next_wave(hosts, campaign),
        hosts=_progress(hosts, campaign, work),
        hosts_waiting=len(campaign.waiting),
        waits_for=_waits_for(region, campaign),
        open_events=sorted(islice(campaign.open_events, _EVENTS_SHOWN)),
        open_events_total=len(campaign.open_events),
        open_events_by_phase={phase.value: number for phase, number in work.phases.items()},
        open_events_start_by=work.start_by,
        events_total=campaign.events_total,
        started_at=campaign.started_at,
        ended_at=campaign.ended_at,
    )


def campaign_story(region: Region, campaign: Campaign, work: OpenWork) -> CampaignStory:
    """The same with its waves, for who looks at one campaign."""
    hosts = hosts_of(region, campaign)
    return CampaignStory(
        **dict(campaign_fields(region, campaign, work)),
        vms_total=sum(each.vms for each in hosts.values()),
        waves=[
            CampaignWave(update_domain=domain, hosts=each.hosts, vms=each.vms, state=_state_of_wave(campaign, domain))
            for domain, each in sorted(hosts.items())
        ],
        slowest=_slowest(region, work),
    )


def _state_of_wave(campaign: Campaign, domain: int) -> str:
    if campaign.state is CampaignState.COMPLETED or domain < campaign.wave:
        return "done"
    if campaign.state is CampaignState.CANCELED:
        return "left out"
    return "now" if domain == campaign.wave else "to come"


def _slowest(region: Region, work: OpenWork) -> SlowestEvent | None:
    if work.slowest is None:
        return None
    found = region.events[work.slowest]
    return SlowestEvent(
        event=found.id,
        scope=found.scope,
        phase=found.phase.value,
        vms=vm_names(region, found.vms[:_VMS_SHOWN]),
        not_before=found.not_before,
    )


def _progress(hosts: Mapping[int, HostsOfDomain], campaign: Campaign, work: OpenWork) -> CampaignHosts:
    """A host without VMs counts as done: there is no VM to announce anything to. Hosts of later waves have no work."""
    total = sum(each.hosts for each in hosts.values())
    left = 0
    if campaign.state is not CampaignState.COMPLETED:
        left = sum(each.with_vms for domain, each in hosts.items() if domain > campaign.wave)
        left += sum(host not in work.hosts for host in campaign.waiting)
    working = len(work.hosts)
    return CampaignHosts(total=total, done=max(total - working - left, 0), working=working, left=left)


def _next_wave(hosts: Mapping[int, HostsOfDomain], campaign: Campaign) -> int | None:
    ahead = (domain for domain, each in hosts.items() if each.with_vms and domain > campaign.wave)
    return None if campaign.ended_at is not None else min(ahead, default=None)


def _waits_for(region: Region, campaign: Campaign) -> str:
    waits = held_up(region, campaign)
    if waits is None:
        return ""
    host, event = waits
    if event.update_domain == host.update_domain:
        return f"{host.name} waits for event {event.id}, which is open there."
    return f"{host.name} waits for event {event.id}: it has update domain {event.update_domain} of {event.scope} open."
