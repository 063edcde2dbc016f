"""What happened. Facts are what the journal keeps; they are frozen, and their names and fields are a promise.

``FORMAT`` grows when a stored fact changes its meaning or shape, and ``stores.codec`` then learns to read the old one.
The word *event* belongs to the domain: these are facts. Those of real machines are in ``core.machines.facts``, those of
tokens in ``core.tokens.facts``; what each is about says ``core.looking.subjects``.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct

from forewarn.core.causes import Cause
from forewarn.core.machines import facts as machines
from forewarn.core.region import Event, HostHealth
from forewarn.core.specs import (
    DEFAULT_RESOURCE_GROUP,
    REGIONS_DOMAINS,
    Binding,
    Domains,
    Orchestration,
    Policy,
    ScaleSetSpec,
    ScopeKind,
    VmSpec,
)
from forewarn.core.tokens import facts as tokens

FORMAT = 2  # each earlier one is in tests/golden and read by stores/codec.py


class _Fact(Struct, frozen=True, gc=False, tag_field="fact", tag=True, omit_defaults=True):
    at: datetime


class HostAdded(_Fact, frozen=True):
    host: int
    fault_domain: int
    update_domain: int
    capacity: int


class HostMarked(_Fact, frozen=True):
    host: int
    health: HostHealth


class ScopeCreated(_Fact, frozen=True):
    kind: ScopeKind
    name: str
    resource_group: str = DEFAULT_RESOURCE_GROUP
    domains: Domains = REGIONS_DOMAINS


class ScopeRemoved(_Fact, frozen=True):
    """An empty availability set or placement group was taken away."""

    scope: str


class PolicySet(_Fact, frozen=True):
    scope: str
    policy: Policy


class VmCreated(_Fact, frozen=True):
    name: str
    spec: VmSpec
    seed: str
    number: int
    update_domain: int
    fault_domain: int
    host: int
    model: int = 0


class VmBound(_Fact, frozen=True):
    vm: str
    binding: Binding


class VmMoved(_Fact, frozen=True):
    vm: str
    host: int


class VmStopped(_Fact, frozen=True):
    vm: str


class VmDeallocated(_Fact, frozen=True):
    vm: str


class VmStarted(_Fact, frozen=True):
    vm: str
    host: int


class VmDeleted(_Fact, frozen=True):
    vm: str


class ScopeEnabled(_Fact, frozen=True):
    """A VM of the scope read for the first time: from now on its events wait."""

    scope: str
    name: str  # of the lone VM or of the set
    kind: ScopeKind
    lapses_at: datetime


class ScopeRead(_Fact, frozen=True):
    """The scope has shown life. Kept at most once an hour."""

    scope: str
    read_at: datetime
    lapses_at: datetime


class ScopesRead(_Fact, frozen=True):
    """Scopes that have shown life at the same instant: one fact for many, for a journal hears most of all of reads."""

    scopes: tuple[str, ...]
    read_at: datetime
    lapses_at: datetime


class ScopeDisabled(_Fact, frozen=True):
    scope: str


class EventScheduled(_Fact, frozen=True):
    event: Event


class EventBornStarted(_Fact, frozen=True):
    event: Event


class EventAnnounced(_Fact, frozen=True):
    """A VM of its scope begins to read while the event is ahead: from now on it is shown, and waits for approval.

    The enabling is the next fact of the scope, and the first document has the event in it.
    """

    event_id: str
    recovery: timedelta


class EventApproved(_Fact, frozen=True):
    event_id: str
    by: str


class EventStarted(_Fact, frozen=True):
    event_id: str


class EventCanceled(_Fact, frozen=True):
    event_id: str
    why: str


class ImpactBegan(_Fact, frozen=True):
    event_id: str
    ends_at: datetime | None = None


class ImpactEnded(_Fact, frozen=True):
    event_id: str


class VmSpared(_Fact, frozen=True):
    """The VM has left the host that a pending event is about: the event will not hit it any more."""

    event_id: str
    vm: str


class EventCompleted(_Fact, frozen=True):
    event_id: str


class CampaignStarted(_Fact, frozen=True):
    campaign_id: str
    cause: Cause
    hosts: tuple[int, ...]
    hosts_at_once: int


class CampaignWaveBegan(_Fact, frozen=True):
    campaign_id: str
    wave: int
    hosts: tuple[int, ...]


class CampaignHostsTaken(_Fact, frozen=True):
    """The next hosts of the wave have had their events scheduled."""

    campaign_id: str
    hosts: tuple[int, ...]


class CampaignPaused(_Fact, frozen=True):
    campaign_id: str


class CampaignResumed(_Fact, frozen=True):
    campaign_id: str


class CampaignCanceled(_Fact, frozen=True):
    campaign_id: str


class CampaignCompleted(_Fact, frozen=True):
    campaign_id: str


class ScaleSetCreated(_Fact, frozen=True):
    name: str
    resource_group: str
    orchestration: Orchestration
    single_placement_group: bool
    computer_prefix: str
    seed: str
    fault_domains: int = 0  # of each placement group; 0: as the region's rules say


class ScaleSetChanged(_Fact, frozen=True):
    scale_set: str
    spec: ScaleSetSpec
    single_placement_group: bool


class ScaleSetModelChanged(_Fact, frozen=True):
    """The model has a new version; instances have it when ``InstanceUpgraded`` says so."""

    scale_set: str
    model: int
    vm_spec: VmSpec


class ScaleSetDeletionAsked(_Fact, frozen=True):
    scale_set: str


class ScaleSetDeleted(_Fact, frozen=True):
    scale_set: str


class RollingUpgradeStarted(_Fact, frozen=True):
    scale_set: str


class RollingUpgradeBatched(_Fact, frozen=True):
    """So many instances have the latest model; the next batch's turn comes at ``next_at``."""

    scale_set: str
    upgraded: int
    next_at: datetime


class RollingUpgradeEnded(_Fact, frozen=True):
    """The last batch has the latest model too, or the upgrade was canceled."""

    scale_set: str
    upgraded: int = 0
    canceled: bool = False


class InstanceUpgraded(_Fact, frozen=True):
    vm: str
    model: int
    spec: VmSpec


class InstanceProtected(_Fact, frozen=True):
    vm: str
    protected: bool


class VmRespecified(_Fact, frozen=True):
    """A VM outside scale sets was changed: tags, notices, size."""

    vm: str
    spec: VmSpec


class OperationStarted(_Fact, frozen=True):
    operation_id: str
    kind: str
    events: tuple[str, ...]


class OperationEnded(_Fact, frozen=True):
    operation_id: str


class ResourceKept(_Fact, frozen=True):
    id: str
    body: str
    owner: str = ""


class ResourceForgotten(_Fact, frozen=True):
    id: str


class ClockMoved(_Fact, frozen=True):
    """A turnable clock was set forward to ``at``."""


Fact: TypeAlias = (
    HostAdded
    | HostMarked
    | ScopeCreated
    | PolicySet
    | VmCreated
    | VmBound
    | VmMoved
    | VmDeallocated
    | VmStarted
    | VmDeleted
    | ScopeEnabled
    | ScopeRead
    | ScopesRead
    | ScopeDisabled
    | EventScheduled
    | EventBornStarted
    | EventApproved
    | EventStarted
    | EventCanceled
    | ImpactBegan
    | ImpactEnded
    | EventCompleted
    | VmSpared
    | CampaignStarted
    | CampaignWaveBegan
    | CampaignHostsTaken
    | CampaignPaused
    | CampaignResumed
    | CampaignCanceled
    | CampaignCompleted
    | ClockMoved
    | ScopeRemoved
    | VmStopped
    | ScaleSetCreated
    | ScaleSetChanged
    | ScaleSetModelChanged
    | ScaleSetDeletionAsked
    | ScaleSetDeleted
    | RollingUpgradeStarted
    | RollingUpgradeBatched
    | RollingUpgradeEnded
    | InstanceUpgraded
    | InstanceProtected
    | VmRespecified
    | OperationStarted
    | OperationEnded
    | ResourceKept
    | ResourceForgotten
    | EventAnnounced
    | machines.RealFact
    | tokens.TokenFact
)
