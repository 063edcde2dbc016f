"""Campaigns as answers: how far one has come, in counts, and what comes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

from forewarn.core.looking.turns import held_up
from forewarn.core.phases import PENDING, Phase
from forewarn.core.region import Campaign, CampaignState, Host, Region
from forewarn.web.operator.schema.fleet_answers import (
    CampaignAnswer,
    CampaignHosts,
    CampaignStory,
    CampaignWave,
    SlowestEvent,
)
from forewarn.web.operator.telling.views import vm_names

# Ours: over a large fleet it has more events than a person reads, and listing them holds up the loop.
_EVENTS_SHOWN = 1000
_VMS_SHOWN = 20  # ours: a line that somebody still reads
_PHASES = tuple(Phase)  # in the order of an event's life


def campaign_fields(region: Region, campaign: Campaign) -> CampaignAnswer:
    hosts = _hosts(region, campaign)
    domains = sorted({host.update_domain for host in hosts})
    open_events = [region.events[event_id] for event_id in campaign.open_events]
    return CampaignAnswer(
        id=campaign.id,
        kind=campaign.cause.value,
        state=campaign.state.value,
        wave=campaign.wave,
        wave_number=sum(domain <= campaign.wave for domain in domains),
        waves_total=len(domains),
        next_wave=_next_wave(hosts, campaign),
        hosts=_progress(hosts, campaign),
        hosts_waiting=len(campaign.waiting),
        waits_for=_waits_for(region, campaign),
        open_events=sorted(islice(campaign.open_events, _EVENTS_SHOWN)),
        open_events_total=len(open_events),
        open_events_by_phase=dict(Counter(event.phase.value for event in open_events)),
        open_events_start_by=max((event.not_before for event in open_events if event.phase in PENDING), default=None),
        events_total=campaign.events_total,
        started_at=campaign.started_at,
        ended_at=campaign.ended_at,
    )


def campaign_story(region: Region, campaign: Campaign) -> CampaignStory:
    """The same with its waves, for who looks at one campaign."""
    hosts = _hosts(region, campaign)
    domains = sorted({host.update_domain for host in hosts})
    sizes, vms = Counter(host.update_domain for host in hosts), Counter[int]()
    for host in hosts:
        vms[host.update_domain] += len(host.vms)
    return CampaignStory(
        **dict(campaign_fields(region, campaign)),
        vms_total=vms.total(),
        waves=[
            CampaignWave(
                update_domain=domain, hosts=sizes[domain], vms=vms[domain], state=_state_of_wave(campaign, domain)
            )
            for domain in domains
        ],
        slowest=_slowest(region, campaign),
    )


def _state_of_wave(campaign: Campaign, domain: int) -> str:
    if campaign.state is CampaignState.COMPLETED or domain < campaign.wave:
        return "done"
    if campaign.state is CampaignState.CANCELED:
        return "left out"
    return "now" if domain == campaign.wave else "to come"


def _slowest(region: Region, campaign: Campaign) -> SlowestEvent | None:
    """What nobody has approved comes before what is approved, and that before what has started."""
    events = (region.events[event_id] for event_id in campaign.open_events)
    found = max(events, key=lambda event: (-_PHASES.index(event.phase), event.not_before, event.id), default=None)
    if found is None:
        return None
    return SlowestEvent(
        event=found.id,
        scope=found.scope,
        phase=found.phase.value,
        vms=vm_names(region, found.vms[:_VMS_SHOWN]),
        not_before=found.not_before,
    )


def _hosts(region: Region, campaign: Campaign) -> Sequence[Host]:
    return [region.hosts[number] for number in campaign.hosts] if campaign.hosts else list(region.hosts.values())


def _progress(hosts: Sequence[Host], campaign: Campaign) -> CampaignHosts:
    """A host without VMs counts as done: there is no VM to announce anything to."""
    working = set(campaign.open_events.values())
    later = {host.number for host in hosts if host.vms and host.update_domain > campaign.wave}
    left = set() if campaign.state is CampaignState.COMPLETED else (later | set(campaign.waiting)) - working
    done = max(len(hosts) - len(working) - len(left), 0)
    return CampaignHosts(total=len(hosts), done=done, working=len(working), left=len(left))


def _next_wave(hosts: Sequence[Host], campaign: Campaign) -> int | None:
    ahead = (host.update_domain for host in hosts if host.vms and host.update_domain > campaign.wave)
    return None if campaign.ended_at is not None else min(ahead, default=None)


def _waits_for(region: Region, campaign: Campaign) -> str:
    waits = held_up(region, campaign)
    if waits is None:
        return ""
    host, event = waits
    if event.update_domain == host.update_domain:
        return f"{host.name} waits for event {event.id}, which is open there."
    return f"{host.name} waits for event {event.id}: it has update domain {event.update_domain} of {event.scope} open."
