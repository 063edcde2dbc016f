"""How the facts of events change a region: the event, its VMs, and the scope whose document shows it."""

from __future__ import annotations

from datetime import datetime

from forewarn.core import facts as f
from forewarn.core import keys
from forewarn.core.causes import CAUSES, USER_OPERATIONS, Cause, Effect
from forewarn.core.folding import sets
from forewarn.core.folding.machines import crashed
from forewarn.core.folding.sets import put_scope
from forewarn.core.lifecycle import EventMoved, event_after
from forewarn.core.maps import Map
from forewarn.core.phases import ENDED, PENDING, Phase
from forewarn.core.region import DOWN, Event, Group, Power, Region, Vm, replace
from forewarn.core.specs import ScopeKind, with_traits

_DURING = {
    Effect.PAUSE: Power.FROZEN,
    Effect.MIGRATE: Power.FROZEN,
    Effect.RESTART: Power.RESTARTING,
    Effect.REDEPLOY: Power.REDEPLOYING,
    Effect.EVICT: Power.EVICTING,
    Effect.DELETE: Power.DELETING,
    Effect.REIMAGE: Power.REIMAGING,
}


def event_added(region: Region, fact: f.EventScheduled | f.EventBornStarted) -> Region:
    """An event begins its life."""
    event, at = event_after(None, fact), fact.at
    vms = region.vms
    for key in event.vms:
        vm = vms[key]
        vms = vms.set(key, replace(vm, events=(*vm.events, event.id)))
    region = sets.deletion_added(replace(region, vms=vms, events=region.events.set(event.id, event)), event)
    if event.phase in PENDING:
        region = replace(region, agenda=region.agenda.add(event.not_before, keys.of_event(event.id)))
        region = count_pending(region, None, event)
    region = open_work(region, event)
    if event.cause is Cause.CRASH:
        region = crashed(region, event.vms, at)
    if event.campaign:
        campaign = region.campaigns[event.campaign]
        opened = campaign.open_events.set(event.id, -1 if event.host is None else event.host)
        campaign = replace(campaign, open_events=opened, events_total=campaign.events_total + 1)
        region = replace(region, campaigns=region.campaigns.set(campaign.id, campaign))
    return _document_changed(region, event, at, add=True)


def event_announced(region: Region, fact: f.EventAnnounced) -> Region:
    """Put a pending event into its scope's list. The incarnation grows with the enabling that follows, once for all."""
    vm = region.vms[region.events[fact.event_id].vms[0]]
    region = event_moved(region, fact)
    region, scope = sets.scope_made(region, vm.scope, vm.spec.kind, vm.spec.set_name or vm.name)
    return put_scope(region, replace(scope, events=(*scope.events, fact.event_id)))


def event_moved(region: Region, fact: EventMoved) -> Region:
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
    region = sets.event_ended(_close_work(region, event), event)
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


def vm_spared(region: Region, fact: f.VmSpared) -> Region:
    """The VM has left the host that the event is about."""
    vm = region.vms[fact.vm]
    region = vm_left(region, region.events[fact.event_id], vm, fact.at)
    vm = replace(vm, events=tuple(other for other in vm.events if other != fact.event_id))
    return replace(region, vms=region.vms.set(vm.key, vm))


def vm_left(region: Region, event: Event, vm: Vm, at: datetime) -> Region:
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
    """Give the scope its next incarnation, if its documents show this event at all."""
    scope = region.scopes.get(event.scope)
    if scope is None or not event.announced:
        return region
    listed = scope.events
    if add:
        listed = (*listed, event.id)
    elif event.phase in ENDED:
        listed = tuple(other for other in listed if other != event.id)
    incarnation = scope.incarnation + (scope.enabled_at is not None)
    return put_scope(region, replace(scope, events=listed, incarnation=incarnation, changed_at=at))


def impact_began(region: Region, fact: f.ImpactBegan) -> Region:
    """The machines are disturbed from here on."""
    region = event_moved(region, fact)
    event = region.events[fact.event_id]
    power = _DURING[CAUSES[event.cause].effect]
    vms = region.vms
    for key in event.vms:
        vm = vms[key]
        if vm.power not in DOWN:
            vms = vms.set(key, replace(vm, power=power))
    return replace(region, vms=vms)


def impact_ended(region: Region, fact: f.ImpactEnded) -> Region:
    """The machines are back."""
    region = event_moved(region, fact)
    event = region.events[fact.event_id]
    effect = CAUSES[event.cause].effect
    vms = region.vms
    for key in event.vms:
        vm = vms[key]
        if vm.power in DOWN:
            continue
        pretended = key not in region.machines  # what became of a real one was seen
        if pretended and effect in (Effect.RESTART, Effect.REDEPLOY, Effect.REIMAGE):
            disks = vm.traits.ephemeral_disks + (effect is Effect.REDEPLOY)
            vm = with_traits(vm, boots=vm.boots + 1, ephemeral_disks=disks)
        vms = vms.set(key, replace(vm, power=_power_now(region, vm)))
    return replace(region, vms=vms)


def _power_now(region: Region, vm: Vm) -> Power:
    """Running, unless another impact still has the VM in hand; of several, the youngest event decides."""
    under_way = [
        event
        for event in map(region.events.__getitem__, vm.events)
        if event.impact_began_at is not None and event.impact_ended_at is None
    ]
    return _DURING[CAUSES[under_way[-1].cause].effect] if under_way else Power.RUNNING
