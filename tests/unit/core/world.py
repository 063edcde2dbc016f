"""A region in a test's hands: values, a ``now``, and whatever the plane would do around them, done on the spot.

After every command the invariants are checked, and the facts alone must lead to the same region.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

import msgspec
import pytest

from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.causes import Cause
from forewarn.core.folding.evolve import evolve
from forewarn.core.invariants import region as invariants
from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.looking.documents import document_for
from forewarn.core.refusal import Refused
from forewarn.core.region import Campaign, Event, Host, Operation, Region, ScaleSet, Scope, Vm, fold, replace
from forewarn.core.rules import Rules
from forewarn.core.specs import EvictionPolicy, Policy, ScaleSetSpec, ScopeKind, VmSpec
from forewarn.core.step import step
from forewarn.engines.simulated import Durations, SimulatedEngine
from forewarn.terms import Document, ScheduledEvent

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=seconds) for seconds in (1, 60, 3600, 86_400))
SPOT = VmSpec(spot=True)
SPOT_DELETED = VmSpec(spot=True, eviction_policy=EvictionPolicy.DELETE)


def in_set(name: str, **more: object) -> VmSpec:
    return replace(VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name=name), **more)


def in_service(name: str, role: str) -> VmSpec:
    return VmSpec(kind=ScopeKind.CLOUD_SERVICE, set_name=name, role=role)


class World:
    """``drives`` false leaves the impacts to the test."""

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        start: datetime = NOON,
        drives: bool = True,
        durations: Durations | None = None,
    ) -> None:
        self.rules = rules or Rules()
        self.now = start
        self.region = Region()
        self.facts: list[f.Fact] = []
        self._engine = SimulatedEngine(durations) if drives else None
        self._replayed = Region()
        self._seeds = (f"seed-{number}" for number in count())

    def do(self, command: c.Command) -> tuple[f.Fact, ...]:
        """Carry out a command now, and begin the impact of whatever it started."""
        self.region, facts = step(self.region, command, self.now, self.rules)
        for fact in facts:
            self._replayed = evolve(self._replayed, fact)
        self.facts += facts
        self._check()
        self._begin_impacts(facts)
        return facts

    def refused(self, command: c.Command) -> Refused:
        """The command is refused, and nothing has changed."""
        before = self.region
        with pytest.raises(Refused) as caught:
            self.do(command)
        assert self.region is before
        assert caught.value.message.endswith(".")
        return caught.value

    def _check(self) -> None:
        invariants.check(self.region, now=self.now, user_operation_limit=self.rules.user_operation_limit)
        assert replace(self._replayed, agenda=self.region.agenda) == self.region
        assert next_deadline(self._replayed) == next_deadline(self.region)

    def _begin_impacts(self, facts: Sequence[f.Fact]) -> None:
        for fact in facts:
            match fact:
                case f.EventStarted(event_id=event_id):
                    self._begin(event_id)
                case f.EventBornStarted(event=event):
                    self._begin(event.id)

    def _begin(self, event_id: str) -> None:
        event = self.region.events.get(event_id)
        if self._engine is not None and event is not None:
            self.do(c.BeginImpact(event_id, self._engine.begin(event, self.now)))

    def begin(self, event_id: str) -> None:
        """An engine that cannot tell how long it will take."""
        self.do(c.BeginImpact(event_id))

    def end(self, event_id: str) -> None:
        self.do(c.EndImpact(event_id))

    # Time

    def advance(self, by: timedelta) -> None:
        """Let time pass, stopping wherever something is due."""
        to = self.now + by
        while (due := next_deadline(self.region)) is not None and due <= to:
            self.now = max(due, self.now)
            self.do(c.Tick())
        self.now = to
        self.do(c.Tick())

    def next(self) -> None:
        """To the next deadline."""
        due = next_deadline(self.region)
        assert due is not None, "nothing is due"
        self.advance(due - self.now)

    # What people ask

    def seed(self) -> str:
        return next(self._seeds)

    def create(self, *names: str, spec: VmSpec | None = None) -> None:
        self.do(c.CreateVms(names, spec or VmSpec(), self.seed()))

    def read(self, name: str) -> None:
        """A VM's GET."""
        self.do(c.Pulse(((fold(name), self.now),)))

    def reading(self, *names: str, spec: VmSpec | None = None) -> None:
        """VMs of which each reads its document."""
        self.create(*names, spec=spec)
        for name in names:
            self.read(name)

    def restart(self, *names: str) -> list[str]:
        return raised(self.do(c.RestartVms(names, self.seed())))

    def redeploy(self, *names: str) -> list[str]:
        return raised(self.do(c.RedeployVms(names, self.seed())))

    def evict(self, *names: str) -> list[str]:
        return raised(self.do(c.EvictVms(names, self.seed())))

    def delete(self, *names: str) -> list[str]:
        return raised(self.do(c.DeleteVms(names, self.seed())))

    def reimage(self, *names: str) -> list[str]:
        return raised(self.do(c.ReimageVms(names, self.seed())))

    def stop(self, *names: str) -> None:
        self.do(c.StopVms(names))

    def deallocate(self, *names: str) -> None:
        self.do(c.DeallocateVms(names))

    def start(self, *names: str) -> None:
        self.do(c.StartVms(names))

    def maintain(self, cause: Cause, *hosts: str) -> list[str]:
        return raised(self.do(c.MaintainHosts(hosts, cause, self.seed())))

    def fail(self, *hosts: str) -> list[str]:
        return raised(self.do(c.FailHosts(hosts, self.seed())))

    def approve(self, *event_ids: str, by: str = "operator", scope: str | None = None) -> tuple[f.Fact, ...]:
        return self.do(c.Approve(event_ids, by, scope))

    def cancel(self, *event_ids: str) -> tuple[f.Fact, ...]:
        return self.do(c.CancelEvents(event_ids, "plans changed"))

    def set_policy(self, scope: str, **policy: bool) -> None:
        self.do(c.SetPolicy(scope, Policy(**policy)))

    def start_campaign(self, campaign_id: str = "C1", cause: Cause = Cause.FREEZE, **more: object) -> list[str]:
        return raised(self.do(replace(c.StartCampaign(campaign_id, cause), **more)))

    # What people ask of scale sets

    def put(self, name: str = "web", capacity: int | None = None, **more: object) -> c.PutScaleSet:
        """The command, from fields of its own, of the set's spec and of the model, as they come."""
        command = c.PutScaleSet(name, "rg", VmSpec(), self.seed(), capacity=capacity)
        command = replace(command, **_taken(c.PutScaleSet, more))
        spec = replace(command.spec, **_taken(ScaleSetSpec, more))
        return replace(command, vm_spec=replace(command.vm_spec, **more), spec=spec)

    def put_set(self, name: str = "web", capacity: int | None = None, **more: object) -> tuple[f.Fact, ...]:
        return self.do(self.put(name, capacity, **more))

    def read_set(self, name: str = "web") -> None:
        """One VM of each placement group reads."""
        scopes = [scope for scope in self.region.scopes.values() if scope.name.startswith(f"{name}~")]
        for scope in scopes:
            if vms := self.region.members_of(scope):
                self.read(vms[0].name)

    def reading_set(self, name: str = "web", capacity: int = 3, **more: object) -> None:
        """A set whose instances have ten minutes' notice, and read."""
        self.put_set(name, capacity, **{"terminate_notice": 10 * MINUTE, **more})
        self.read_set(name)

    def delete_instances(self, *vms: str, name: str = "web") -> list[str]:
        return raised(self.do(c.DeleteInstances(name, vms, self.seed())))

    def delete_set(self, name: str = "web") -> list[str]:
        return raised(self.do(c.DeleteScaleSet(name, self.seed())))

    def upgrade(self, *vms: str, name: str = "web") -> None:
        self.do(c.UpgradeInstances(name, vms))

    def together(self, operation: str, *commands: c.Single) -> list[str]:
        return raised(self.do(c.Together(commands, operation, "test")))

    # What is there

    def vm(self, name: str) -> Vm:
        return self.region.vms[fold(name)]

    def host_of(self, name: str) -> Host:
        number = self.vm(name).host
        assert number is not None
        return self.region.hosts[number]

    def scope(self, name: str) -> Scope:
        return self.region.scope_of(self.vm(name))

    def event(self, event_id: str) -> Event:
        return self.region.events[event_id]

    def phases(self, *event_ids: str) -> list[str]:
        return [self.event(event_id).phase.value for event_id in event_ids]

    def gone(self, event_id: str) -> bool:
        return event_id not in self.region.events

    def scale_set(self, name: str = "web") -> ScaleSet:
        return self.region.scale_sets[fold(name)]

    def instances(self, name: str = "web") -> list[str]:
        """The names of those that stay, oldest first."""
        vms = (self.region.vms[key] for key in self.scale_set(name).instances)
        return [vm.name for vm in sorted(vms, key=lambda vm: vm.number) if not self.region.leaving(vm)]

    def operation(self, operation_id: str) -> Operation:
        return self.region.operations[operation_id]

    def campaign(self, campaign_id: str = "C1") -> Campaign:
        return self.region.campaigns[campaign_id]

    def document(self, name: str) -> Document:
        return document_for(self.region, self.scope(name))

    def seen(self, name: str) -> ScheduledEvent:
        """The one event that the VM sees."""
        (event,) = self.document(name).events
        return event

    def statuses(self, name: str) -> list[str]:
        return [event.status for event in self.document(name).events]


def _taken(kind: type[msgspec.Struct], fields: dict[str, object]) -> dict[str, object]:
    """Those that a struct of that kind has, taken out of the others."""
    names = {field.name for field in msgspec.structs.fields(kind)} & fields.keys()
    return {name: fields.pop(name) for name in names}


def raised(facts: Sequence[f.Fact]) -> list[str]:
    """The ids of the events that came to be."""
    return [fact.event.id for fact in facts if isinstance(fact, f.EventScheduled | f.EventBornStarted)]


def kinds(facts: Sequence[f.Fact]) -> list[str]:
    """What happened, by name."""
    return [type(fact).__name__ for fact in facts]
