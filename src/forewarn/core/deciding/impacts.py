"""The impact of an event: what engines report of it, and what has become of the VMs when it is over."""

from __future__ import annotations

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import CAUSES, Effect
from forewarn.core.deciding.events import leave_host
from forewarn.core.deciding.placement import find_host
from forewarn.core.draft import Draft
from forewarn.core.looking.errands import errands_of, is_pretended
from forewarn.core.phases import Phase
from forewarn.core.region import Event, Power, Vm
from forewarn.core.specs import EvictionPolicy


def begin_impact(draft: Draft, command: c.BeginImpact) -> None:
    """An engine may say so twice, after a crash; the first time counts."""
    event = draft.region.events.get(command.event_id)
    if event is None or event.phase is not Phase.STARTED or event.impact_began_at is not None:
        return
    if is_pretended(draft.region, event):
        draft.record(f.ImpactBegan(draft.now, event.id, command.ends_at))


def begin_real(draft: Draft, event: Event) -> None:
    """The first errand of an event is tried. Where some of its machines are pretended, those tell when it begins."""
    if event.impact_began_at is None and not is_pretended(draft.region, event):
        draft.record(f.ImpactBegan(draft.now, event.id))


def finish_impact(draft: Draft, command: c.EndImpact) -> None:
    event = draft.region.events.get(command.event_id)
    if event is None or event.impact_began_at is None or event.impact_ended_at is not None:
        return
    if not any(errands_of(draft.region, event)):
        end_impact(draft, event)


def end_impact(draft: Draft, event: Event) -> None:
    """The machines are back, moved, stopped or gone, as the effect wants. What became of real ones was seen."""
    draft.record(f.ImpactEnded(draft.now, event.id))
    effect = CAUSES[event.cause].effect
    for key in event.vms:
        vm = draft.region.vms[key]
        if key in draft.region.machines:
            continue
        if effect is Effect.DELETE or (effect is Effect.EVICT and vm.spec.eviction_policy is EvictionPolicy.DELETE):
            draft.record(f.VmDeleted(draft.now, key))
        elif effect is Effect.EVICT and vm.power is not Power.DEALLOCATED:
            draft.record(f.VmDeallocated(draft.now, key))
        elif effect in (Effect.MIGRATE, Effect.REDEPLOY):
            _move(draft, vm)


def _move(draft: Draft, vm: Vm) -> None:
    if vm.host is not None:
        host = find_host(draft, vm.fault_domain, vm.update_domain, other_than=vm.host)
        draft.record(f.VmMoved(draft.now, vm.key, host))
        leave_host(draft, vm.key)
