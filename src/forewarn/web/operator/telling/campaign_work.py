"""What a campaign has open, and where its hosts are: from the read models, without a look at each event and host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from forewarn.core.maps import Map
from forewarn.core.phases import PENDING, Phase
from forewarn.core.region import Campaign, Host, Region
from forewarn.plane.read_models.register import At
from forewarn.web.operator.desk import Listed

_PHASES = tuple(Phase)  # in the order of an event's life
_REMEMBERED = 64  # ours: more campaigns than a page of the portal lists


@dataclass(frozen=True)
class OpenWork:
    """The events of one campaign that have not ended, counted."""

    phases: Mapping[Phase, int]  # how many, in the order of an event's life
    start_by: datetime | None  # when the last of those that wait will have started
    slowest: str | None  # what nobody has approved comes before what is approved, and that before what has started
    hosts: Collection[int]  # those with such events


def work_in(listed: Listed, campaign: Campaign) -> OpenWork:
    counts: Counter[Phase] = Counter()
    lasts: dict[Phase, At] = {}
    for cohort, order in listed.register.cohorts.items():
        if cohort.campaign == campaign.id:
            counts[cohort.phase] += len(order)
            lasts[cohort.phase] = max(order.last, lasts.get(cohort.phase, order.last))
    return _work(counts, lasts, _hosts_at_work(listed, campaign))


def _hosts_at_work(listed: Listed, campaign: Campaign) -> Collection[int]:
    """The hosts with open events. The census has them where no other work is open; else the events are looked at."""
    work = listed.census.work
    return work if sum(work.values()) == len(campaign.open_events) else set(campaign.open_events.values())


def work_seen(region: Region, campaign: Campaign) -> OpenWork:
    """The same of a region without read models, such as a rehearsed one: looks at each event.

    Of events that begin at one instant it takes one by what it hits, not by its id as the register does: a dry run has
    other ids than what then happens, and must tell of the same event.
    """
    events = [region.events[event_id] for event_id in campaign.open_events]
    events.sort(key=lambda event: (event.not_before, event.scope, event.vms))
    lasts: dict[Phase, At] = {event.phase: (event.not_before, event.id) for event in events}  # the last one stays
    return _work(Counter(event.phase for event in events), lasts, set(campaign.open_events.values()))


def _work(counts: Mapping[Phase, int], lasts: Mapping[Phase, At], hosts: Collection[int]) -> OpenWork:
    phases = {phase: counts[phase] for phase in _PHASES if counts.get(phase)}
    first = next(iter(phases), None)
    return OpenWork(
        phases=phases,
        start_by=max((at for phase, (at, _) in lasts.items() if phase in PENDING), default=None),
        slowest=None if first is None else lasts[first][1],
        hosts=hosts,
    )


class HostsOfDomain(NamedTuple):
    """The hosts that a campaign has in one update domain."""

    hosts: int = 0
    with_vms: int = 0
    vms: int = 0


# By campaign, and by the hosts that it chose, for dry runs may use one id: the hosts of the region they were counted
# from. Events come and go without a change to hosts.
_counted: dict[tuple[str, tuple[int, ...]], tuple[Map[int, Host], Mapping[int, HostsOfDomain]]] = {}


def hosts_of(region: Region, campaign: Campaign) -> Mapping[int, HostsOfDomain]:
    """By update domain. Counted again only where a host, or what is on one, has changed."""
    key = (campaign.id, campaign.hosts)
    found = _counted.get(key)
    if found is not None and found[0] is region.hosts:
        return found[1]
    counted = _count(region, campaign)
    if len(_counted) >= _REMEMBERED:
        _counted.clear()
    _counted[key] = region.hosts, counted
    return counted


def _count(region: Region, campaign: Campaign) -> Mapping[int, HostsOfDomain]:
    hosts = map(region.hosts.__getitem__, campaign.hosts) if campaign.hosts else region.hosts.values()
    counts: dict[int, list[int]] = {}
    for host in hosts:
        each = counts.setdefault(host.update_domain, [0, 0, 0])
        each[0] += 1
        each[1] += bool(host.vms)
        each[2] += len(host.vms)
    return {domain: HostsOfDomain(*each) for domain, each in counts.items()}
