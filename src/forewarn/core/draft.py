"""A region and the facts that led to it, while a command is being worked out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias, get_args

from forewarn.core import facts as f
from forewarn.core import keys
from forewarn.core.folding.evolve import evolve
from forewarn.core.keys import Key
from forewarn.core.looking.turns import events_in_turn, in_turn
from forewarn.core.machines import facts as mf
from forewarn.core.phases import PENDING
from forewarn.core.region import Event, RealHost, Region, fold
from forewarn.core.rules import Rules

# After these a host may be free for a campaign that other work has held up.
_LETS_CAMPAIGNS_GO_ON = (f.EventCanceled, f.EventCompleted, f.VmSpared, f.VmMoved, f.VmDeallocated, f.VmDeleted)


class Draft:
    """A region and the facts that lead to it while a command is worked out.

    It is published once its facts are in the journal; that of a refused command is dropped.
    """

    def __init__(self, region: Region, now: datetime, rules: Rules) -> None:
        self.region = region
        self.now = now
        self.rules = rules
        self.facts: list[f.Fact] = []
        self.touched: list[Key] = []  # what *settle* has to look at again
        self.awaits: dict[str, None] = {}  # events that the command's operation will wait for

    def record(self, fact: f.Fact) -> None:
        """Something happened: fold it, keep it, and note what may follow from it."""
        before = self.region
        self.region = evolve(before, fact)
        self.facts.append(fact)
        if self.region.real_hosts:
            self.touched.extend(_of_machines(before, self.region, fact))
        if (follows := _FOLLOWS.get(type(fact))) is not None:
            self.touched.extend(follows(before, self.region, fact))
        if self.region.campaigns_waiting and isinstance(fact, _LETS_CAMPAIGNS_GO_ON):
            self.touched.extend(map(keys.of_campaign, in_turn(self.region, self.region.campaigns_waiting)))


def _of_machines(before: Region, after: Region, fact: f.Fact) -> list[Key]:
    """Errands to make for what has started, the next one of a machine, and room that may have been made."""
    match fact:
        case f.EventStarted(event_id=event_id) | f.EventBornStarted(event=Event(id=event_id)):
            real = any(key in after.machines for key in after.events[event_id].vms)
            return [keys.of_errands(event_id)] if real else []
        case mf.HostRegistered(host=host) | mf.HostBack(host=host) | mf.HostResumed(host=host):
            found = after.hosts[host]
            return [keys.of_room(found.engine)] if isinstance(found, RealHost) else []
        case mf.ErrandEnded(errand_id=errand_id, vm=vm) | mf.ErrandGivenUp(errand_id=errand_id, vm=vm):
            errand = before.errands[errand_id].errand
            waiting = [keys.of_operation(each) for each in sorted(before.awaited.get(errand_id, ()))]
            touched = [*waiting, keys.of_room(errand.engine), *([keys.of_machine(vm)] if vm else [])]
            campaign = before.events[errand.event].campaign if errand.event else ""
            touched += [keys.of_campaign(campaign)] if campaign else []
            return [*touched, keys.of_event(errand.event)] if errand.event else touched
        case f.VmDeleted(vm=vm) | f.VmDeallocated(vm=vm) | f.VmMoved(vm=vm) | mf.MachineReleased(vm=vm):
            machine = before.machines.get(vm)
            if machine is None:
                return []
            operations = {each for errand_id in machine.errands for each in before.awaited.get(errand_id, ())}
            return [keys.of_room(machine.engine), *map(keys.of_operation, sorted(operations))]
        case _:
            return []


def _freed(before: Region, after: Region, event_id: str) -> list[Key]:
    """The event itself, and the others of its group if this was the last one they waited for."""
    touched = [keys.of_event(event_id)]
    name = before.events[event_id].group
    group = after.groups.get(name)
    if group is not None and group.awaited == 0 != before.groups[name].awaited:
        touched += [keys.of_event(other) for other in events_in_turn(after, group.pending) if other != event_id]
    return touched


def _whose_turn_may_come(region: Region, event_id: str) -> list[Key]:
    """Events that wait until the VMs are out of this one's hands."""
    events = [other for key in region.events[event_id].vms for other in region.vms[key].events]
    return [keys.of_event(other) for other in events if region.events[other].phase in PENDING]


def _waiting_for(region: Region, event_id: str) -> list[Key]:
    """The campaign that the event belongs to, and the operations that end with it."""
    campaign = region.events[event_id].campaign
    operations = [keys.of_operation(operation_id) for operation_id in sorted(region.awaited.get(event_id, ()))]
    return [keys.of_campaign(campaign), *operations] if campaign else operations


def _set_of(region: Region, name: str) -> list[Key]:
    scale_set = region.scale_sets.get(fold(name)) if name else None
    return [keys.of_deleted_set(scale_set.key)] if scale_set is not None and scale_set.deleting else []


def _awaits_no_longer(before: Region, after: Region, fact: _Step) -> list[Key]:
    return [*_freed(before, after, fact.event_id), *_waiting_for(before, fact.event_id)]


def _deleted(before: Region, _: Region, fact: f.VmDeleted) -> list[Key]:
    gone = before.vms[fact.vm]
    return [*map(keys.of_event, gone.events), *_set_of(before, gone.scale_set)]


def _taken(_: Region, after: Region, fact: f.CampaignHostsTaken) -> list[Key]:
    """The agenda has the campaign where others of its hosts are still waiting."""
    return [] if after.campaigns[fact.campaign_id].waiting else [keys.of_campaign(fact.campaign_id)]


_Step: TypeAlias = f.EventApproved | f.EventStarted | f.EventCanceled

# What may follow from a fact, by its kind: from the region before, the region after, and the fact. A table, because
# very many facts may follow from one command.
_FOLLOWS: dict[type, Callable[[Region, Region, Any], list[Key]]] = {
    f.EventScheduled: lambda _before, _after, fact: [keys.of_event(fact.event.id)],
    f.EventAnnounced: lambda _before, _after, fact: [keys.of_event(fact.event_id)],
    **dict.fromkeys(get_args(_Step), _awaits_no_longer),
    f.EventCompleted: lambda before, _after, fact: _waiting_for(before, fact.event_id),
    f.ImpactEnded: lambda _before, after, fact: [
        keys.of_event(fact.event_id),
        *_whose_turn_may_come(after, fact.event_id),
    ],
    f.VmSpared: lambda _before, _after, fact: [keys.of_event(fact.event_id)],
    **dict.fromkeys(
        (f.VmDeallocated, f.VmStopped), lambda before, _after, fact: [*map(keys.of_event, before.vms[fact.vm].events)]
    ),
    f.VmDeleted: _deleted,
    f.ScaleSetDeletionAsked: lambda _before, _after, fact: [keys.of_deleted_set(fact.scale_set)],
    **dict.fromkeys(
        (f.RollingUpgradeStarted, f.RollingUpgradeBatched),
        lambda _before, _after, fact: [keys.of_rolling_upgrade(fact.scale_set)],
    ),
    f.OperationStarted: lambda _before, _after, fact: [keys.of_operation(fact.operation_id)],
    f.PolicySet: lambda _before, after, fact: [*map(keys.of_event, after.scopes[fact.scope].events)],
    **dict.fromkeys(
        (f.CampaignStarted, f.CampaignResumed, f.CampaignWaveBegan),
        lambda _before, _after, fact: [keys.of_campaign(fact.campaign_id)],
    ),
    f.CampaignHostsTaken: _taken,
}
