"""How events come to be, for users, hosts and campaigns alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.deciding.placement import can
from forewarn.core.draft import Draft
from forewarn.core.guids import derive_guid
from forewarn.core.looking.turns import events_in_turn, is_in_hand
from forewarn.core.machines.values import ErrandKind
from forewarn.core.phases import PENDING
from forewarn.core.region import Event, Host, HostHealth, Region, Scope, Vm, fold, replace

NOBODY_READS = "nobody: the scope does not read its documents"
BY_POLICY = "policy: approved automatically"
NEVER_TOLD = "nobody: it is not told of"


def raise_event(
    draft: Draft, cause: Cause, vm: Vm, seed: str, notice: timedelta | None = None, *, announce: bool = True
) -> Event:
    """One VM's own event, born started where no approval is needed."""
    scope = draft.region.scope_of(vm)
    event = _event(draft, cause, scope, [vm], seed, notice)
    scale_set = draft.region.scale_sets.get(fold(vm.scale_set)) if cause is Cause.DELETION and vm.scale_set else None
    if scale_set is not None and event.announced:
        event = replace(event, group=scale_set.group)
    if not announce:
        event = replace(event, announced=False, recovery=timedelta(0))
    draft.awaits[event.id] = None
    if event.announced and not _automatic(scope, cause):
        draft.record(f.EventScheduled(draft.now, event))
    elif not is_in_hand(draft.region, event):
        draft.record(f.EventBornStarted(draft.now, event))
    else:
        why = BY_POLICY if event.announced else NOBODY_READS if announce else NEVER_TOLD
        _start_in_turn(draft, event, why)
    return event


def bear_started(draft: Draft, cause: Cause, vm: Vm, seed: str) -> None:
    """Record an event for what has already happened to a VM: it is born started, and needs no approval."""
    draft.record(f.EventBornStarted(draft.now, _event(draft, cause, draft.region.scope_of(vm), [vm], seed)))


def _start_in_turn(draft: Draft, event: Event, why: str) -> None:
    """Schedule an event that needs no approval but whose VM is in another event's hands: it starts after that one."""
    draft.record(f.EventScheduled(draft.now, event))
    draft.record(f.EventApproved(draft.now, event.id, why))


def is_yet_to_be_told(event: Event) -> bool:
    """Whether it is ahead, and in no document only because its scope has not read so far."""
    return event.phase in PENDING and not event.announced and event.approved_by != NEVER_TOLD


def announce_pending(draft: Draft, scope: Scope) -> list[str]:
    """A scope begins to read: all that is still ahead of it is announced, and waits for its approval.

    Gives back the events that the scope's policy approves.
    """
    ids = dict.fromkeys(event_id for vm in draft.region.members_of(scope) for event_id in vm.events)
    untold = [event for event in map(draft.region.events.__getitem__, ids) if is_yet_to_be_told(event)]
    for event in sorted(untold, key=lambda each: (each.scheduled_at, each.id)):
        draft.record(f.EventAnnounced(draft.now, event.id, draft.rules.recovery(event.cause)))
    return [event.id for event in untold if _automatic(scope, event.cause)]


def maintain_host(
    draft: Draft, cause: Cause, host: Host, seed: str, campaign: str = "", *, instead: Cause | None = None
) -> None:
    """One event for each scope on the host. They start together: the host is worked on once.

    Real machines that cannot be moved while they run have events of the cause ``instead``, which is the owner's choice
    where it is left out.
    """
    if cause is Cause.PREDICTED_FAILURE:
        mark_host(draft, host, HostHealth.FAILING)
    work = derive_guid(seed, host.name)
    instead = instead or draft.rules.when_not_migratable.cause
    events = [_event(draft, why, scope, vms, work) for why, scope, vms in _tenants(draft, host, cause, instead)]
    group = f"host/{work}" if len(events) > 1 else ""
    wait = any(event.announced for event in events)
    for event in events:
        event = replace(event, group=group, host=host.number, campaign=campaign)
        draft.awaits[event.id] = None
        if cause is Cause.FAILURE or not (wait or is_in_hand(draft.region, event)):
            draft.record(f.EventBornStarted(draft.now, replace(event, group="")))
        elif event.announced:
            draft.record(f.EventScheduled(draft.now, event))
        else:
            _start_in_turn(draft, event, NOBODY_READS)


def leave_host(draft: Draft, key: str) -> None:
    """A VM has come to another host: what is still ahead of the one it left is not its business any more."""
    vm = draft.region.vms[key]
    for event_id in vm.events:
        event = draft.region.events[event_id]
        if event.phase in PENDING and event.host is not None and event.host != vm.host:
            draft.record(f.VmSpared(draft.now, event_id, key))


def mark_host(draft: Draft, host: Host, health: HostHealth) -> None:
    """Take a host out of placement. What has failed does not become merely failing again."""
    if host.health not in (health, HostHealth.FAILED):
        draft.record(f.HostMarked(draft.now, host.number, health))


def cancel(draft: Draft, event: Event, why: str) -> None:
    """Withdraw a pending event, and with it the others on its host: their work is one."""
    group = draft.region.groups.get(event.group) if event.group.startswith("host/") else None
    for event_id in events_in_turn(draft.region, group.pending) if group is not None else (event.id,):
        draft.record(f.EventCanceled(draft.now, event_id, why))


def cancel_work(draft: Draft, host: Host) -> None:
    """A host has failed: what was ahead of it is not done any more."""
    for key in sorted(host.vms):
        for event_id in draft.region.vms[key].events:
            event = draft.region.events.get(event_id)
            if event is not None and event.phase in PENDING and event.host == host.number:
                cancel(draft, event, f"{host.name} has failed")


def whole_seconds_up(instant: datetime) -> datetime:
    """Rounded up, so that the notice is never shorter than promised."""
    return instant if instant.microsecond == 0 else instant.replace(microsecond=0) + timedelta(seconds=1)


def _tenants(draft: Draft, host: Host, cause: Cause, instead: Cause | None) -> list[tuple[Cause, Scope, list[Vm]]]:
    """The VMs of a host, by scope. One that failed with its host does not fail again while it is being rebuilt."""
    by_scope: dict[tuple[str, Cause], list[Vm]] = {}
    for key in sorted(host.vms):
        vm = draft.region.vms[key]
        why = instead if cause is Cause.LIVE_MIGRATION and not _is_migratable(draft.region, vm) else cause
        if why is not None and (cause is not Cause.FAILURE or not _is_being_rebuilt(draft, vm)):
            by_scope.setdefault((vm.scope, why), []).append(vm)
    return [(why, draft.region.scope_of(vms[0]), vms) for (_, why), vms in sorted(by_scope.items())]


def _is_migratable(region: Region, vm: Vm) -> bool:
    return vm.key not in region.machines or can(region, vm, ErrandKind.MIGRATE)


def _is_being_rebuilt(draft: Draft, vm: Vm) -> bool:
    events = [draft.region.events[event_id] for event_id in vm.events]
    found = [event.id for event in events if event.cause is Cause.FAILURE and event.impact_ended_at is None]
    draft.awaits.update(dict.fromkeys(found))
    return bool(found)


def _event(
    draft: Draft, cause: Cause, scope: Scope, vms: Sequence[Vm], seed: str, notice: timedelta | None = None
) -> Event:
    vms = sorted(vms, key=lambda vm: (vm.number, vm.key))
    rules = draft.rules
    event_id = derive_guid(seed, scope.key, *(vm.key for vm in vms))
    assert event_id not in draft.region.events, "a seed was used twice"
    return Event(
        id=event_id,
        cause=cause,
        scope=scope.key,
        vms=tuple(vm.key for vm in vms),
        resources=tuple(vm.resource_name for vm in vms),
        update_domain=vms[0].update_domain,
        scheduled_at=draft.now,
        not_before=whole_seconds_up(draft.now + (rules.notice(cause) if notice is None else notice)),
        recovery=rules.recovery(cause) if scope.enabled_at is not None else timedelta(0),
        duration_seconds=_duration(draft, cause, vms),
        announced=scope.enabled_at is not None,
    )


def _duration(draft: Draft, cause: Cause, vms: Sequence[Vm]) -> int:
    """The announced duration in seconds.

    Of a live migration it is the longest that was measured of these VMs, where the owner wants that and all have been
    measured.
    """
    usual, machines = draft.rules.duration_seconds(cause), draft.region.machines
    if cause is not Cause.LIVE_MIGRATION or not draft.rules.duration_from_engine:
        return usual
    measured = [machines[vm.key].stood if vm.key in machines else 0 for vm in vms]
    return max(measured) if all(measured) else usual


def _automatic(scope: Scope, cause: Cause) -> bool:
    policy = scope.policy
    return (cause is Cause.USER_RESTART and policy.auto_approve_reboot) or (
        cause is Cause.USER_REDEPLOY and policy.auto_approve_redeploy
    )


def under(draft: Draft, vm: Vm, cause: Cause) -> bool:
    """Whether the same is ahead of the VM or being done to it already; a second request waits for that one."""
    found = joined(draft.region, vm, cause)
    if found is not None:
        draft.awaits[found.id] = None
    return found is not None


def joined(region: Region, vm: Vm, cause: Cause) -> Event | None:
    """The event that a request for the same again joins. One whose impact has ended is past: it cannot do it again."""
    events = (region.events[event_id] for event_id in vm.events)
    return next((event for event in events if event.cause is cause and event.impact_ended_at is None), None)
