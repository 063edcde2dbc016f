"""What may be asked for: how VMs, sets and their bindings are to be. Commands carry these, the region keeps them."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol, TypeVar, cast

from msgspec import Struct, structs

from forewarn.core.maps import Map


class ScopeKind(StrEnum):
    """Who sees and may approve: the four kinds of audience."""

    VM = "vm"
    AVAILABILITY_SET = "availability-set"
    CLOUD_SERVICE = "cloud-service"
    PLACEMENT_GROUP = "placement-group"


class EvictionPolicy(StrEnum):
    """What becomes of an evicted Spot VM."""

    DEALLOCATE = "Deallocate"
    DELETE = "Delete"


class Policy(Struct, frozen=True, gc=False, omit_defaults=True):
    """scheduledEventsPolicy: which events nobody has to approve."""

    auto_approve_reboot: bool = False
    auto_approve_redeploy: bool = False
    all_instances_down: bool = True


DEFAULT_POLICY = Policy()


DEFAULT_RESOURCE_GROUP = "forewarn"


class Particulars(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a Resource Manager was told about a machine that only the machine asks for, at ``/metadata/instance``."""

    location: str = ""
    zones: tuple[str, ...] = ()  # instances of a scale set take them in turn
    publisher: str = ""
    offer: str = ""
    sku: str = ""
    version: str = ""
    image_id: str = ""
    computer_name: str = ""  # of a VM outside scale sets
    admin_username: str = ""
    no_passwords: bool | None = None
    public_keys: tuple[tuple[str, str], ...] = ()  # path and key
    user_data: str = ""
    interfaces: tuple[str, ...] = ()  # ids of resources, the primary one first

    def zone(self, number: int) -> str:
        """The zone of the machine with that number in its set."""
        return self.zones[number % len(self.zones)] if self.zones else ""


NO_PARTICULARS = Particulars()


class VmSpec(Struct, frozen=True, gc=False, omit_defaults=True):
    """What was asked for, shared by all VMs created together."""

    kind: ScopeKind = ScopeKind.VM
    set_name: str = ""  # of the availability set, cloud service or placement group
    role: str = ""
    resource_group: str = DEFAULT_RESOURCE_GROUP
    spot: bool = False
    eviction_policy: EvictionPolicy = EvictionPolicy.DEALLOCATE
    vnet: bool = True
    terminate_notice: timedelta | None = None
    os_image_notice: timedelta | None = None
    size: str = "Standard_D2s_v5"
    os_type: str = "Linux"
    tags: tuple[tuple[str, str], ...] = ()
    rest: str = ""  # a digest of what else was asked for, which only makes a difference between models
    about: Particulars = NO_PARTICULARS
    engine: str = ""  # what runs the machine; empty where it is only pretended
    blueprint: str = ""  # what the engine makes it from, by its name in the server's own files


class Binding(Struct, frozen=True, gc=False, omit_defaults=True):
    """How the metadata face knows this VM by its connection."""

    address: str = ""  # its source address
    local_address: str = ""  # the loopback address it calls
    netns: str = ""  # the network namespace it lives in
    interface: str = ""  # of that namespace, where the VM is at the other end of it and not inside
    unix: str = ""  # the Unix socket of that name, which leads to nobody else

    def claims(self) -> tuple[str, ...]:
        """The ways by which a VM is known, as texts; no two VMs may share one."""
        place = f"{self.netns} interface {self.interface}" if self.interface else self.netns
        named = (("address", self.address), ("local", self.local_address), ("netns", place), ("unix", self.unix))
        return tuple(f"{kind} {value}" for kind, value in named if value)


NO_BINDING = Binding()


class BindingPattern(Struct, frozen=True, gc=False, omit_defaults=True):
    """How the instances of a scale set are bound: ``{name}`` and ``{id}`` stand for an instance's own."""

    address: str = ""  # a range of source addresses, of which each instance gets one
    local_address: str = ""  # a range of loopback addresses likewise
    netns: str = ""
    interface: str = ""


NO_PATTERN = BindingPattern()


class Domains(Struct, frozen=True, gc=False, omit_defaults=True):
    """How many update and fault domains the VMs of a set are spread over; 0 where the region's rules say it."""

    update: int = 0
    fault: int = 0


REGIONS_DOMAINS = Domains()


class Orchestration(StrEnum):
    """How a scale set names its instances: ``set_7``, or as VMs of their own."""

    UNIFORM = "Uniform"
    FLEXIBLE = "Flexible"


class UpgradeMode(StrEnum):
    """When instances take over a new model: when told to, or by themselves."""

    MANUAL = "Manual"
    AUTOMATIC = "Automatic"
    ROLLING = "Rolling"


class ScaleInRule(StrEnum):
    """Which instances go first."""

    DEFAULT = "Default"
    NEWEST_VM = "NewestVM"
    OLDEST_VM = "OldestVM"


class ScaleSetSpec(Struct, frozen=True, omit_defaults=True):
    """What may be changed about a scale set beside its model and its capacity."""

    upgrade: UpgradeMode = UpgradeMode.MANUAL
    scale_in: ScaleInRule = ScaleInRule.DEFAULT
    policy: Policy = DEFAULT_POLICY
    binding: BindingPattern = NO_PATTERN
    batch_percent: int = 20  # Azure's default for a rolling upgrade: how many of the instances at once, at most
    batch_pause: timedelta = timedelta(0)  # between two batches


# What most VMs, or most scopes, have alike: one value for all, so that a million do not hold it a million times


class VmTraits(Struct, frozen=True, gc=False):
    """Small numbers of a VM: of a million VMs few differ in all of them."""

    update_domain: int = 0
    fault_domain: int = 0
    boots: int = 1
    ephemeral_disks: int = 1  # how many it has had: a redeployed VM starts with an empty one
    model: int = 0  # the version of its scale set's model that it has; 0 outside scale sets
    protected: bool = False  # from scale-in


@lru_cache(10_000)  # ours: 15 domains, each with some hundred counts; beyond it a VM has a value of its own
def alike(traits: VmTraits) -> VmTraits:
    """The one value for all VMs with these traits."""
    return traits


class ScopeTraits(Struct, frozen=True, gc=False):
    """What a lone VM's scope most often has none of."""

    policy: Policy = DEFAULT_POLICY
    resource_group: str = DEFAULT_RESOURCE_GROUP
    members: Map[str, None] = Map()  # VM keys; empty for a lone VM, which is its own member
    counts: Map[str, int] = Map()  # how many were ever created, by folded role ("" outside cloud services)
    domains: Domains = REGIONS_DOMAINS


USUAL_TRAITS = ScopeTraits()


class _Traited(Protocol):
    """A VM or a scope, as far as it matters here."""

    @property
    def traits(self) -> VmTraits | ScopeTraits: ...


_Owner = TypeVar("_Owner", bound=_Traited)


def with_traits(owner: _Owner, **changes: Any) -> _Owner:
    """The VM or scope with some of its traits changed; where others are like it, it holds no value of its own."""
    traits = structs.replace(owner.traits, **changes)
    if isinstance(traits, VmTraits):
        traits = alike(traits)
    elif traits == USUAL_TRAITS:
        traits = USUAL_TRAITS
    return cast("_Owner", structs.replace(cast("Struct", owner), traits=traits))
