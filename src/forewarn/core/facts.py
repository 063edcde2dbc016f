"""What happened. Facts are what the journal keeps; they are frozen, and their names and fields are a promise.

``FORMAT`` grows when a stored fact changes its meaning or shape, and ``stores.codec`` then learns to read the old one.
The word *event* belongs to the domain: these are facts.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct

from forewarn.core.causes import Cause
from forewarn.core.region import (
    DEFAULT_RESOURCE_GROUP,
    REGIONS_DOMAINS,
    Binding,
    Domains,
    Event,
    Health,
    Orchestration,
    Policy,
    ScaleSetSpec,
    ScopeKind,
    VmSpec,
)

FORMAT = 2


class _Fact(Struct, frozen=True, gc=False, tag_field="fact", tag=True, omit_defaults=True):
    at: datetime


class HostAdded(_Fact, frozen=True):
    host: int
    fault_domain: int
    update_domain: int
    capacity: int


class HostMarked(_Fact, frozen=True):
    host: int
    health: Health


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
    """Somebody in the scope read for the first time: from now on its events wait."""

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
    """Somebody in its scope begins to read while the event is ahead: from now on it is told of, and waits for them.

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
    """The last batch has the latest model too, or somebody has canceled the upgrade."""

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
)


def subject_of(fact: Fact) -> str:
    """What the fact is about, so that a journal can be asked for one thing's story."""
    match fact:
        case EventScheduled(event=event) | EventBornStarted(event=event):
            return event.id
        case (
            EventAnnounced(event_id=found)
            | EventApproved(event_id=found)
            | EventStarted(event_id=found)
            | EventCanceled(event_id=found)
            | ImpactBegan(event_id=found)
            | ImpactEnded(event_id=found)
            | EventCompleted(event_id=found)
        ):
            return found
        case VmCreated(name=name):
            return f"vm/{name.lower()}"
        case (
            VmBound(vm=vm)
            | VmMoved(vm=vm)
            | VmStopped(vm=vm)
            | VmDeallocated(vm=vm)
            | VmStarted(vm=vm)
            | VmDeleted(vm=vm)
            | VmRespecified(vm=vm)
            | VmSpared(vm=vm)
            | InstanceUpgraded(vm=vm)
            | InstanceProtected(vm=vm)
        ):
            return f"vm/{vm}"
        case ScopeCreated(kind=kind, name=name):
            return f"{kind.value}/{name.lower()}"
        case (
            PolicySet(scope=scope)
            | ScopeEnabled(scope=scope)
            | ScopeRead(scope=scope)
            | ScopeDisabled(scope=scope)
            | ScopeRemoved(scope=scope)
        ):
            return scope
        case HostAdded(host=host) | HostMarked(host=host):
            return f"host/{host}"
        case ClockMoved():
            return "clock"
        case ScopesRead():
            return "reads"
        case ScaleSetCreated(name=name):
            return f"scale-set/{name.lower()}"
        case (
            ScaleSetChanged(scale_set=key)
            | ScaleSetModelChanged(scale_set=key)
            | ScaleSetDeletionAsked(scale_set=key)
            | RollingUpgradeStarted(scale_set=key)
            | RollingUpgradeBatched(scale_set=key)
            | RollingUpgradeEnded(scale_set=key)
            | ScaleSetDeleted(scale_set=key)
        ):
            return f"scale-set/{key}"
        case OperationStarted(operation_id=found) | OperationEnded(operation_id=found):
            return found
        case ResourceKept(id=resource) | ResourceForgotten(id=resource):
            return resource.lower()
        case (
            CampaignStarted(campaign_id=found)
            | CampaignWaveBegan(campaign_id=found)
            | CampaignHostsTaken(campaign_id=found)
            | CampaignPaused(campaign_id=found)
            | CampaignResumed(campaign_id=found)
            | CampaignCanceled(campaign_id=found)
            | CampaignCompleted(campaign_id=found)
        ):
            return found
