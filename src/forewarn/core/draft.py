"""A region and the facts that led to it, while a command is being worked out."""

from __future__ import annotations

from datetime import datetime

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
    """Not published until its facts are in the journal; the draft of a refused command is dropped."""

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
        self.touched.extend(_consequences(before, self.region, fact))
        if isinstance(fact, _LETS_CAMPAIGNS_GO_ON):
            self.touched.extend(map(keys.of_campaign, in_turn(self.region, self.region.campaigns_waiting)))


def _consequences(before: Region, after: Region, fact: f.Fact) -> list[Key]:
    match fact:
        case f.EventScheduled(event=event):
            return [keys.of_event(event.id)]
        case f.EventAnnounced(event_id=event_id):
            return [keys.of_event(event_id)]
        case (
            f.EventApproved(event_id=event_id) | f.EventStarted(event_id=event_id) | f.EventCanceled(event_id=event_id)
        ):
            return [*_freed(before, after, event_id), *_waiting_for(before, event_id)]
        case f.EventCompleted(event_id=event_id):
            return _waiting_for(before, event_id)
        case f.ImpactEnded(event_id=event_id):
            return [keys.of_event(event_id), *_whose_turn_may_come(after, event_id)]
        case f.VmSpared(event_id=event_id):
            return [keys.of_event(event_id)]
        case f.VmDeallocated(vm=vm) | f.VmStopped(vm=vm):
            return [keys.of_event(event_id) for event_id in before.vms[vm].events]
        case f.VmDeleted(vm=vm):
            gone = before.vms[vm]
            return [*(keys.of_event(event_id) for event_id in gone.events), *_set_of(before, gone.scale_set)]
        case f.ScaleSetDeletionAsked(scale_set=key):
            return [keys.of_deleted_set(key)]
        case f.RollingUpgradeStarted(scale_set=key) | f.RollingUpgradeBatched(scale_set=key):
            return [keys.of_rolling_upgrade(key)]
        case f.OperationStarted(operation_id=operation_id):
            return [keys.of_operation(operation_id)]
        case f.PolicySet(scope=scope):
            return [keys.of_event(event_id) for event_id in after.scopes[scope].events]
        case f.CampaignStarted() | f.CampaignResumed() | f.CampaignWaveBegan():
            return [keys.of_campaign(fact.campaign_id)]
        case f.CampaignHostsTaken(campaign_id=campaign_id):  # the agenda has it where others are still waiting
            return [] if after.campaigns[campaign_id].waiting else [keys.of_campaign(campaign_id)]
        case _:
            return []


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
