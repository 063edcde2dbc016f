"""What someone asks. A command may be refused; then nothing has changed. Ids are minted at the rim and carried here."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from forewarn.core import specs
from forewarn.core.causes import Cause
from forewarn.core.machines.values import ErrandKind, ErrandReport, Listing, MachinePower
from forewarn.core.specs import Binding, Domains, Orchestration, Policy, ScaleSetSpec, VmSpec
from forewarn.core.tokens.values import TokenCommand


class CreateVms(Struct, frozen=True):
    """Make VMs that share a specification. ``seed`` is a fresh GUID."""

    names: tuple[str, ...]
    spec: VmSpec
    seed: str
    binding: Binding | None = None  # only with a single name
    host: str = ""  # where real ones are made; empty: where there is room


class BindVm(Struct, frozen=True):
    vm: str
    binding: Binding


class BindNic(Struct, frozen=True):
    """Know a VM by the address of its network interface; an empty one where it has none any more.

    ``former`` is the address that the interface had before. A VM that was bound to another address by hand keeps that,
    and an address that another VM has stays with that one.
    """

    vm: str
    address: str
    former: str = ""


class DeleteVms(Struct, frozen=True):
    """Delete; a VM with a terminate notice in an enabled scope gets a Terminate event first. ``seed`` is fresh."""

    vms: tuple[str, ...]
    seed: str


class RestartVms(Struct, frozen=True):
    vms: tuple[str, ...]
    seed: str


class RedeployVms(Struct, frozen=True):
    vms: tuple[str, ...]
    seed: str


class EvictVms(Struct, frozen=True):
    vms: tuple[str, ...]
    seed: str


class DeallocateVms(Struct, frozen=True):
    vms: tuple[str, ...]


class StopVms(Struct, frozen=True):
    """Power off; the VM keeps its host."""

    vms: tuple[str, ...]


class ReimageVms(Struct, frozen=True):
    vms: tuple[str, ...]
    seed: str


class RespecifyVm(Struct, frozen=True):
    """Change what may be changed about a VM outside scale sets. Where it lives is not among that."""

    vm: str
    spec: VmSpec


class PutAvailabilitySet(Struct, frozen=True):
    """Create or change an availability set. How many domains it has is said once; 0 says nothing."""

    name: str
    resource_group: str
    policy: Policy
    domains: Domains = specs.REGIONS_DOMAINS


class DeleteAvailabilitySet(Struct, frozen=True):
    name: str


class PutScaleSet(Struct, frozen=True):
    """Create or change a scale set, and bring it to its capacity. A None keeps what is there."""

    name: str
    resource_group: str
    vm_spec: VmSpec
    seed: str
    spec: ScaleSetSpec = ScaleSetSpec()
    orchestration: Orchestration = Orchestration.UNIFORM
    single_placement_group: bool = False
    computer_prefix: str = ""
    capacity: int | None = None
    fault_domains: int = 0  # of each placement group, said once; 0 says nothing


class DeleteScaleSet(Struct, frozen=True):
    name: str
    seed: str


class DeleteInstances(Struct, frozen=True):
    """Delete chosen instances and want so many fewer."""

    scale_set: str
    vms: tuple[str, ...]
    seed: str


class UpgradeInstances(Struct, frozen=True):
    """Give instances the latest model; all of them where none is named."""

    scale_set: str
    vms: tuple[str, ...] = ()


class StartRollingUpgrade(Struct, frozen=True):
    """Give the latest model to the instances that have another, batch by batch."""

    scale_set: str


class CancelRollingUpgrade(Struct, frozen=True):
    scale_set: str


class ProtectInstance(Struct, frozen=True):
    vm: str
    protected: bool


class KeepResource(Struct, frozen=True):
    """Remember JSON to be told back; with ``owner`` (see ``Resource``) only as long as that is there."""

    id: str
    body: str
    owner: str = ""


class ForgetResource(Struct, frozen=True):
    id: str


class StartVms(Struct, frozen=True):
    vms: tuple[str, ...]


class SetPolicy(Struct, frozen=True):
    scope: str
    policy: Policy


class MaintainHosts(Struct, frozen=True):
    """One event for each scope on each host. An empty ``hosts`` means every host."""

    hosts: tuple[str, ...]
    cause: Cause
    seed: str


class FailHosts(Struct, frozen=True):
    """The hosts break now: events born started, VMs rebuilt elsewhere."""

    hosts: tuple[str, ...]
    seed: str


class StartCampaign(Struct, frozen=True):
    """Walk the update domains of the chosen hosts (all where both selections are empty)."""

    id: str
    cause: Cause
    hosts: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    hosts_at_once: int = 0


class PauseCampaign(Struct, frozen=True):
    id: str


class ResumeCampaign(Struct, frozen=True):
    id: str


class CancelCampaign(Struct, frozen=True):
    id: str


class Approve(Struct, frozen=True):
    """Let events start; all of them or none. ``scope`` limits what the caller may name, None is the operator."""

    event_ids: tuple[str, ...]
    by: str
    scope: str | None = None
    ignore_unknown: bool = False


class CancelEvents(Struct, frozen=True):
    event_ids: tuple[str, ...]
    why: str


class Pulse(Struct, frozen=True):
    """VMs have read their documents: (VM key, when)."""

    reads: tuple[tuple[str, datetime], ...]


class BeginImpact(Struct, frozen=True):
    """An engine has taken an event in hand; ``ends_at`` where it knows when it will be done."""

    event_id: str
    ends_at: datetime | None = None


class EndImpact(Struct, frozen=True):
    """An engine reports that the machines are back (or gone, as the effect wants)."""

    event_id: str


class RegisterHost(Struct, frozen=True):
    """A host of an engine takes part from now on. ``kinds``: what its engine can do; empty: all."""

    name: str
    engine: str
    fault_domain: int
    update_domain: int
    capacity: int
    kinds: tuple[ErrandKind, ...] = ()


class RemoveHost(Struct, frozen=True):
    name: str


class DrainHost(Struct, frozen=True):
    """Nothing is placed at a real host any more, and its VMs are moved away, with events."""

    name: str
    seed: str


class ResumeHost(Struct, frozen=True):
    """Machines may be placed at a real host again."""

    name: str


class AdoptMachine(Struct, frozen=True):
    """Make a VM of a machine that is there already, on the named host."""

    vm: str
    spec: VmSpec  # with its engine
    seed: str
    host: str
    ref: str
    boot_mark: str = ""
    power: MachinePower = MachinePower.RUNNING
    binding: Binding = specs.NO_BINDING
    cannot: tuple[ErrandKind, ...] = ()  # what cannot be done to it, as its engine found
    way: str = ""  # how its requests come to the region


class ReleaseMachine(Struct, frozen=True):
    """Forget a VM and its machine. The machine is not touched."""

    vm: str


class TryErrand(Struct, frozen=True):
    """A hand is about to carry an errand to its engine. Only when this is on disk may the engine be called."""

    errand_id: str


class ReportErrand(Struct, frozen=True):
    errand_id: str
    report: ErrandReport


class Sight(Struct, frozen=True):
    """What an engine says is at one of its hosts. ``begun_at``: when it was asked, so that late news are known."""

    engine: str
    listing: Listing
    begun_at: datetime | None = None


class HostFellSilent(Struct, frozen=True):
    name: str


class HostAnswered(Struct, frozen=True):
    name: str


class FenceHost(Struct, frozen=True):
    """A host has been silent for too long: have it turned off for certain."""

    name: str


class ConfirmLost(Struct, frozen=True):
    """A person says that a silent host is off."""

    name: str
    by: str


class Tick(Struct, frozen=True):
    """Time has passed; do what is due. ``moved``: a turnable clock was set to ``now``, and that is worth keeping."""

    moved: bool = False


class Together(Struct, frozen=True):
    """Several commands, all of them or none. With ``operation``, a client waits for the events that come of them."""

    commands: tuple[Single, ...]
    operation: str = ""
    kind: str = ""


OfMachines: TypeAlias = (
    RegisterHost
    | RemoveHost
    | DrainHost
    | ResumeHost
    | AdoptMachine
    | ReleaseMachine
    | TryErrand
    | ReportErrand
    | Sight
    | HostFellSilent
    | HostAnswered
    | FenceHost
    | ConfirmLost
)
Single: TypeAlias = (
    CreateVms
    | BindVm
    | BindNic
    | DeleteVms
    | RestartVms
    | RedeployVms
    | EvictVms
    | DeallocateVms
    | StartVms
    | SetPolicy
    | MaintainHosts
    | FailHosts
    | StartCampaign
    | PauseCampaign
    | ResumeCampaign
    | CancelCampaign
    | Approve
    | CancelEvents
    | Pulse
    | BeginImpact
    | EndImpact
    | Tick
    | StopVms
    | ReimageVms
    | RespecifyVm
    | PutAvailabilitySet
    | DeleteAvailabilitySet
    | PutScaleSet
    | DeleteScaleSet
    | DeleteInstances
    | UpgradeInstances
    | StartRollingUpgrade
    | CancelRollingUpgrade
    | ProtectInstance
    | KeepResource
    | ForgetResource
    | OfMachines
    | TokenCommand
)
Command: TypeAlias = Single | Together
