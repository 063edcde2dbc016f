"""How one fact changes a region. No rule lives here: what the journal holds has happened."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias, assert_never

from immutables import Map

from forewarn.core import facts as f
from forewarn.core import keys
from forewarn.core.causes import CAUSES, USER_OPERATIONS, Effect
from forewarn.core.folding import sets as keeping
from forewarn.core.lifecycle import event_after
from forewarn.core.phases import ENDED, PENDING, Phase
from forewarn.core.region import (
    DOWN,
    Binding,
    Campaign,
    CampaignState,
    Event,
    Group,
    Health,
    Host,
    Power,
    Region,
    Scope,
    ScopeKind,
    Vm,
    fold,
    replace,
    scope_key,
)

_DURING = {
    Effect.PAUSE: Power.FROZEN,
    Effect.MIGRATE: Power.FROZEN,
    Effect.RESTART: Power.RESTARTING,
    Effect.REDEPLOY: Power.REDEPLOYING,
    Effect.EVICT: Power.EVICTING,
    Effect.DELETE: Power.DELETING,
    Effect.REIMAGE: Power.REIMAGING,
}


def evolve(region: Region, fact: f.Fact) -> Region:
    """The region after ``fact``."""
    return replace(_fold(region, fact), latest_at=fact.at)


def _fold(region: Region, fact: f.Fact) -> Region:
    match fact:
        case f.VmCreated():
            return _vm_created(region, fact)
        case f.EventScheduled() | f.EventBornStarted():
            return _event_added(region, event_after(None, fact), fact.at)
        case f.EventAnnounced():
            return _event_announced(region, fact)
        case f.EventApproved() | f.EventStarted() | f.EventCanceled() | f.EventCompleted():
            return _event_moved(region, fact)
        case f.ImpactBegan(event_id=event_id):
            return _impact_began(_event_moved(region, fact), event_id)
        case f.ImpactEnded(event_id=event_id):
            return _impact_ended(_event_moved(region, fact), event_id)
        case f.VmSpared(event_id=event_id, vm=key):
            return _vm_spared(region, region.events[event_id], region.vms[key], fact.at)
        case f.ScopeEnabled():
            return _scope_enabled(region, fact)
        case f.ScopeRead(scope=key):
            return _scopes_read(region, (key,), fact)
        case f.ScopesRead(scopes=scopes):
            return _scopes_read(region, scopes, fact)
        case f.ScopeDisabled(scope=key):
            disabled = replace(region.scopes[key], enabled_at=None, last_read_at=None, lapses_at=None)
            return replace(region, scopes=region.scopes.set(key, disabled))
        case f.ScopeCreated(kind=kind, name=name, resource_group=resource_group, domains=domains):
            region, scope = keeping.scope_made(region, scope_key(kind, name), kind, name)
            return _put_scope(region, replace(scope, resource_group=resource_group, domains=domains))
        case f.ScopeRemoved(scope=key):
            return keeping.owner_left(keeping.scope_left(region, key), key)
        case f.PolicySet():
            return _policy_set(region, fact)
        case f.HostAdded(host=number, fault_domain=fault, update_domain=update, capacity=capacity):
            return put_host(region, Host(number, fault, update, capacity))
        case f.HostMarked(host=number, health=health):
            return put_host(region, replace(region.hosts[number], health=health))
        case f.VmBound(vm=key, binding=binding):
            return _bind(region, region.vms[key], binding)
        case f.VmMoved(vm=key, host=host):
            return _house(region, region.vms[key], host)
        case f.VmStarted(vm=key, host=host):
            vm = region.vms[key]
            return _house(region, replace(vm, power=Power.RUNNING, boots=vm.boots + 1), host)
        case f.VmStopped(vm=key):
            return replace(region, vms=region.vms.set(key, replace(region.vms[key], power=Power.STOPPED)))
        case f.VmDeallocated(vm=key):
            return _house(region, replace(region.vms[key], power=Power.DEALLOCATED), None)
        case f.VmDeleted(vm=key):
            return _vm_deleted(region, region.vms[key], fact.at)
        case (
            f.CampaignStarted()
            | f.CampaignWaveBegan()
            | f.CampaignHostsTaken()
            | f.CampaignPaused()
            | f.CampaignResumed()
            | f.CampaignCanceled()
            | f.CampaignCompleted()
        ):
            return _put_campaign(region, _campaign_after(region.campaigns.get(fact.campaign_id), fact))
        case f.ClockMoved():
            return region
        case f.VmRespecified(vm=key, spec=spec):
            return replace(region, vms=region.vms.set(key, replace(region.vms[key], spec=spec)))
        case f.OperationStarted() | f.OperationEnded():
            return keeping.fold_operation(region, fact)
        case f.ResourceKept() | f.ResourceForgotten():
            return keeping.fold_resource(region, fact)
        case (
            f.ScaleSetCreated()
            | f.ScaleSetChanged()
            | f.ScaleSetModelChanged()
            | f.ScaleSetDeletionAsked()
            | f.ScaleSetDeleted()
            | f.RollingUpgradeStarted()
            | f.RollingUpgradeBatched()
            | f.RollingUpgradeEnded()
            | f.InstanceUpgraded()
            | f.InstanceProtected()
        ):
            return keeping.fold_scale_set(region, fact)
        case _:
            assert_never(fact)


# VMs and hosts


def _vm_created(region: Region, fact: f.VmCreated) -> Region:
    spec = fact.spec
    vm = Vm(
        name=fact.name,
        spec=spec,
        seed=fact.seed,
        created_at=fact.at,
        number=fact.number,
        update_domain=fact.update_domain,
        fault_domain=fact.fault_domain,
        host=None,
        model=fact.model,
    )
    lone = region.lone_vms_made
    scopes = region.scopes
    if spec.kind is ScopeKind.VM:
        lone = max(lone, fact.number + 1)
    else:
        scope = scopes[vm.scope]
        role = fold(spec.role)
        counts = scope.counts.set(role, max(scope.counts.get(role, 0), fact.number + 1))
        scopes = scopes.set(scope.key, replace(scope, members=scope.members.set(vm.key, None), counts=counts))
    region = replace(region, scopes=scopes, lone_vms_made=lone)
    return _house(keeping.instance_joined(region, vm), vm, fact.host)


def _house(region: Region, vm: Vm, host: int | None) -> Region:
    """Put a VM on a host (or on none), taking it off the one it was on."""
    if vm.host is not None and vm.host != host:
        left = region.hosts[vm.host]
        region = put_host(region, replace(left, vms=left.vms.delete(vm.key)))
    if host is not None:
        taken = region.hosts[host]
        region = put_host(region, replace(taken, vms=taken.vms.set(vm.key, None)))
    return replace(region, vms=region.vms.set(vm.key, replace(vm, host=host)))


def put_host(region: Region, host: Host) -> Region:
    """Set a host, and whether it has room for more."""
    domain = (host.fault_domain, host.update_domain)
    open_hosts = region.vacancies.get(domain, Map())
    has_room = host.health is Health.HEALTHY and len(host.vms) < host.capacity
    vacancies = region.vacancies
    if has_room and host.number not in open_hosts:
        vacancies = vacancies.set(domain, open_hosts.set(host.number, None))
    elif not has_room and host.number in open_hosts:
        left = open_hosts.delete(host.number)
        vacancies = vacancies.set(domain, left) if left else vacancies.delete(domain)
    return replace(region, hosts=region.hosts.set(host.number, host), vacancies=vacancies)


def _bind(region: Region, vm: Vm, binding: Binding) -> Region:
    addresses = region.addresses
    for claim in vm.binding.claims():
        addresses = addresses.delete(claim)
    for claim in binding.claims():
        addresses = addresses.set(claim, vm.key)
    return replace(region, addresses=addresses, vms=region.vms.set(vm.key, replace(vm, binding=binding)))


def _vm_deleted(region: Region, vm: Vm, at: datetime) -> Region:
    region = _house(_bind(region, vm, Binding()), vm, None)
    for event_id in vm.events:
        region = _vm_left(region, region.events[event_id], vm, at)
    region = replace(region, vms=region.vms.delete(vm.key))
    scope = region.scopes.get(vm.scope)
    if scope is not None and scope.kind is ScopeKind.VM:
        region = keeping.scope_left(region, scope.key)
    elif scope is not None:
        region = _put_scope(region, replace(scope, members=scope.members.delete(vm.key)))
    region = keeping.owner_left(keeping.instance_left(region, vm), f"vm/{vm.key}")
    return keeping.owner_left(region, f"instance/{vm.key}")


# Scopes


def _scope_enabled(region: Region, fact: f.ScopeEnabled) -> Region:
    """A number names one document of a scope for ever, so an enabling goes on from the last one."""
    region, scope = keeping.scope_made(region, fact.scope, fact.kind, fact.name)
    enabled = replace(
        scope,
        enabled_at=fact.at,
        last_read_at=fact.at,
        lapses_at=fact.lapses_at,
        incarnation=scope.incarnation + 1,
        changed_at=fact.at,
    )
    agenda = region.agenda.add(fact.lapses_at, keys.of_scope(scope.key))
    return _put_scope(replace(region, agenda=agenda), enabled)


def _put_scope(region: Region, scope: Scope) -> Region:
    return replace(region, scopes=region.scopes.set(scope.key, scope))


def _scopes_read(region: Region, names: tuple[str, ...], fact: f.ScopeRead | f.ScopesRead) -> Region:
    """The agenda looks again when the old entry falls due; only a time before that (a changed rule) needs its own."""
    agenda, scopes = region.agenda, region.scopes
    for name in names:
        scope = scopes[name]
        if scope.lapses_at is None or fact.lapses_at < scope.lapses_at:
            agenda = agenda.add(fact.lapses_at, keys.of_scope(scope.key))
        scopes = scopes.set(scope.key, replace(scope, last_read_at=fact.read_at, lapses_at=fact.lapses_at))
    return replace(region, agenda=agenda, scopes=scopes)


def _policy_set(region: Region, fact: f.PolicySet) -> Region:
    kind, _, name = fact.scope.partition("/")
    vm = region.vms.get(name) if ScopeKind(kind) is ScopeKind.VM else None
    region, scope = keeping.scope_made(region, fact.scope, ScopeKind(kind), vm.name if vm is not None else name)
    return _put_scope(region, replace(scope, policy=fact.policy))


# Events


def _event_added(region: Region, event: Event, at: datetime) -> Region:
    vms = region.vms
    for key in event.vms:
        vm = vms[key]
        vms = vms.set(key, replace(vm, events=(*vm.events, event.id)))
    region = keeping.deletion_added(replace(region, vms=vms, events=region.events.set(event.id, event)), event)
    if event.phase in PENDING:
        region = replace(region, agenda=region.agenda.add(event.not_before, keys.of_event(event.id)))
        region = count_pending(region, None, event)
    region = open_work(region, event)
    if event.campaign:
        campaign = region.campaigns[event.campaign]
        opened = campaign.open_events.set(event.id, -1 if event.host is None else event.host)
        campaign = replace(campaign, open_events=opened, events_total=campaign.events_total + 1)
        region = replace(region, campaigns=region.campaigns.set(campaign.id, campaign))
    return _document_changed(region, event, at, add=True)


def _event_announced(region: Region, fact: f.EventAnnounced) -> Region:
    """It is in the scope's list from here on; the enabling that follows shows the list, and counts once for it all."""
    vm = region.vms[region.events[fact.event_id].vms[0]]
    region = _event_moved(region, fact)
    region, scope = keeping.scope_made(region, vm.scope, vm.spec.kind, vm.spec.set_name or vm.name)
    return _put_scope(region, replace(scope, events=(*scope.events, fact.event_id)))


_Moved: TypeAlias = (
    f.EventAnnounced
    | f.EventApproved
    | f.EventStarted
    | f.EventCanceled
    | f.ImpactBegan
    | f.ImpactEnded
    | f.EventCompleted
)


def _event_moved(region: Region, fact: _Moved) -> Region:
    """Take an event along the table of its life."""
    before = region.events[fact.event_id]
    event = event_after(before, fact)
    if event.phase in ENDED:
        return _event_ended(region, before, event, fact.at)
    region = replace(region, events=region.events.set(event.id, event))
    if before.phase in PENDING:
        region = count_pending(region, before, event)
    if event.phase is Phase.STARTED and before.phase in PENDING:
        region = _document_changed(region, event, fact.at)
    due = event.completes_at or event.impact_ends_at
    if due is not None:
        region = replace(region, agenda=region.agenda.add(due, keys.of_event(event.id)))
    return region


def _event_ended(region: Region, before: Event, event: Event, at: datetime) -> Region:
    vms = region.vms
    for key in event.vms:
        vm = vms[key]
        vms = vms.set(key, replace(vm, events=tuple(other for other in vm.events if other != event.id)))
    region = replace(region, vms=vms, events=region.events.delete(event.id))
    if before.phase in PENDING:
        region = count_pending(region, before, event)
    if event.campaign:
        campaign = region.campaigns[event.campaign]
        campaign = replace(campaign, open_events=campaign.open_events.delete(event.id))
        region = replace(region, campaigns=region.campaigns.set(campaign.id, campaign))
    region = keeping.event_ended(_close_work(region, event), event)
    return _document_changed(region, event, at)


def open_work(region: Region, event: Event) -> Region:
    """Note which update domain of its scope a host's event is open in. A lone VM has one only."""
    if event.host is None or event.scope.startswith(f"{ScopeKind.VM.value}/"):
        return region
    opened = region.host_work.get(event.scope, Map()).set(event.id, event.update_domain)
    return replace(region, host_work=region.host_work.set(event.scope, opened))


def _close_work(region: Region, event: Event) -> Region:
    opened = region.host_work.get(event.scope, Map())
    if event.id not in opened:
        return region
    left = opened.delete(event.id)
    work = region.host_work.set(event.scope, left) if left else region.host_work.delete(event.scope)
    return replace(region, host_work=work)


def _vm_spared(region: Region, event: Event, vm: Vm, at: datetime) -> Region:
    region = _vm_left(region, event, vm, at)
    vm = replace(vm, events=tuple(other for other in vm.events if other != event.id))
    return replace(region, vms=region.vms.set(vm.key, vm))


def _vm_left(region: Region, event: Event, vm: Vm, at: datetime) -> Region:
    """An event will not hit this VM any more. While it is ahead, its document names those only whom it will hit."""
    vms = tuple(key for key in event.vms if key != vm.key)
    if event.phase not in PENDING:
        return replace(region, events=region.events.set(event.id, replace(event, vms=vms)))
    names = tuple(name for name in event.resources if name != vm.resource_name)
    event = replace(event, vms=vms, resources=names)
    region = replace(region, events=region.events.set(event.id, event))
    return _document_changed(region, event, at) if vms else region  # with none left, the event ends at once


def count_pending(region: Region, before: Event | None, event: Event) -> Region:
    """Keep the counts of what is pending: user operations, and the members of the event's group."""
    was, now = before is not None, event.phase in PENDING
    if was != now and event.cause in USER_OPERATIONS:
        region = replace(region, user_operations=region.user_operations + now - was)
    if not event.group:
        return region
    group = region.groups.get(event.group, Group())
    pending = group.pending.set(event.id, None) if now else group.pending.delete(event.id)
    awaited = group.awaited + (event.phase is Phase.SCHEDULED)
    awaited -= before is not None and before.phase is Phase.SCHEDULED
    groups = region.groups.set(event.group, Group(pending, awaited)) if pending else region.groups.delete(event.group)
    return replace(region, groups=groups)


def _document_changed(region: Region, event: Event, at: datetime, *, add: bool = False) -> Region:
    """Give the scope its next incarnation, if anybody is told of this event at all."""
    scope = region.scopes.get(event.scope)
    if scope is None or not event.announced:
        return region
    listed = scope.events
    if add:
        listed = (*listed, event.id)
    elif event.phase in ENDED:
        listed = tuple(other for other in listed if other != event.id)
    incarnation = scope.incarnation + (scope.enabled_at is not None)
    return _put_scope(region, replace(scope, events=listed, incarnation=incarnation, changed_at=at))


def _impact_began(region: Region, event_id: str) -> Region:
    event = region.events[event_id]
    power = _DURING[CAUSES[event.cause].effect]
    vms = region.vms
    for key in event.vms:
        vm = vms[key]
        if vm.power not in DOWN:
            vms = vms.set(key, replace(vm, power=power))
    return replace(region, vms=vms)


def _impact_ended(region: Region, event_id: str) -> Region:
    event = region.events[event_id]
    effect = CAUSES[event.cause].effect
    vms = region.vms
    for key in event.vms:
        vm = vms[key]
        if vm.power in DOWN:
            continue
        boots = vm.boots + (effect in (Effect.RESTART, Effect.REDEPLOY, Effect.REIMAGE))
        disks = vm.ephemeral_disks + (effect is Effect.REDEPLOY)
        vms = vms.set(key, replace(vm, power=_power_now(region, vm), boots=boots, ephemeral_disks=disks))
    return replace(region, vms=vms)


def _power_now(region: Region, vm: Vm) -> Power:
    """Running, unless another impact still has the VM in hand; of several, the youngest event decides."""
    under_way = [
        event
        for event in map(region.events.__getitem__, vm.events)
        if event.impact_began_at is not None and event.impact_ended_at is None
    ]
    return _DURING[CAUSES[under_way[-1].cause].effect] if under_way else Power.RUNNING


# Campaigns

_CampaignFact = (
    f.CampaignStarted
    | f.CampaignWaveBegan
    | f.CampaignHostsTaken
    | f.CampaignPaused
    | f.CampaignResumed
    | f.CampaignCanceled
    | f.CampaignCompleted
)


def _put_campaign(region: Region, campaign: Campaign) -> Region:
    """Set a campaign. Hosts may be waiting only because they are many, so the next tick has a look at them."""
    waiting = region.campaigns_waiting
    if campaign.waiting and campaign.state is CampaignState.RUNNING:
        region = replace(region, agenda=region.agenda.add(campaign.started_at, keys.of_campaign(campaign.id)))
        waiting = waiting.set(campaign.id, None)
    elif campaign.id in waiting:
        waiting = waiting.delete(campaign.id)
    return replace(region, campaigns=region.campaigns.set(campaign.id, campaign), campaigns_waiting=waiting)


def _campaign_after(campaign: Campaign | None, fact: _CampaignFact) -> Campaign:
    if isinstance(fact, f.CampaignStarted):
        return Campaign(fact.campaign_id, fact.cause, fact.at, fact.hosts, fact.hosts_at_once)
    assert campaign is not None
    match fact:
        case f.CampaignWaveBegan(wave=wave, hosts=hosts):
            return replace(campaign, wave=wave, waiting=hosts)
        case f.CampaignHostsTaken(hosts=hosts):
            return replace(campaign, waiting=campaign.waiting[len(hosts) :])
        case f.CampaignPaused():
            return replace(campaign, state=CampaignState.PAUSED)
        case f.CampaignResumed():
            return replace(campaign, state=CampaignState.RUNNING)
        case f.CampaignCanceled():
            return replace(campaign, state=CampaignState.CANCELED, waiting=(), ended_at=fact.at)
        case f.CampaignCompleted():
            return replace(campaign, state=CampaignState.COMPLETED, ended_at=fact.at)
        case _:
            assert_never(fact)
