"""A region taken apart into pieces of a few thousand things each, and put together again.

Only what cannot be derived is kept. What many VMs share when they are taken apart they share again after: a million
VMs that were made together hold one specification, not a million.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from itertools import islice, repeat
from typing import Any, Generic, TypeVar

import msgspec

from forewarn.core.folding.assemble import assemble
from forewarn.core.machines.values import OpenErrand, RealMachine
from forewarn.core.maps import Map
from forewarn.core.region import (
    Campaign,
    Event,
    Host,
    Operation,
    RealHost,
    Region,
    Resource,
    ScaleSet,
    Scope,
    Vm,
    fold,
    replace,
    scope_key,
)
from forewarn.core.retired import Retired
from forewarn.core.specs import (
    DEFAULT_POLICY,
    DEFAULT_RESOURCE_GROUP,
    NO_BINDING,
    REGIONS_DOMAINS,
    Binding,
    ScopeKind,
    VmSpec,
    VmTraits,
    alike,
    with_traits,
)
from forewarn.core.tokens.values import AccessToken
from forewarn.stores.snapshots.shapes import (
    CampaignsPart,
    ErrandsPart,
    EventsPart,
    HostsPart,
    MachinesPart,
    OperationsPart,
    Part,
    RealHostsPart,
    ResourcesPart,
    RetiredScopesPart,
    ScaleSetsPart,
    ScopeExtras,
    ScopesPart,
    TokensPart,
    VmsPart,
)

CHUNK = 2000  # a few milliseconds of work, after which other threads get their turn
_MOMENTS_MOST = 200_000  # ours: bounds a table that is only good where many scopes share an instant

_PREFIXES = {kind: scope_key(kind, "") for kind in ScopeKind}  # taken from a table: a million keys are made
_NO_EXTRAS = ScopeExtras(None, {}, DEFAULT_RESOURCE_GROUP, None)
_T = TypeVar("_T")


def _plain(value: Any) -> Any:
    if isinstance(value, Map):
        return dict(value)
    raise NotImplementedError(f"a snapshot cannot hold a {type(value).__name__}")


def _mapped(_: type, value: Any) -> Any:
    return Map(value)


encode = msgspec.msgpack.Encoder(enc_hook=_plain).encode
decode: Callable[[bytes], Part] = msgspec.msgpack.Decoder(Part, dec_hook=_mapped).decode


# Apart


def parts_of(region: Region) -> Iterator[Part]:
    tables = _Tables()
    real = [host for host in map(region.hosts.__getitem__, region.real_hosts.values()) if isinstance(host, RealHost)]
    pretended = (host for host in region.hosts.values() if not isinstance(host, RealHost))
    yield from map(_hosts_part, _chunks(pretended))
    yield from map(RealHostsPart, _chunks(replace(host, vms=(), reserved=Map()) for host in real))
    for vms in _chunks(region.vms.values()):
        yield tables.vms_part(vms)
        if own := _own_scopes(region, vms):
            yield _scopes_part([*own.values()], own)
    others = (scope for scope in region.scopes.values() if scope.kind is not ScopeKind.VM)
    yield from (_scopes_part(scopes, ()) for scopes in _chunks(others))
    yield from map(EventsPart, _chunks(region.events.values()))
    yield from map(CampaignsPart, _chunks(region.campaigns.values()))
    without_members = (replace(scale_set, instances=Map(), leaving=0) for scale_set in region.scale_sets.values())
    yield from map(ScaleSetsPart, _chunks(without_members))
    yield from map(OperationsPart, _chunks(region.operations.values()))
    yield from map(ResourcesPart, _chunks(region.resources.values()))
    total = region.retired.total
    yield from (RetiredScopesPart(total, dict(chunk)) for chunk in _chunks(region.retired.numbers.items()))
    if total and not region.retired.numbers:
        yield RetiredScopesPart(total, {})
    yield from (MachinesPart(dict(chunk)) for chunk in _chunks(region.machines.items()))
    yield from map(ErrandsPart, _chunks(region.errands.values()))
    yield from map(TokensPart, _chunks(region.tokens.values()))


def _chunks(values: Iterable[_T]) -> Iterator[list[_T]]:
    remaining = iter(values)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk


def _hosts_part(hosts: list[Host]) -> HostsPart:
    return HostsPart(
        [host.number for host in hosts],
        [host.fault_domain for host in hosts],
        [host.update_domain for host in hosts],
        [host.capacity for host in hosts],
        [host.health for host in hosts],
    )


def _own_scopes(region: Region, vms: list[Vm]) -> dict[int, Scope]:
    """Those of lone VMs, by the VM's place: so a start finds the VM without a table of all names."""
    scopes = (region.scopes.get(vm.scope) if vm.spec.kind is ScopeKind.VM else None for vm in vms)
    return {place: scope for place, scope in enumerate(scopes) if scope is not None}


def _scopes_part(scopes: list[Scope], vms: Collection[int]) -> ScopesPart:
    places: dict[datetime | None, int] = {None: -1}

    def column(instants: Iterable[datetime | None]) -> list[int]:
        return [places.setdefault(instant, len(places) - 1) for instant in instants]

    enabled = column(scope.enabled_at for scope in scopes)
    last_reads = column(scope.last_read_at for scope in scopes)
    lapses = column(scope.lapses_at for scope in scopes)
    changed = column(scope.changed_at for scope in scopes)
    return ScopesPart(
        [instant for instant in places if instant is not None],
        [*vms],
        [] if vms else [scope.kind for scope in scopes],
        [] if vms else [scope.name for scope in scopes],
        enabled,
        last_reads,
        lapses,
        changed,
        [scope.incarnation for scope in scopes],
        {place: scope.events for place, scope in enumerate(scopes) if scope.events},
        {place: extras for place, scope in enumerate(scopes) if (extras := _extras(scope)) != _NO_EXTRAS},
    )


def _extras(scope: Scope) -> ScopeExtras:
    return ScopeExtras(
        None if scope.policy == DEFAULT_POLICY else scope.policy,
        dict(scope.traits.counts),
        scope.resource_group,
        None if scope.traits.domains == REGIONS_DOMAINS else scope.traits.domains,
    )


class _Table(Generic[_T]):
    """Numbers for values, each value once. Looks at the object first: hashing a specification is dear."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}  # by id(); the region keeps every object alive meanwhile
        self._values: dict[_T, int] = {}
        self._new: list[_T] = []

    def place(self, value: _T) -> int:
        place = self._places.get(id(value))
        if place is None:
            place = self._values.get(value)
            if place is None:
                place = self._values[value] = len(self._values)
                self._new.append(value)
            self._places[id(value)] = place
        return place

    def take_new(self) -> list[_T]:
        new, self._new = self._new, []
        return new


class _Tables:
    """What VMs share, numbered in the order of its first appearance."""

    def __init__(self) -> None:
        self.specs: _Table[VmSpec] = _Table()
        self.seeds: _Table[str] = _Table()
        self.instants: _Table[datetime] = _Table()
        self.bindings: _Table[Binding] = _Table()
        self.traits: _Table[VmTraits] = _Table()

    def vms_part(self, vms: list[Vm]) -> VmsPart:
        specs = [self.specs.place(vm.spec) for vm in vms]
        seeds = [self.seeds.place(vm.seed) for vm in vms]
        created = [self.instants.place(vm.created_at) for vm in vms]
        bindings = [self.bindings.place(vm.binding) for vm in vms]
        traits = [self.traits.place(vm.traits) for vm in vms]
        return VmsPart(
            self.specs.take_new(),
            self.seeds.take_new(),
            self.instants.take_new(),
            self.bindings.take_new(),
            self.traits.take_new(),
            [vm.name for vm in vms],
            specs,
            seeds,
            created,
            [vm.number for vm in vms],
            [vm.host for vm in vms],
            [vm.power for vm in vms],
            bindings,
            traits,
            {place: vm.events for place, vm in enumerate(vms) if vm.events},
        )


# Together


class RegionBuilder:
    """Takes the parts as they come."""

    def __init__(self) -> None:
        self._specs: list[VmSpec] = []
        self._seeds: list[str] = []
        self._instants: list[datetime] = []
        self._bindings: list[Binding] = []
        self._traits: list[VmTraits] = []
        self._hosts: dict[int, Host] = {}
        self._numbers: dict[int | None, int | None] = {None: None}
        self._vms: list[Vm] = []
        self._latest: list[Vm] = []  # of the latest part
        self._moments: dict[datetime, datetime] = {}
        self._scopes: list[Scope] = []
        self._events: list[Event] = []
        self._campaigns: list[Campaign] = []
        self._scale_sets: list[ScaleSet] = []
        self._operations: list[Operation] = []
        self._resources: list[Resource] = []
        self._retired: dict[str, tuple[int, int]] = {}
        self._retired_total = 0
        self._machines: dict[str, RealMachine] = {}
        self._errands: list[OpenErrand] = []
        self._tokens: list[AccessToken] = []

    def region(self, lone_vms_made: int, latest_at: datetime | None) -> Region:
        hosts = self._hosts.values()
        return assemble(
            self._vms,
            self._scopes,
            hosts,
            self._events,
            self._campaigns,
            lone_vms_made,
            latest_at,
            scale_sets=self._scale_sets,
            operations=self._operations,
            resources=self._resources,
            retired=Retired.of(self._retired, self._retired_total),
            machines=self._machines,
            errands=self._errands,
            tokens=self._tokens,
        )

    def take(self, part: Part) -> None:
        match part:
            case HostsPart():
                self._take_hosts(part)
            case VmsPart():
                self._take_vms(part)
            case ScopesPart():
                self._take_scopes(part)
            case EventsPart():
                self._events += part.events
            case CampaignsPart():
                self._campaigns += part.campaigns
            case ScaleSetsPart():
                self._scale_sets += part.scale_sets
            case OperationsPart():
                self._operations += part.operations
            case ResourcesPart():
                self._resources += part.resources
            case RetiredScopesPart():
                self._retired |= part.numbers
                self._retired_total = part.total
            case RealHostsPart():
                self._take_each_host(part.hosts)
            case MachinesPart():
                self._machines |= part.machines
            case ErrandsPart():
                self._errands += part.errands
            case TokensPart():
                self._tokens += part.tokens

    def _take_hosts(self, part: HostsPart) -> None:
        columns = (part.numbers, part.fault_domains, part.update_domains, part.capacities, part.healths)
        self._take_each_host(map(Host, *columns))

    def _take_each_host(self, hosts: Iterable[Host]) -> None:
        for host in hosts:
            self._hosts[host.number] = host
            self._numbers[host.number] = host.number

    def _take_vms(self, part: VmsPart) -> None:
        self._specs += part.new_specs
        self._seeds += part.new_seeds
        self._instants += part.new_instants
        self._bindings += (NO_BINDING if binding == NO_BINDING else binding for binding in part.new_bindings)
        self._traits += map(alike, part.new_traits)
        columns = (
            part.names,
            map(self._specs.__getitem__, part.specs),
            map(self._seeds.__getitem__, part.seeds),
            map(self._instants.__getitem__, part.created),
            part.numbers,
            map(self._numbers.__getitem__, part.hosts),
            part.powers,
            map(self._bindings.__getitem__, part.bindings),
            repeat(()),
            map(self._traits.__getitem__, part.traits),
        )
        self._latest = [*map(Vm, *columns)]
        for place, events in part.events.items():
            self._latest[place] = replace(self._latest[place], events=events)
        self._vms += self._latest

    def _take_scopes(self, part: ScopesPart) -> None:
        first = len(self._scopes)
        instants = [*map(self._moment, part.instants), None]  # place -1 is none
        vms = [*map(self._latest.__getitem__, part.vms)]
        names = [vm.name for vm in vms] or part.names  # a lone VM's own string
        kinds = part.kinds or [ScopeKind.VM] * len(vms)
        self._scopes += map(
            Scope,
            [_PREFIXES[kind] + fold(name) for kind, name in zip(kinds, names, strict=True)],
            kinds,
            names,
            map(instants.__getitem__, part.enabled),
            map(instants.__getitem__, part.last_reads),
            map(instants.__getitem__, part.lapses),
            part.incarnations,
            repeat(()),
            map(instants.__getitem__, part.changed),
        )
        for place, events in part.events.items():
            self._scopes[first + place] = replace(self._scopes[first + place], events=events)
        for place, extras in part.extras.items():
            self._scopes[first + place] = with_traits(
                self._scopes[first + place],
                policy=DEFAULT_POLICY if extras.policy is None else extras.policy,
                counts=Map(extras.counts),
                resource_group=extras.resource_group,
                domains=REGIONS_DOMAINS if extras.domains is None else extras.domains,
            )

    def _moment(self, instant: datetime) -> datetime:
        """The one object for an instant that many scopes have in common, as long as those are not too many."""
        if len(self._moments) >= _MOMENTS_MOST:
            return instant
        return self._moments.setdefault(instant, instant)
