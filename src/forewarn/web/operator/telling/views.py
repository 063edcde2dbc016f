"""Values of the region as answers."""

from __future__ import annotations

from datetime import timedelta

from forewarn.core.causes import CAUSES
from forewarn.core.phases import PENDING, Phase
from forewarn.core.region import Event, Host, RealHost, Region, Scope, Vm, fold
from forewarn.core.specs import Binding, BindingPattern, Policy, ScopeKind
from forewarn.web.arm_ids import instance_name
from forewarn.web.operator.desk import Look
from forewarn.web.operator.schema.fleet_answers import (
    BindingAnswer,
    EventAnswer,
    HostAnswer,
    PolicyAnswer,
    ScopeAnswer,
    VmAnswer,
)
from forewarn.web.operator.telling.machine_views import machine_fields


def vm_fields(region: Region, vm: Vm) -> VmAnswer:
    spec = vm.spec
    scale_set = region.scale_sets.get(fold(vm.scale_set)) if vm.scale_set else None
    return VmAnswer(
        name=vm.name,
        resource_name=vm.resource_name,
        vm_id=vm.vm_id,
        scope=vm.scope,
        power=vm.power.value,
        host=host_name(region, vm.host),
        update_domain=vm.update_domain,
        fault_domain=vm.fault_domain,
        spot=spec.spot,
        eviction_policy=spec.eviction_policy.value,
        vnet=spec.vnet,
        boots=vm.boots,
        ephemeral_disks=vm.traits.ephemeral_disks,
        terminate_notice_seconds=seconds(spec.terminate_notice),
        os_image_notice_seconds=seconds(spec.os_image_notice),
        scale_set=None if scale_set is None else scale_set.name,
        instance_id=None if scale_set is None else instance_name(scale_set, vm),
        model=None if scale_set is None else vm.traits.model,
        latest_model=None if scale_set is None else vm.traits.model == scale_set.model,
        protected=vm.traits.protected,
        resource_group=spec.resource_group,
        size=spec.size,
        os_type=spec.os_type,
        tags=dict(spec.tags),
        created_at=vm.created_at,
        binding=binding_fields(vm.binding),
        machine=machine_fields(region, vm.key),
    )


def binding_fields(binding: Binding | BindingPattern) -> BindingAnswer:
    return BindingAnswer(
        address=binding.address,
        local_address=binding.local_address,
        netns=binding.netns,
        interface=binding.interface,
        unix=binding.unix if isinstance(binding, Binding) else "",  # instances of a set have none
    )


def seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()


def scope_fields(scope: Scope) -> ScopeAnswer:
    return ScopeAnswer(
        key=scope.key,
        kind=scope.kind.value,
        name=scope.name,
        resource_group=scope.resource_group,
        enabled_at=scope.enabled_at,
        last_read_at=scope.last_read_at,
        incarnation=scope.incarnation,
        vms=1 if scope.kind is ScopeKind.VM else len(scope.members),
        events=list(scope.events),
        policy=policy_fields(scope.policy),
    )


def policy_fields(policy: Policy) -> PolicyAnswer:
    return PolicyAnswer(
        auto_approve_reboot=policy.auto_approve_reboot,
        auto_approve_redeploy=policy.auto_approve_redeploy,
        all_instances_down=policy.all_instances_down,
    )


def host_fields(region: Region, host: Host) -> HostAnswer:
    return HostAnswer(
        name=host.name,
        fault_domain=host.fault_domain,
        update_domain=host.update_domain,
        health=host.health.value,
        engine=host.engine if isinstance(host, RealHost) else None,
        capacity=host.capacity,
        vms=vm_names(region, sorted(host.vms)),
    )


def event_fields(look: Look, event: Event) -> EventAnswer:
    row = CAUSES[event.cause]
    return EventAnswer(
        id=event.id,
        type=row.type.value,
        source=row.source.value,
        cause=event.cause.value,
        phase=event.phase.value,
        announced=event.announced,
        scope=event.scope,
        vms=vm_names(look.region, event.vms),
        resources=list(event.resources),
        update_domain=event.update_domain,
        host=host_name(look.region, event.host),
        description=row.description,
        duration_seconds=event.duration_seconds,
        scheduled_at=event.scheduled_at,
        not_before=event.not_before,
        approved_at=event.approved_at,
        approved_by=event.approved_by or None,
        started_at=event.started_at,
        impact_began_at=event.impact_began_at,
        impact_ends_at=event.impact_ends_at,
        impact_ended_at=event.impact_ended_at,
        campaign=event.campaign or None,
        awaited=awaited(look, event),
    )


def in_time(event: Event) -> bool | None:
    """Whether it was approved before NotBefore; None while that is open."""
    if event.announced and event.approved_at is not None:
        return event.approved_at <= event.not_before
    return None if event.phase in PENDING else False


def awaited(look: Look, event: Event) -> list[str]:
    """The events for which a pending one waits: those of its group that are neither approved nor due."""
    if event.phase not in PENDING:
        return []
    if event.group not in look.awaited:
        look.awaited[event.group] = _awaited_of(look, event.group)
    return [other for other in look.awaited[event.group] if other != event.id]


def _awaited_of(look: Look, group: str) -> list[str]:
    found = look.region.groups.get(group)
    pending = [look.region.events[event_id] for event_id in sorted(found.pending)] if found else []
    return [event.id for event in pending if event.phase is Phase.SCHEDULED and event.not_before > look.now]


def vm_names(region: Region, keys: tuple[str, ...] | list[str]) -> list[str]:
    """The names of VMs as they were given; of a VM that is gone only its key is left."""
    return [region.vms[key].name if key in region.vms else key for key in keys]


def host_name(region: Region, number: int | None) -> str | None:
    """As people know it: a real host has a name of its own, a pretended one its number."""
    if number is None:
        return None
    host = region.hosts.get(number)  # one that a dry run has made up is not there
    return f"host-{number}" if host is None else host.name
