"""How facts about hosts change a region, and the room that they have."""

from __future__ import annotations

from typing import assert_never

from forewarn.core import facts as f
from forewarn.core.machines import facts as mf
from forewarn.core.maps import Map
from forewarn.core.region import Host, HostHealth, RealHost, Region, fold, replace


def fold_host(region: Region, fact: f.HostAdded | f.HostMarked) -> Region:
    """The region after a fact about one host."""
    if isinstance(fact, f.HostAdded):
        return put_host(region, Host(fact.host, fact.fault_domain, fact.update_domain, fact.capacity))
    return put_host(region, replace(region.hosts[fact.host], health=fact.health))


def fold_real_host(region: Region, fact: mf.HostFact) -> Region:
    """The region after a fact about a host of an engine."""
    if isinstance(fact, mf.HostRegistered):
        return _registered(region, fact)
    host = region.hosts[fact.host]
    assert isinstance(host, RealHost), f"{host.name} is of no engine"
    match fact:
        case mf.HostSilent():
            return put_host(region, replace(host, health=HostHealth.SILENT, was=host.health))
        case mf.HostBack():
            region = put_host(region, replace(host, health=host.was, was=HostHealth.HEALTHY))
            return _source_answers(region, host.name)
        case mf.HostFenced():
            was = host.was if host.was is HostHealth.DRAINING else HostHealth.HEALTHY
            return put_host(region, replace(host, health=HostHealth.FENCED, was=was, lost_at=fact.at))
        case mf.HostDraining():
            return put_host(region, _heading_for(host, HostHealth.DRAINING))
        case mf.HostResumed():
            return put_host(region, _heading_for(host, HostHealth.HEALTHY))
        case mf.HostLeft():
            return put_host(region, replace(host, health=HostHealth.LEFT, was=HostHealth.HEALTHY))
        case _:
            assert_never(fact)


def _heading_for(host: RealHost, health: HostHealth) -> RealHost:
    """Set a host's health; of a silent one, the health that it has when it answers again."""
    return replace(host, health=health) if host.answers else replace(host, was=health)


def _source_answers(region: Region, host: str) -> Region:
    """A fenced host answers again: machines that counted as off because it was are looked for there again."""
    errands = region.errands
    for errand_id, found in region.errands.items():
        if found.errand.source_off and fold(found.errand.host) == fold(host):
            errands = errands.set(errand_id, replace(found, errand=replace(found.errand, source_off=False)))
    return replace(region, errands=errands)


def _registered(region: Region, fact: mf.HostRegistered) -> Region:
    host = RealHost(
        fact.host,
        fact.fault_domain,
        fact.update_domain,
        fact.capacity,
        called=fact.name,
        engine=fact.engine,
        kinds=fact.kinds,
    )
    return put_host(replace(region, real_hosts=region.real_hosts.set(fold(fact.name), fact.host)), host)


def put_host(region: Region, host: Host) -> Region:
    """Set a host, and whether it has room for more pretended machines."""
    domain = (host.fault_domain, host.update_domain)
    open_hosts = region.vacancies.get(domain, Map())
    has_room = host.health is HostHealth.HEALTHY and len(host.vms) < host.capacity and not isinstance(host, RealHost)
    vacancies = region.vacancies
    if has_room and host.number not in open_hosts:
        vacancies = vacancies.set(domain, open_hosts.set(host.number, None))
    elif not has_room and host.number in open_hosts:
        left = open_hosts.delete(host.number)
        vacancies = vacancies.set(domain, left) if left else vacancies.delete(domain)
    return replace(region, hosts=region.hosts.set(host.number, host), vacancies=vacancies)


def reserve(region: Region, name: str, vm: str, *, wanted: bool) -> Region:
    """Keep a place at a host for a VM that is on its way there, or let it go."""
    host = region.real_host(name) if name and vm else None
    if host is None or (vm in host.reserved) == wanted:
        return region
    reserved = host.reserved.set(vm, None) if wanted else host.reserved.delete(vm)
    return put_host(region, replace(host, reserved=reserved))
