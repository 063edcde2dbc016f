"""Commands that disturb VMs: what users ask for, what hosts need, and campaigns over many hosts."""

from __future__ import annotations

from datetime import timedelta

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.deciding.events import cancel, cancel_work, maintain_host, mark_host, raise_event, under
from forewarn.core.deciding.machines.errands import kind_of
from forewarn.core.deciding.placement import can, check_kind, room_or_refuse
from forewarn.core.draft import Draft
from forewarn.core.looking.lookup import check_maintenance, find_campaign, find_hosts, find_vms, scope_named
from forewarn.core.looking.turns import events_in_turn
from forewarn.core.machines.values import PLACED, ErrandKind
from forewarn.core.phases import PENDING
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import DOWN, CampaignState, Host, HostHealth, Power, RealHost, Vm, fold

VMS_MOST = 20_000  # hosts of one command: other commands wait for its transaction, so a larger fleet takes a campaign


def user_operation(draft: Draft, cause: Cause, names: tuple[str, ...], seed: str) -> None:
    limit = draft.rules.user_operation_limit
    for vm in find_vms(draft.region, names):
        _check_running(vm)
        _check_machine(draft, vm, cause)
        before = draft.region.user_operations
        if not under(draft, vm, cause):
            raise_event(draft, cause, vm, seed)
        if limit and before < draft.region.user_operations > limit:  # what starts at once was never scheduled
            raise Refused(
                Hint.CONFLICT,
                f"At most {limit} user operations may be scheduled at once; approve some, wait, or raise the setting "
                "user_operation_limit (0 means no limit).",
            )


def evict(draft: Draft, command: c.EvictVms) -> None:
    for vm in find_vms(draft.region, command.vms):
        if not vm.spec.spot:
            raise Refused(Hint.CONFLICT, f"VM '{vm.name}' cannot be evicted: only Spot VMs can.")
        _check_running(vm)
        _check_machine(draft, vm, Cause.EVICTION)
        if not under(draft, vm, Cause.EVICTION):
            raise_event(draft, Cause.EVICTION, vm, command.seed)


def reimage(draft: Draft, command: c.ReimageVms) -> None:
    """Reimage VMs at once; by a Reimage event where the VM has an OS image notice and its scope is enabled."""
    for vm in find_vms(draft.region, command.vms):
        _check_running(vm)
        _check_machine(draft, vm, Cause.REIMAGE)
        notice = vm.spec.os_image_notice
        if not under(draft, vm, Cause.REIMAGE):
            raise_event(draft, Cause.REIMAGE, vm, command.seed, notice or timedelta(0), announce=notice is not None)


def _check_machine(draft: Draft, vm: Vm, cause: Cause) -> None:
    """Refuse what the VM's engine cannot do, and to move a machine where there is no room for it."""
    if vm.key in draft.region.machines:
        kind = kind_of(cause, vm)
        check_kind(draft.region, vm, kind)
        if kind in PLACED:
            room_or_refuse(draft.region, vm, kind)


def _check_maintained(draft: Draft, vm: Vm, cause: Cause) -> None:
    """The same for one VM of a host. One that cannot be moved while it runs gets what the owner has chosen instead; of
    an engine that moves none, live migration is refused."""
    instead, engine_can = draft.rules.when_not_migratable.cause, _engine_can_migrate(draft, vm)
    if cause is Cause.LIVE_MIGRATION and engine_can and instead and not can(draft.region, vm, ErrandKind.MIGRATE):
        cause = instead
    _check_machine(draft, vm, cause)


def _engine_can_migrate(draft: Draft, vm: Vm) -> bool:
    host = draft.region.real_host(draft.region.machines[vm.key].host)
    return host is None or host.can(ErrandKind.MIGRATE)


def _check_running(vm: Vm) -> None:
    if vm.power in DOWN:
        raise Refused(Hint.CONFLICT, f"VM '{vm.name}' is {vm.power.value}; start it first.")
    if vm.power in (Power.EVICTING, Power.DELETING):
        raise Refused(Hint.CONFLICT, f"VM '{vm.name}' is {vm.power.value} already.")


def maintain(draft: Draft, command: c.MaintainHosts) -> None:
    check_maintenance(command.cause)
    for host in _few_enough(find_hosts(draft.region, command.hosts)):
        for key in sorted(host.vms) if isinstance(host, RealHost) else ():
            _check_maintained(draft, draft.region.vms[key], command.cause)
        maintain_host(draft, command.cause, host, command.seed)


def fail(draft: Draft, command: c.FailHosts) -> None:
    if not command.hosts:
        raise Refused(Hint.INVALID, "Name at least one host.")
    for host in _few_enough(find_hosts(draft.region, command.hosts)):
        if isinstance(host, RealHost) and host.health in (HostHealth.SILENT, HostHealth.FENCED):
            raise Refused(
                Hint.CONFLICT,
                f"Host '{host.name}' is {host.health.value}, and what it ran may be running: if it is off for certain, "
                "confirm that it is lost.",
            )
        cancel_work(draft, host)
        mark_host(draft, host, HostHealth.FAILED)
        maintain_host(draft, Cause.FAILURE, draft.region.hosts[host.number], command.seed)


def _few_enough(hosts: list[Host]) -> list[Host]:
    """A command is one transaction, whole or refused; while it lasts, no other command is written."""
    count = sum(len(host.vms) for host in hosts)
    if count > VMS_MOST:
        raise Refused(
            Hint.INVALID,
            f"These hosts run {count} VMs, and one command may hit {VMS_MOST}. Name fewer hosts, or start a campaign, "
            "which takes any number in turns.",
        )
    return hosts


def start_campaign(draft: Draft, command: c.StartCampaign) -> None:
    check_maintenance(command.cause)
    if command.id in draft.region.campaigns:
        raise Refused(Hint.CONFLICT, f"There has been a campaign {command.id} already.")
    if command.hosts_at_once < 0:
        raise Refused(Hint.INVALID, "hosts_at_once must be 0 (no limit) or more.")
    chosen = {host.number for host in find_hosts(draft.region, command.hosts)} if command.hosts else set()
    for key in command.scopes:
        scope_named(draft.region, fold(key))  # or it is refused
        chosen |= _hosts_of_scope(draft, fold(key))
    if not chosen and (command.hosts or command.scopes or not draft.region.vms):
        raise Refused(Hint.CONFLICT, "There is no host with a VM to maintain.")
    hosts = tuple(sorted(chosen))
    if command.cause is Cause.LIVE_MIGRATION:
        _check_migrated(draft, chosen)
    draft.record(f.CampaignStarted(draft.now, command.id, command.cause, hosts, command.hosts_at_once))


def _check_migrated(draft: Draft, chosen: set[int]) -> None:
    """A campaign is refused at once where a host's turn would be: what cannot be moved is not found out in the middle.

    For machines that come to such a host later, see ``maintain_host``.
    """
    for key in sorted(draft.region.machines):
        vm = draft.region.vms[key]
        if not chosen or vm.host in chosen:
            instead = draft.rules.when_not_migratable.cause if _engine_can_migrate(draft, vm) else None
            check_kind(draft.region, vm, ErrandKind.MIGRATE if instead is None else kind_of(instead, vm))


def _hosts_of_scope(draft: Draft, key: str) -> set[int]:
    _, _, name = key.partition("/")
    scope = draft.region.scopes.get(key)
    vms = draft.region.members_of(scope) if scope is not None else (draft.region.vms[name],)
    return {vm.host for vm in vms if vm.host is not None}


def cancel_campaign(draft: Draft, command: c.CancelCampaign) -> None:
    campaign = find_campaign(draft.region, command.id)
    draft.record(f.CampaignCanceled(draft.now, campaign.id))
    for event_id in events_in_turn(draft.region, campaign.open_events):
        event = draft.region.events.get(event_id)
        if event is not None and event.phase in PENDING:
            cancel(draft, event, "its campaign was canceled")


def pause_campaign(draft: Draft, command: c.PauseCampaign) -> None:
    campaign = find_campaign(draft.region, command.id)
    if campaign.state is CampaignState.RUNNING:
        draft.record(f.CampaignPaused(draft.now, campaign.id))


def resume_campaign(draft: Draft, command: c.ResumeCampaign) -> None:
    campaign = find_campaign(draft.region, command.id)
    if campaign.state is CampaignState.PAUSED:
        draft.record(f.CampaignResumed(draft.now, campaign.id))
