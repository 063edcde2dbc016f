"""A region taken apart into pieces of a few thousand things each, and put together again.

Only what cannot be derived is kept. What many VMs share when they are taken apart they share again after: a million
VMs that were made together hold one specification, not a million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, Generic, TypeVar

import msgspec
from immutables import Map

from forewarn.core.folding.assemble import assemble
from forewarn.core.machines.values import OpenErrand, RealMachine
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
    replace,
    scope_key,
)
from forewarn.core.retired import Retired
from forewarn.core.specs import DEFAULT_POLICY, NO_BINDING, REGIONS_DOMAINS, Binding, VmSpec
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
    ScopeRow,
    ScopesPart,
    VmsPart,
)

CHUNK = 2000  # a few milliseconds of work, after which other threads get their turn
_MOMENTS_MOST = 200_000  # ours: bounds a table that is only good where many scopes share an instant

_NO_COUNTS: Map[str, int] = Map()
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
    yield from map(RealHostsPart, _chunks(replace(host, vms=Map(), reserved=Map()) for host in real))
    yield from map(tables.vms_part, _chunks(region.vms.values()))
    yield from map(_scopes_part, _chunks(region.scopes.values()))
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


def _scopes_part(scopes: list[Scope]) -> ScopesPart:
    return ScopesPart(
        [
            ScopeRow(
                scope.kind,
                scope.name,
                None if scope.policy == DEFAULT_POLICY else scope.policy,
                dict(scope.counts) if scope.counts else {},
                scope.enabled_at,
                scope.last_read_at,
                scope.lapses_at,
                scope.incarnation,
                scope.events,
                scope.changed_at,
                scope.resource_group,
                None if scope.domains == REGIONS_DOMAINS else scope.domains,
            )
            for scope in scopes
        ]
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

    def vms_part(self, vms: list[Vm]) -> VmsPart:
        specs = [self.specs.place(vm.spec) for vm in vms]
        seeds = [self.seeds.place(vm.seed) for vm in vms]
        created = [self.instants.place(vm.created_at) for vm in vms]
        bindings = [self.bindings.place(vm.binding) for vm in vms]
        return VmsPart(
            self.specs.take_new(),
            self.seeds.take_new(),
            self.instants.take_new(),
            self.bindings.take_new(),
            [vm.name for vm in vms],
            specs,
            seeds,
            created,
            [vm.number for vm in vms],
            [vm.update_domain for vm in vms],
            [vm.fault_domain for vm in vms],
            [vm.host for vm in vms],
            [vm.power for vm in vms],
            [vm.boots for vm in vms],
            [vm.ephemeral_disks for vm in vms],
            bindings,
            {place: vm.events for place, vm in enumerate(vms) if vm.events},
            {place: (vm.model, vm.protected) for place, vm in enumerate(vms) if vm.model},
        )


# Together


class RegionBuilder:
    """Takes the parts as they come."""

    def __init__(self) -> None:
        self._specs: list[VmSpec] = []
        self._seeds: list[str] = []
        self._instants: list[datetime] = []
        self._bindings: list[Binding] = []
        self._hosts: dict[int, Host] = {}
        self._numbers: dict[int | None, int | None] = {None: None}
        self._vms: list[Vm] = []
        self._names: dict[str, str] = {}
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
        )

    def take(self, part: Part) -> None:
        match part:
            case HostsPart():
                self._take_hosts(part)
            case VmsPart():
                self._take_vms(part)
            case ScopesPart():
                self._take_scopes(part.rows)
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
        first = len(self._vms)
        self._vms += map(
            Vm,
            part.names,
            map(self._specs.__getitem__, part.specs),
            map(self._seeds.__getitem__, part.seeds),
            map(self._instants.__getitem__, part.created),
            part.numbers,
            part.update_domains,
            part.fault_domains,
            map(self._numbers.__getitem__, part.hosts),
            part.powers,
            part.boots,
            part.disks,
            map(self._bindings.__getitem__, part.bindings),
        )
        for place, events in part.events.items():
            self._vms[first + place] = replace(self._vms[first + place], events=events)
        for place, (model, protected) in part.instances.items():
            self._vms[first + place] = replace(self._vms[first + place], model=model, protected=protected)

    def _take_scopes(self, rows: list[ScopeRow]) -> None:
        if not self._names:
            self._names = {vm.name: vm.name for vm in self._vms}
        self._scopes += (self._scope_of(row, self._names.get(row.name, row.name)) for row in rows)

    def _moment(self, instant: datetime | None) -> datetime | None:
        """The one object for an instant that many scopes have in common, as long as those are not too many."""
        if instant is None or len(self._moments) >= _MOMENTS_MOST:
            return instant
        return self._moments.setdefault(instant, instant)

    def _scope_of(self, row: ScopeRow, name: str) -> Scope:
        """``name`` is the lone VM's own string. A scope's instants are mostly the same one, and are one object then."""
        enabled = self._moment(row.enabled_at)
        return Scope(
            key=scope_key(row.kind, name),
            kind=row.kind,
            name=name,
            policy=DEFAULT_POLICY if row.policy is None else row.policy,
            counts=Map(row.counts) if row.counts else _NO_COUNTS,
            enabled_at=enabled,
            last_read_at=enabled if row.last_read_at == enabled else self._moment(row.last_read_at),
            lapses_at=self._moment(row.lapses_at),
            incarnation=row.incarnation,
            events=row.events,
            changed_at=enabled if row.changed_at == enabled else self._moment(row.changed_at),
            resource_group=row.resource_group,
            domains=REGIONS_DOMAINS if row.domains is None else row.domains,
        )
