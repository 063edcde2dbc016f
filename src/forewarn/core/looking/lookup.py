"""Finding a thing by the name that a request gives, or refusing it with a sentence.

The core finds what a command names, the operator face what a path or a query names: both by the functions on a region,
so that a name is found, or refused in the same words, wherever it stands. Names are compared without regard to case.
"""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.core.causes import HOST_MAINTENANCE, Cause
from forewarn.core.refusal import Hint, Refused, no_campaign, no_event, no_scope, nothing_named
from forewarn.core.region import Campaign, Event, Host, HostHealth, Region, ScaleSet, Scope, Vm, fold
from forewarn.core.specs import ScopeKind


def vm_named(region: Region, name: str) -> Vm:
    found = region.vms.get(fold(name))
    if found is None:
        raise nothing_named("VM", name)
    return found


def host_named(region: Region, name: str) -> Host:
    number = region.real_hosts.get(fold(name), _host_number(fold(name)))
    found = region.hosts.get(number)
    if found is None or fold(found.name) != fold(name) or found.health is HostHealth.LEFT:
        raise nothing_named("host", name)
    return found


def scale_set_named(region: Region, name: str) -> ScaleSet:
    found = region.scale_sets.get(fold(name))
    if found is None:
        raise nothing_named("scale set", name)
    return found


def scope_named(region: Region, key: str) -> Scope:
    """Also the scope of a lone VM that nobody has read for, which is not recorded yet."""
    key = fold(key)
    kind, _, name = key.partition("/")
    found = region.scopes.get(key)
    if found is not None:
        return found
    lone = region.vms.get(name) if kind == ScopeKind.VM.value else None
    if lone is None or lone.spec.kind is not ScopeKind.VM:
        raise no_scope(key)
    return region.scope_of(lone)


def campaign_named(region: Region, campaign_id: str) -> Campaign:
    found = region.campaigns.get(campaign_id.upper())
    if found is None:
        raise no_campaign(campaign_id)
    return found


# For commands


def find_vms(region: Region, names: Iterable[str]) -> list[Vm]:
    """Each once, and at least one."""
    found = [vm_named(region, name) for name in dict.fromkeys(fold(name) for name in names)]
    if not found:
        raise Refused(Hint.INVALID, "Name at least one VM.")
    return found


def find_hosts(region: Region, names: tuple[str, ...]) -> list[Host]:
    """Each once; all where none is named."""
    hosts = region.hosts
    if not names:
        return [hosts[number] for number in sorted(hosts) if hosts[number].health is not HostHealth.LEFT]
    return [host_named(region, name) for name in dict.fromkeys(fold(name) for name in names)]


def _host_number(name: str) -> int:
    """The number in ``host-7``; -1 in what cannot be a host's name. A second spelling, ``host-07``, is none either."""
    prefix, _, number = name.rpartition("-")
    plausible = prefix == "host" and number.isascii() and number.isdigit() and len(number) < 12
    return int(number) if plausible else -1


def find_event(region: Region, event_id: str) -> Event:
    event = region.events.get(event_id.upper())
    if event is None or not event.announced:
        raise no_event(f"There is no event {event_id}, or it has ended.", event_id)
    return event


def find_campaign(region: Region, campaign_id: str) -> Campaign:
    """One that has not ended."""
    campaign = campaign_named(region, campaign_id)
    if campaign.ended_at is not None:
        raise Refused(Hint.CONFLICT, f"Campaign {campaign_id} is {campaign.state.value} already.")
    return campaign


def check_maintenance(cause: Cause) -> None:
    if cause not in HOST_MAINTENANCE:
        allowed = ", ".join(HOST_MAINTENANCE)
        raise Refused(Hint.INVALID, f"'{cause.value}' is not a kind of host maintenance; choose one of {allowed}.")
