"""A region from the parts that a snapshot keeps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from forewarn.core import keys
from forewarn.core.agenda import Agenda
from forewarn.core.folding.events import count_pending, open_work
from forewarn.core.folding.hosts import put_host, reserve
from forewarn.core.folding.machines import put_errand, put_machine
from forewarn.core.folding.sets import deletion_added, instance_joined
from forewarn.core.looking.turns import may_take
from forewarn.core.machines.values import OpenErrand, RealMachine
from forewarn.core.maps import Map
from forewarn.core.phases import PENDING
from forewarn.core.region import (
    Campaign,
    CampaignState,
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
)
from forewarn.core.retired import NONE_RETIRED, Retired
from forewarn.core.specs import NO_BINDING, ScopeKind, with_traits
from forewarn.core.tokens.values import AccessToken

NO_MACHINES: Mapping[str, RealMachine] = {}


def assemble(
    vms: Iterable[Vm],
    scopes: Iterable[Scope],
    hosts: Iterable[Host],
    events: Iterable[Event],
    campaigns: Iterable[Campaign],
    lone_vms_made: int,
    latest_at: datetime | None,
    *,
    scale_sets: Iterable[ScaleSet] = (),
    operations: Iterable[Operation] = (),
    resources: Iterable[Resource] = (),
    retired: Retired = NONE_RETIRED,
    machines: Mapping[str, RealMachine] = NO_MACHINES,
    errands: Iterable[OpenErrand] = (),
    tokens: Iterable[AccessToken] = (),
) -> Region:
    """A region from its parts. Hosts, scopes and sets come without members: those, and all indexes, are made anew.

    Of a million VMs each step here is a tenth of a second, and a table by key that is not the region's own 40 MB.
    """
    housed: dict[int, list[str]] = defaultdict(list)
    joined: dict[str, dict[str, None]] = defaultdict(dict)
    addresses: dict[str, str] = {}
    instances: list[Vm] = []
    vms = [*vms]
    vm_keys = [vm.key for vm in vms]
    for key, vm in zip(vm_keys, vms, strict=True):
        if vm.host is not None:
            housed[vm.host].append(key)
        if vm.spec.kind is not ScopeKind.VM:
            joined[vm.scope][key] = None
            instances.append(vm)
        if vm.binding is not NO_BINDING:
            addresses.update(dict.fromkeys(vm.binding.claims(), key))
    region = Region(
        vms=Map(zip(vm_keys, vms, strict=True)),
        scopes=_with_members(Map((scope.key, scope) for scope in scopes), joined),
        events=Map({event.id: event for event in events}),
        addresses=Map(addresses),
        campaigns=Map({campaign.id: campaign for campaign in campaigns}),
        lone_vms_made=lone_vms_made,
        latest_at=latest_at,
        retired=retired,
        scale_sets=Map({scale_set.key: scale_set for scale_set in scale_sets}),
        tokens=Map({token.id: token for token in tokens}),
    )
    region = _with_resources(region, resources)
    for vm in instances:
        region = instance_joined(region, vm)
    for event in region.events.values():
        region = open_work(deletion_added(region, event), event)
    for host in hosts:
        region = put_host(region, replace(host, vms=tuple(sorted(housed.pop(host.number, ())))))
    return _index(_with_operations(_with_machines(region, machines, errands), operations))


def _with_resources(region: Region, resources: Iterable[Resource]) -> Region:
    kept = {fold(resource.id): resource for resource in resources}
    owned = Map({resource.owner: key for key, resource in kept.items() if resource.owner})
    return replace(region, resources=Map(kept), owned=owned)


def _with_members(scopes: Map[str, Scope], joined: Mapping[str, Mapping[str, None]]) -> Map[str, Scope]:
    """Most scopes are a lone VM's and have none: a second object for each would leave holes where the first was."""
    changing = scopes.mutate()
    for key, members in joined.items():
        if key in changing:
            changing[key] = with_traits(changing[key], members=Map(members))
    return changing.finish()


def _with_machines(region: Region, machines: Mapping[str, RealMachine], errands: Iterable[OpenErrand]) -> Region:
    hosts = [host for host in region.hosts.values() if isinstance(host, RealHost)]
    region = replace(region, real_hosts=Map({fold(host.name): host.number for host in hosts}))
    for key, machine in machines.items():
        region = put_machine(region, key, machine)
    for found in errands:
        region = reserve(put_errand(region, found), found.errand.to, found.errand.vm, wanted=True)
    return region


def _with_operations(region: Region, operations: Iterable[Operation]) -> Region:
    known = {operation.id: operation for operation in operations}
    ended = {operation.number: operation.id for operation in known.values() if operation.number is not None}
    awaited: dict[str, Map[str, None]] = {}
    for operation in known.values():
        for event_id in operation.waiting:
            awaited[event_id] = awaited.get(event_id, Map()).set(operation.id, None)
    return replace(
        region,
        operations=Map(known),
        operations_ended=Map(ended),
        operations_ended_total=max(ended, default=-1) + 1,
        awaited=Map(awaited),
    )


def _index(region: Region) -> Region:
    """Make the agenda, the groups and the counts from what is there."""
    lapsing: defaultdict[datetime, list[str]] = defaultdict(list)
    for scope in region.scopes.values():
        if scope.lapses_at is not None:
            lapsing[scope.lapses_at].append(scope.key)
    dues = keys.of_scopes(lapsing)
    for event in region.events.values():
        due = event.not_before if event.phase in PENDING else event.completes_at or event.impact_ends_at
        if due is not None:
            dues[due].append(keys.of_event(event.id))
        if event.phase in PENDING:
            region = count_pending(region, None, event)
    running = (each for each in region.campaigns.values() if each.state is CampaignState.RUNNING)
    waiting = [campaign for campaign in running if campaign.waiting]
    for campaign in waiting:
        if may_take(region, campaign):
            dues[campaign.started_at].append(keys.of_campaign(campaign.id))
    for scale_set in region.scale_sets.values():
        if scale_set.rolling is not None and scale_set.rolling.next_at is not None:
            dues[scale_set.rolling.next_at].append(keys.of_rolling_upgrade(scale_set.key))
    index = Map({campaign.id: None for campaign in waiting})
    return replace(region, agenda=Agenda.of(dues), campaigns_waiting=index)
