"""What a region keeps twice: indexes, counts and the agenda must say what the things themselves say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from forewarn.core.causes import USER_OPERATIONS
from forewarn.core.folding.assemble import assemble
from forewarn.core.looking.deadlines import STALE_MOST, deadline_of, next_deadline
from forewarn.core.looking.turns import may_take
from forewarn.core.maps import Map
from forewarn.core.phases import PENDING, Phase
from forewarn.core.region import Event, Group, Host, HostHealth, RealHost, Region, replace
from forewarn.core.retired import Retired
from forewarn.core.specs import with_traits


def of_indexes(region: Region) -> Iterator[str]:
    """Counts, groups, addresses and vacancies."""
    pending = [event for event in region.events.values() if event.phase in PENDING]
    scheduled = sum(event.cause in USER_OPERATIONS for event in pending)
    if region.user_operations != scheduled:
        yield f"{scheduled} user operations are scheduled, {region.user_operations} are counted"
    if region.groups != _groups(pending):
        yield "the groups are not those of the pending events"
    claims = {claim: vm.key for vm in region.vms.values() for claim in vm.binding.claims()}
    if dict(region.addresses) != claims:
        yield "the addresses are not those that the VMs claim"
    if region.vacancies != _vacancies(region):
        yield "the vacancies are not those of the hosts"


def of_agenda(region: Region) -> Iterator[str]:
    """The agenda knows the next deadline."""
    soonest = min(deadlines(region), default=None)
    if next_deadline(region) != soonest and not _is_merely_too_soon(region, soonest):
        yield f"something is due at {soonest}, and the agenda says {next_deadline(region)}"


def _is_merely_too_soon(region: Region, soonest: datetime | None) -> bool:
    """As the agenda's answer may be where it holds very many stale entries."""
    said = next_deadline(region)
    crowded = sum(1 for _ in region.agenda.soonest(STALE_MOST + 1)) > STALE_MOST
    return crowded and said is not None and (soonest is None or said < soonest)


def _groups(pending: list[Event]) -> Map[str, Group]:
    found: dict[str, Group] = {}
    for event in pending:
        if event.group:
            known = found.get(event.group, Group())
            found[event.group] = Group(
                known.pending.set(event.id, None), known.awaited + (event.phase is Phase.SCHEDULED)
            )
    return Map(found)


def _vacancies(region: Region) -> Map[tuple[int, int], Map[int, None]]:
    found: dict[tuple[int, int], dict[int, None]] = defaultdict(dict)
    for host in region.hosts.values():
        pretended = not isinstance(host, RealHost)
        if pretended and host.health is HostHealth.HEALTHY and len(host.vms) < host.capacity:
            found[host.fault_domain, host.update_domain][host.number] = None
    return Map({domain: Map(hosts) for domain, hosts in found.items()})


def deadlines(region: Region) -> Iterator[datetime]:
    """Every instant at which time alone moves something on, found without the agenda."""
    for scope in region.scopes.values():
        if scope.lapses_at is not None:
            yield scope.lapses_at
    for event in region.events.values():
        due = deadline_of(region, event)
        if due is not None:
            yield due
    for campaign in region.campaigns.values():
        if may_take(region, campaign):
            yield campaign.started_at
    for scale_set in region.scale_sets.values():
        if scale_set.rolling is not None and scale_set.rolling.next_at is not None:
            yield scale_set.rolling.next_at


def of_assembly(region: Region) -> Iterator[str]:
    """What is put together from the parts of a region must be the region."""
    made = assemble(
        region.vms.values(),
        [with_traits(scope, members=Map()) for scope in region.scopes.values()],
        [_bare(host) for host in region.hosts.values()],
        region.events.values(),
        region.campaigns.values(),
        region.lone_vms_made,
        region.latest_at,
        scale_sets=[replace(each, instances=Map(), leaving=0) for each in region.scale_sets.values()],
        operations=region.operations.values(),
        resources=region.resources.values(),
        retired=Retired.of(dict(region.retired.numbers), region.retired.total),
        machines=region.machines,
        errands=region.errands.values(),
    )
    if replace(made, agenda=region.agenda) != region:
        yield "what is assembled from the region's parts is not the region"
    if next_deadline(made) != min(deadlines(region), default=None):
        yield "what is assembled from the region's parts is due at another time"


def _bare(host: Host) -> Host:
    host = replace(host, vms=())
    return replace(host, reserved=Map()) if isinstance(host, RealHost) else host
