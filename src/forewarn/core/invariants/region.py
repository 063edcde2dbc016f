"""What holds in every region, whatever was asked of it and in whatever order.

Tests, models and simulations ask after every step; a server does not, for the answer costs a look at everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from forewarn.core.causes import Cause
from forewarn.core.deciding.events import is_yet_to_be_told
from forewarn.core.deciding.settle import may_start
from forewarn.core.invariants.indexes import deadlines, of_agenda, of_assembly, of_indexes
from forewarn.core.invariants.machines import of_machines
from forewarn.core.invariants.sets import of_domains, of_operations, of_resources, of_scale_sets
from forewarn.core.looking.turns import held_up, is_under_way
from forewarn.core.phases import PENDING, Phase
from forewarn.core.region import DOWN, Campaign, CampaignState, Event, Power, RealHost, Region, Scope, Vm, fold
from forewarn.core.retired import REMEMBERED
from forewarn.core.specs import ScopeKind

_STEADY = DOWN | {Power.RUNNING}


def check(region: Region, *, now: datetime | None = None, user_operation_limit: int = 0) -> None:
    """Fail with a sentence for each thing that is wrong."""
    wrong = violations(region, now=now, user_operation_limit=user_operation_limit)
    assert not wrong, "\n".join(wrong)


def violations(region: Region, *, now: datetime | None = None, user_operation_limit: int = 0) -> list[str]:
    """A sentence for each thing that is wrong. ``now``: the region has settled then. 0 stands for no limit."""
    found = [*_of_vms(region), *_of_hosts(region), *_of_scopes(region), *_of_events(region), *_of_campaigns(region)]
    found += [
        *of_indexes(region),
        *of_scale_sets(region),
        *of_domains(region),
        *of_operations(region),
        *of_resources(region),
        *of_machines(region),
    ]
    if user_operation_limit and region.user_operations > user_operation_limit:
        found.append(f"{region.user_operations} user operations are scheduled; the limit is {user_operation_limit}")
    if now is not None:
        found += _of_settled(region, now)
    return found or [*of_agenda(region), *of_assembly(region)]


def violations_near(region: Region, vms: Iterable[str], events: Iterable[str]) -> list[str]:
    """The same for some VMs and events only, which costs what they are and not what there is."""
    near = [region.vms[key] for key in vms if key in region.vms]
    found = [sentence for vm in near for sentence in _of_vm(region, vm.key, vm)]
    for event in (region.events[event_id] for event_id in events if event_id in region.events):
        found += [*_of_phase(event), *_of_instants(region, event), *_of_targets(region, event)]
    return found


# VMs and hosts


def _of_vms(region: Region) -> Iterator[str]:
    for key, vm in region.vms.items():
        yield from _of_vm(region, key, vm)


def _of_vm(region: Region, key: str, vm: Vm) -> Iterator[str]:
    if key != vm.key:
        yield f"VM {vm.name} is filed under {key}"
    if len(set(vm.events)) != len(vm.events):
        yield f"VM {key} lists an event twice"
    for event_id in vm.events:
        event = region.events.get(event_id)
        if event is None or key not in event.vms:
            yield f"VM {key} lists event {event_id}, which does not hit it"
    yield from _of_home(region, vm)
    yield from _of_power(region, vm)


def _of_home(region: Region, vm: Vm) -> Iterator[str]:
    if (vm.host is None) != (vm.power is Power.DEALLOCATED):
        yield f"VM {vm.key} is {vm.power.value} on host {vm.host}"
    host = None if vm.host is None else region.hosts.get(vm.host)
    if vm.host is not None and (host is None or vm.key not in host.vms):
        yield f"VM {vm.key} says that it lives on host {vm.host}, which does not know it"
    if host is not None and (host.fault_domain, host.update_domain) != (vm.fault_domain, vm.update_domain):
        yield f"VM {vm.key} lives on {host.name}, which is of other domains"


def _of_power(region: Region, vm: Vm) -> Iterator[str]:
    """What a VM is going through must come from an impact that is under way."""
    events = [region.events[event_id] for event_id in vm.events if event_id in region.events]
    in_hand = any(event.impact_began_at is not None and event.impact_ended_at is None for event in events)
    under_way = [event.cause is Cause.FAILURE for event in events if is_under_way(event)]
    if under_way.count(True) > 1:
        yield f"VM {vm.key} has failed with its host twice, and was not rebuilt in between"
    if under_way.count(False) > 1:
        yield f"VM {vm.key} is hit by {under_way.count(False)} events at once"
    if vm.power not in _STEADY and not in_hand:
        yield f"VM {vm.key} is {vm.power.value}, but nothing is being done to it"


def _of_hosts(region: Region) -> Iterator[str]:
    for number, host in region.hosts.items():
        if number != host.number:
            yield f"{host.name} is filed under {number}"
        if len(host.vms) > host.capacity and not isinstance(host, RealHost):  # those may be filled by others
            yield f"{host.name} has {len(host.vms)} VMs and room for {host.capacity}"
        for key in host.vms:
            vm = region.vms.get(key)
            if vm is None or vm.host != number:
                yield f"{host.name} lists VM {key}, which does not live there"


# Scopes


def _of_scopes(region: Region) -> Iterator[str]:
    members: dict[str, set[str]] = defaultdict(set)
    for vm in region.vms.values():
        if vm.spec.kind is not ScopeKind.VM:
            members[vm.scope].add(vm.key)
    for key in members.keys() - set(region.scopes):
        yield f"scope {key} has VMs and no record"
    for key, scope in region.scopes.items():
        if key != scope.key:
            yield f"scope {scope.key} is filed under {key}"
        if set(scope.members) != members[key]:
            yield f"scope {key} lists other members than it has"
        if scope.kind is ScopeKind.VM and fold(scope.name) not in region.vms:
            yield f"scope {key} has outlived its VM"
        yield from _of_enabling(scope)
        yield from _of_numbers(region, scope)
    yield from _of_retired(region)


def _of_retired(region: Region) -> Iterator[str]:
    retired = region.retired
    for key in set(region.scopes).intersection(retired.numbers):
        yield f"scope {key} is there, and remembered as gone"
    if len(retired.numbers) > REMEMBERED or any(not 0 <= place < retired.total for place in retired.order):
        yield f"of {retired.total} scopes that have gone, {len(retired.numbers)} are remembered"
    if any(incarnation < 1 for incarnation, _ in retired.numbers.values()):
        yield "a scope is remembered that never had a document"


def _of_enabling(scope: Scope) -> Iterator[str]:
    instants = (scope.enabled_at, scope.last_read_at, scope.lapses_at)
    if len({instant is None for instant in instants}) != 1:
        yield f"scope {scope.key} is half enabled"
    if scope.enabled_at is not None and not scope.incarnation:
        yield f"scope {scope.key} has incarnation {scope.incarnation} and was enabled at {scope.enabled_at}"


def _of_numbers(region: Region, scope: Scope) -> Iterator[str]:
    seen: set[str] = set()
    for vm in region.members_of(scope):
        if fold(vm.resource_name) in seen:
            yield f"two VMs of scope {scope.key} are called {vm.resource_name}"
        seen.add(fold(vm.resource_name))
        made = region.lone_vms_made if scope.kind is ScopeKind.VM else scope.traits.counts.get(fold(vm.spec.role), 0)
        if vm.number >= made:
            yield f"VM {vm.key} has number {vm.number}, though only {made} were made"


# Events


def _of_events(region: Region) -> Iterator[str]:
    listed: dict[str, list[str]] = defaultdict(list)
    for event_id, event in region.events.items():
        if event_id != event.id:
            yield f"event {event.id} is filed under {event_id}"
        if event.announced:
            listed[event.scope].append(event_id)
        yield from _of_phase(event)
        yield from _of_instants(region, event)
        yield from _of_targets(region, event)
    yield from _of_telling(region)
    for key, scope in region.scopes.items():
        if sorted(scope.events) != sorted(listed.pop(key, [])):
            yield f"scope {key} shows other events than it has"
    for key in listed:
        yield f"scope {key} has events and no record"


def _of_telling(region: Region) -> Iterator[str]:
    """A scope that reads is told of all that is still ahead."""
    for event in region.events.values():
        scope = region.scopes.get(event.scope)
        reads = scope is not None and scope.enabled_at is not None
        if reads and is_yet_to_be_told(event):
            yield f"event {event.id} is ahead of scope {event.scope}, which reads and is not told"


def _of_phase(event: Event) -> Iterator[str]:
    done = [
        event.approved_at is not None,
        event.started_at is not None,
        event.impact_began_at is not None,
        event.impact_ended_at is not None,
    ]
    fits = {
        Phase.SCHEDULED: done == [False] * 4,
        Phase.APPROVED: done == [True, False, False, False],
        Phase.STARTED: done[1] and done[2] >= done[3],
    }
    if not fits.get(event.phase, False):
        yield f"event {event.id} is {event.phase.value}, which its instants do not show"
    if event.impact_ends_at is not None and event.impact_began_at is None:
        yield f"event {event.id} has an end of an impact that has not begun"
    if (event.approved_at is None) != (event.approved_by == ""):
        yield f"event {event.id} was approved by {event.approved_by!r} at {event.approved_at}"


def _of_instants(region: Region, event: Event) -> Iterator[str]:
    path = (event.scheduled_at, event.approved_at, event.started_at, event.impact_began_at, event.impact_ended_at)
    known = [*(instant for instant in path if instant is not None), region.latest_at or event.scheduled_at]
    if known != sorted(known):
        yield f"event {event.id} went back in time"
    if event.not_before.microsecond or event.not_before < event.scheduled_at:
        yield f"event {event.id} has the NotBefore {event.not_before}"
    early = event.started_at is not None and event.scheduled_at != event.started_at < event.not_before
    if early and event.approved_at is None:
        yield f"event {event.id} started before its NotBefore, and nobody had approved it"


def _of_targets(region: Region, event: Event) -> Iterator[str]:
    if len(set(event.vms)) != len(event.vms) or len(set(event.resources)) != len(event.resources):
        yield f"event {event.id} names a VM twice"
    for key in event.vms:
        vm = region.vms.get(key)
        if vm is None or event.id not in vm.events:
            yield f"event {event.id} hits VM {key}, which does not know of it"
        elif vm.scope != event.scope:
            yield f"event {event.id} of scope {event.scope} hits VM {key} of scope {vm.scope}"
        elif vm.update_domain != event.update_domain and key not in region.machines:  # a real one may have moved
            yield f"event {event.id} of update domain {event.update_domain} hits VM {key} of {vm.update_domain}"
        elif vm.resource_name not in event.resources:
            yield f"event {event.id} hits VM {key} and does not name it"
        elif event.phase in PENDING and len(event.resources) != len(event.vms):
            yield f"event {event.id} is ahead and names VMs that it will not hit"
        elif event.phase in PENDING and event.host is not None and vm.host not in (None, event.host):
            yield f"event {event.id} of host {event.host} hits VM {key}, which lives on host {vm.host}"


# Campaigns


def _of_campaigns(region: Region) -> Iterator[str]:
    opened: dict[str, dict[str, int | None]] = defaultdict(dict)
    for event in region.events.values():
        if event.campaign:
            opened[event.campaign][event.id] = event.host
    yield from _of_domains(region)
    for key in opened.keys() - set(region.campaigns):
        yield f"campaign {key} has events and no record"
    for key, campaign in region.campaigns.items():
        if dict(campaign.open_events) != opened[key]:
            yield f"campaign {key} lists other open events than it has"
        yield from _of_wave(region, campaign)
        yield from _of_state(campaign)


def _of_domains(region: Region) -> Iterator[str]:
    """All campaigns together have one update domain of a scope open."""
    domains: dict[str, set[int]] = defaultdict(set)
    for event in region.events.values():
        if event.campaign:
            domains[event.scope].add(event.update_domain)
    for key, several in domains.items():
        if len(several) > 1:
            yield f"campaigns are at work in update domains {sorted(several)} of scope {key} at once"


def _of_wave(region: Region, campaign: Campaign) -> Iterator[str]:
    waves = {region.events[event_id].update_domain for event_id in campaign.open_events if event_id in region.events}
    waves |= {region.hosts[number].update_domain for number in campaign.waiting}
    if waves - {campaign.wave}:
        yield f"campaign {campaign.id} is in wave {campaign.wave} and works on update domains {sorted(waves)}"
    busy = len(set(campaign.open_events.values()))
    if campaign.hosts_at_once and busy > campaign.hosts_at_once:
        yield f"campaign {campaign.id} works on {busy} hosts at once, not on {campaign.hosts_at_once}"


def _of_state(campaign: Campaign) -> Iterator[str]:
    over = campaign.state in (CampaignState.COMPLETED, CampaignState.CANCELED)
    if over != (campaign.ended_at is not None):
        yield f"campaign {campaign.id} is {campaign.state.value} and ended at {campaign.ended_at}"
    if over and campaign.waiting:
        yield f"campaign {campaign.id} is {campaign.state.value}, and hosts still wait for it"
    if campaign.state is CampaignState.COMPLETED and campaign.open_events:
        yield f"campaign {campaign.id} is completed with open events"


# After settling


def _of_settled(region: Region, now: datetime) -> Iterator[str]:
    if region.latest_at is not None and region.latest_at > now:
        yield f"something happened at {region.latest_at}, after {now}"
    due = min(deadlines(region), default=None)
    if due is not None and due <= now:
        yield f"at {now} something is still due since {due}"
    for event in region.events.values():
        if event.phase in PENDING and may_start(region, event, now):
            yield f"event {event.id} may start and has not"
        if not event.vms:
            yield f"event {event.id} has nobody left to hit and has not ended"
    for campaign in region.campaigns.values():
        stands = campaign.state is CampaignState.RUNNING and not campaign.open_events
        if stands and held_up(region, campaign) is None:
            yield f"campaign {campaign.id} is running, and nothing will move it on"
