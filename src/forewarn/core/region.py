"""The state of a region: values only, shared structure, no behaviour but look-ups.

Names are compared without case, so maps are keyed by ``fold(name)``; the values keep the spelling they were given.
A million VMs must fit, so what can be derived is not stored: a lone VM has no scope record until its first read.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct, structs

from forewarn.core.agenda import Agenda
from forewarn.core.causes import Cause
from forewarn.core.guids import derive_guid
from forewarn.core.machines.values import ErrandKind, OpenErrand, RealMachine
from forewarn.core.maps import Map
from forewarn.core.phases import Phase
from forewarn.core.retired import NONE_RETIRED, Retired
from forewarn.core.specs import (
    NO_BINDING,
    USUAL_TRAITS,
    Binding,
    Orchestration,
    Policy,
    ScaleSetSpec,
    ScopeKind,
    ScopeTraits,
    VmSpec,
    VmTraits,
)
from forewarn.core.tokens.values import AccessToken

fold = str.lower


class Power(StrEnum):
    """What a VM is doing."""

    RUNNING = "running"
    STOPPED = "stopped"
    FROZEN = "frozen"
    RESTARTING = "restarting"
    REDEPLOYING = "redeploying"
    EVICTING = "evicting"
    DELETING = "deleting"
    REIMAGING = "reimaging"
    DEALLOCATED = "deallocated"


DOWN = frozenset({Power.STOPPED, Power.DEALLOCATED})


class HostHealth(StrEnum):
    """A host out of health takes no new VMs."""

    HEALTHY = "healthy"
    FAILING = "failing"
    FAILED = "failed"
    SILENT = "silent"  # nothing is heard of it
    FENCED = "fenced"  # it is known to be off
    DRAINING = "draining"  # nothing is placed there any more; what is there is moved away
    LEFT = "left"  # it takes part no more; its number and its name stay its own


class Vm(Struct, frozen=True, gc=False):
    """One virtual machine. A million of them stand beside each other, so what most have alike is one value's."""

    name: str
    spec: VmSpec
    seed: str  # of the command that made it; its GUID derives from this
    created_at: datetime
    number: int  # in its set; among all lone VMs for a lone one
    host: int | None  # None while deallocated
    power: Power = Power.RUNNING
    binding: Binding = NO_BINDING
    events: tuple[str, ...] = ()  # not ended, announced or not, that will hit it
    traits: VmTraits = VmTraits()

    @property
    def update_domain(self) -> int:
        return self.traits.update_domain

    @property
    def fault_domain(self) -> int:
        return self.traits.fault_domain

    @property
    def boots(self) -> int:
        return self.traits.boots

    @property
    def key(self) -> str:
        """The name without case; the name itself where that is the same, so that a fleet holds each text once."""
        folded = fold(self.name)
        return self.name if folded == self.name else folded

    @property
    def scope(self) -> str:
        return scope_key(self.spec.kind, self.spec.set_name or self.name)

    @property
    def resource_name(self) -> str:
        """The VM's name in documents and in ``compute.name``."""
        return f"{self.spec.role}_IN_{self.number}" if self.spec.kind is ScopeKind.CLOUD_SERVICE else self.name

    @property
    def scale_set(self) -> str:
        """The name of its scale set; empty outside one."""
        return self.spec.set_name.partition("~")[0] if self.spec.kind is ScopeKind.PLACEMENT_GROUP else ""

    @property
    def vm_id(self) -> str:
        return derive_guid(self.seed, self.key).lower()


class Host(Struct, frozen=True, gc=False):
    """One machine of the platform. All its VMs share a fault domain and an update domain."""

    number: int
    fault_domain: int
    update_domain: int
    capacity: int
    health: HostHealth = HostHealth.HEALTHY
    vms: tuple[str, ...] = ()  # keys, sorted; a map of the few that fit on a host takes four times the memory

    @property
    def name(self) -> str:
        return f"host-{self.number}"


class RealHost(Host, frozen=True, gc=False, omit_defaults=True):
    """A host of an engine: real, with a name of its own. Pretended ones hold none of this."""

    called: str = ""
    engine: str = ""
    kinds: tuple[ErrandKind, ...] = ()  # what its engine can do; empty: all
    was: HostHealth = HostHealth.HEALTHY  # before it fell silent
    reserved: Map[str, None] = Map()  # VMs that are on their way here
    lost_at: datetime | None = None  # when it was known to be off; what was listed before that says nothing of it

    @property
    def name(self) -> str:
        return self.called

    @property
    def takes_part(self) -> bool:
        return self.health is not HostHealth.LEFT

    def can(self, kind: ErrandKind) -> bool:
        return not self.kinds or kind in self.kinds

    @property
    def is_healthy(self) -> bool:
        return self.health is HostHealth.HEALTHY

    @property
    def answers(self) -> bool:
        return self.health not in (HostHealth.SILENT, HostHealth.FENCED, HostHealth.LEFT)

    @property
    def has_room(self) -> bool:
        there = len(self.vms) + sum(1 for key in self.reserved if key not in self.vms)
        return self.is_healthy and there < self.capacity


class Scope(Struct, frozen=True, gc=False):
    """Who sees a document and may approve what is in it."""

    key: str
    kind: ScopeKind
    name: str
    enabled_at: datetime | None = None
    last_read_at: datetime | None = None
    lapses_at: datetime | None = None  # disabled then, unless a VM of it reads before
    incarnation: int = 0  # of the last document that there was; kept while disabled, for it never begins again
    events: tuple[str, ...] = ()  # announced and not ended, oldest first
    changed_at: datetime | None = None  # when the incarnation last grew
    traits: ScopeTraits = USUAL_TRAITS

    @property
    def policy(self) -> Policy:
        return self.traits.policy

    @property
    def resource_group(self) -> str:
        return self.traits.resource_group

    @property
    def members(self) -> Map[str, None]:
        return self.traits.members


class Event(Struct, frozen=True, gc=False, omit_defaults=True):
    """One scheduled event, or (``announced`` false) the same work in a scope that does not read: in no document."""

    id: str
    cause: Cause
    scope: str
    vms: tuple[str, ...]  # keys of the VMs it will hit; a VM deleted meanwhile leaves this list
    resources: tuple[str, ...]  # all of them as documents name them; this list never changes
    update_domain: int
    scheduled_at: datetime
    not_before: datetime
    recovery: timedelta
    duration_seconds: int
    announced: bool = True
    group: str = ""  # events of one group start together
    host: int | None = None
    campaign: str = ""
    phase: Phase = Phase.SCHEDULED
    approved_at: datetime | None = None
    approved_by: str = ""
    started_at: datetime | None = None
    impact_began_at: datetime | None = None
    impact_ends_at: datetime | None = None  # known in advance only where the engine knows
    impact_ended_at: datetime | None = None

    @property
    def completes_at(self) -> datetime | None:
        return None if self.impact_ended_at is None else self.impact_ended_at + self.recovery


class Group(Struct, frozen=True, gc=False):
    """Events that start together: a host's co-tenants."""

    pending: Map[str, None] = Map()
    awaited: int = 0  # how many of them are not approved


class Rolling(Struct, frozen=True, omit_defaults=True):
    """The latest rolling upgrade of a scale set. It runs for as long as there is a next batch."""

    started_at: datetime
    upgraded: int = 0  # how many instances it has given the latest model
    next_at: datetime | None = None
    ended_at: datetime | None = None
    canceled: bool = False


class ScaleSet(Struct, frozen=True):
    """Instances made from one model. An instance has the model that was applied to it, not the latest one."""

    name: str
    resource_group: str
    orchestration: Orchestration
    single_placement_group: bool
    computer_prefix: str
    seed: str
    created_at: datetime
    spec: ScaleSetSpec = ScaleSetSpec()
    model: int = 0
    vm_spec: VmSpec = VmSpec()  # of the latest model
    changed_at: datetime | None = None
    next_id: int = 0
    instances: Map[str, None] = Map()
    leaving: int = 0  # how many of them have a deletion ahead
    deleting: bool = False
    fault_domains: int = 0  # of each of its placement groups; 0: as the region's rules say
    rolling: Rolling | None = None

    @property
    def key(self) -> str:
        return fold(self.name)

    @property
    def capacity(self) -> int:
        """How many instances it is to have: those that stay."""
        return len(self.instances) - self.leaving

    @property
    def group(self) -> str:
        """The group in which its deletions wait for each other."""
        return f"set/{self.key}"

    def scope_name(self, number: int) -> str:
        """The name of one of its placement groups. Names that users give have no tilde, so no other scope has it."""
        return f"{self.name}~{number}"

    def computer_name(self, number: int) -> str:
        """The name that an instance has inside: the set's prefix and its number to base 36, in six digits."""
        digits = ""
        while number or len(digits) < 6:
            number, digit = divmod(number, 36)
            digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] + digits
        return self.computer_prefix + digits


class Operation(Struct, frozen=True):
    """Something asked for that takes as long as its events take."""

    id: str
    kind: str
    started_at: datetime
    waiting: Map[str, None]  # event ids
    ended_at: datetime | None = None
    error: str = ""
    number: int | None = None  # its place among all ends


class Resource(Struct, frozen=True):
    """What a Resource Manager was told of a thing, to be told back: its id as written, and its JSON.

    ``owner`` is what the region itself has of that thing (``vm/web``, ``instance/web_0``, ``scale-set/web``,
    ``availability-set/web``): when that goes, this goes with it. An owner has one resource.
    """

    id: str
    body: str
    owner: str = ""


class CampaignState(StrEnum):
    """Where a campaign is."""

    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELED = "canceled"


class Campaign(Struct, frozen=True, gc=False):
    """Maintenance over a fleet, one update domain at a time."""

    id: str
    cause: Cause
    started_at: datetime
    hosts: tuple[int, ...]  # chosen at the start; empty means every host of the region
    hosts_at_once: int  # 0: no limit
    state: CampaignState = CampaignState.RUNNING
    wave: int = -1  # the update domain whose turn it is; -1 before the first
    waiting: tuple[int, ...] = ()  # hosts of this wave whose turn has not come
    open_events: Map[str, int] = Map()  # event id -> host
    events_total: int = 0
    ended_at: datetime | None = None
    number: int = 0  # how many were started before it: whose turn comes first never depends on an id
    not_done: int = 0  # moves of real machines that could not be made, in a row


class Region(Struct, frozen=True, gc=False):
    """Everything that one journal holds."""

    vms: Map[str, Vm] = Map()
    scopes: Map[str, Scope] = Map()
    hosts: Map[int, Host] = Map()
    vacancies: Map[tuple[int, int], Map[int, None]] = Map()  # (fault, update domain) -> healthy hosts with room
    events: Map[str, Event] = Map()  # not ended
    groups: Map[str, Group] = Map()  # those with pending events
    addresses: Map[str, str] = Map()  # what a binding claims -> VM key
    campaigns: Map[str, Campaign] = Map()
    campaigns_waiting: Map[str, None] = Map()  # running, with hosts whose turn has not come
    host_work: Map[str, Map[str, int]] = Map()  # scope of several VMs -> open events of hosts -> their update domain
    scale_sets: Map[str, ScaleSet] = Map()
    operations: Map[str, Operation] = Map()
    operations_ended: Map[int, str] = Map()  # by number; the oldest are forgotten
    operations_ended_total: int = 0
    awaited: Map[str, Map[str, None]] = Map()  # event id -> operations that wait for it
    resources: Map[str, Resource] = Map()  # by folded id
    owned: Map[str, str] = Map()  # owner of a resource -> its folded id
    real_hosts: Map[str, int] = Map()  # folded name -> number
    machines: Map[str, RealMachine] = Map()  # VM key -> the real machine; a VM that has none is pretended
    refs: Map[tuple[str, str], str] = Map()  # engine and its name for a machine -> VM key
    errands: Map[str, OpenErrand] = Map()
    astray: Map[str, None] = Map()  # VMs whose machines are not where they were, or not only there
    agenda: Agenda = Agenda()
    tokens: Map[str, AccessToken] = Map()  # by id; those that hold
    retired: Retired = NONE_RETIRED
    lone_vms_made: int = 0
    user_operations: int = 0  # scheduled now
    latest_at: datetime | None = None

    def scope_of(self, vm: Vm) -> Scope:
        """The VM's scope, made on the spot for a lone VM that nobody has read for."""
        found = self.scopes.get(vm.scope)
        return found if found is not None else Scope(key=vm.scope, kind=vm.spec.kind, name=vm.name)

    def real_host(self, name: str) -> RealHost | None:
        number = self.real_hosts.get(fold(name))
        found = None if number is None else self.hosts[number]
        return found if isinstance(found, RealHost) else None

    def leaving(self, vm: Vm) -> bool:
        """Whether its deletion was asked for. Until that has started it can be canceled."""
        return any(self.events[event_id].cause is Cause.DELETION for event_id in vm.events)

    def members_of(self, scope: Scope) -> tuple[Vm, ...]:
        """The VMs of a scope, in the order of their making."""
        keys = (fold(scope.name),) if scope.kind is ScopeKind.VM else tuple(scope.members)
        return tuple(sorted((self.vms[key] for key in keys if key in self.vms), key=lambda vm: (vm.number, vm.key)))


def scope_key(kind: ScopeKind, name: str) -> str:
    """The one spelling of a scope's identity."""
    return f"{kind.value}/{fold(name)}"


replace = structs.replace
