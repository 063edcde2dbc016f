"""The pieces that a region is taken apart into, as they are written. Their order and their tags are a promise."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from forewarn.core.machines.values import OpenErrand, RealMachine
from forewarn.core.region import (
    Campaign,
    Event,
    HostHealth,
    Operation,
    Power,
    RealHost,
    Resource,
    ScaleSet,
)
from forewarn.core.specs import Binding, Domains, Policy, ScopeKind, VmSpec, VmTraits
from forewarn.core.tokens.values import AccessToken


class HostsPart(Struct, array_like=True, tag="hosts"):
    numbers: list[int]
    fault_domains: list[int]
    update_domains: list[int]
    capacities: list[int]
    healths: list[HostHealth]


class VmsPart(Struct, array_like=True, tag="vms"):
    """VMs by column. What many of them share stands once in a table that the parts fill as they come."""

    new_specs: list[VmSpec]
    new_seeds: list[str]
    new_instants: list[datetime]
    new_bindings: list[Binding]
    new_traits: list[VmTraits]
    names: list[str]
    specs: list[int]
    seeds: list[int]
    created: list[int]
    numbers: list[int]
    hosts: list[int | None]
    powers: list[Power]
    bindings: list[int]
    traits: list[int]
    events: dict[int, tuple[str, ...]]  # place in this part -> event ids, where there are any


class ScopeExtras(Struct, array_like=True, gc=False):
    """What few scopes have."""

    policy: Policy | None
    counts: dict[str, int]
    resource_group: str
    domains: Domains | None


class ScopesPart(Struct, array_like=True, tag="scopes"):
    """Scopes by column: those of lone VMs right after the part that has these, or others.

    Instants are places in this part's own table, -1 for none: a node that has run for long has a million of them, and a
    table of all would be larger than the region.
    """

    instants: list[datetime]
    vms: list[int]  # whose they are: places in the part of VMs just before this one; none for other scopes
    kinds: list[ScopeKind]  # and names, of other scopes
    names: list[str]
    enabled: list[int]
    last_reads: list[int]
    lapses: list[int]
    changed: list[int]
    incarnations: list[int]
    events: dict[int, tuple[str, ...]]  # place in this part -> event ids, where there are any
    extras: dict[int, ScopeExtras]  # place in this part -> what is not as usual


class EventsPart(Struct, array_like=True, tag="events"):
    events: list[Event]


class CampaignsPart(Struct, array_like=True, tag="campaigns"):
    campaigns: list[Campaign]


class ScaleSetsPart(Struct, array_like=True, tag="scale-sets"):
    scale_sets: list[ScaleSet]


class OperationsPart(Struct, array_like=True, tag="operations"):
    operations: list[Operation]


class ResourcesPart(Struct, array_like=True, tag="resources"):
    resources: list[Resource]


class RealHostsPart(Struct, array_like=True, tag="real-hosts"):
    hosts: list[RealHost]


class MachinesPart(Struct, array_like=True, tag="machines"):
    machines: dict[str, RealMachine]


class ErrandsPart(Struct, array_like=True, tag="errands"):
    errands: list[OpenErrand]


class TokensPart(Struct, array_like=True, tag="tokens"):
    tokens: list[AccessToken]


class RetiredScopesPart(Struct, array_like=True, tag="retired"):
    total: int
    numbers: dict[str, tuple[int, int]]


Part: TypeAlias = (
    HostsPart
    | VmsPart
    | ScopesPart
    | EventsPart
    | CampaignsPart
    | ScaleSetsPart
    | OperationsPart
    | ResourcesPart
    | RetiredScopesPart
    | RealHostsPart
    | MachinesPart
    | ErrandsPart
    | TokensPart
)
