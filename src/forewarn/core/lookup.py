"""Finding what a command names, or refusing it with a sentence."""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.core.causes import HOST_MAINTENANCE, Cause
from forewarn.core.draft import Draft
from forewarn.core.refusal import Hint, Refused, no_campaign, no_event, no_scope, nothing_named
from forewarn.core.region import Campaign, Event, Host, ScaleSet, ScopeKind, Vm, fold


def find_vms(draft: Draft, names: Iterable[str]) -> list[Vm]:
    found = []
    for name in dict.fromkeys(fold(name) for name in names):
        vm = draft.region.vms.get(name)
        if vm is None:
            raise nothing_named("VM", name)
        found.append(vm)
    if not found:
        raise Refused(Hint.INVALID, "Name at least one VM.")
    return found


def find_hosts(draft: Draft, names: tuple[str, ...]) -> list[Host]:
    hosts = draft.region.hosts
    if not names:
        return [hosts[number] for number in sorted(hosts)]
    found = []
    for name in dict.fromkeys(fold(name) for name in names):
        host = hosts.get(_host_number(name))
        if host is None or host.name != name:
            raise nothing_named("host", name)
        found.append(host)
    return found


def _host_number(name: str) -> int:
    """The number in ``host-7``; -1 in what cannot be a host's name. A second spelling, ``host-07``, is none either."""
    prefix, _, number = name.rpartition("-")
    plausible = prefix == "host" and number.isascii() and number.isdigit() and len(number) < 12
    return int(number) if plausible else -1


def find_event(draft: Draft, event_id: str) -> Event:
    event = draft.region.events.get(event_id.upper())
    if event is None or not event.announced:
        raise no_event(f"There is no event {event_id}, or it has ended.", event_id)
    return event


def find_campaign(draft: Draft, campaign_id: str) -> Campaign:
    campaign = draft.region.campaigns.get(campaign_id)
    if campaign is None:
        raise no_campaign(campaign_id)
    if campaign.ended_at is not None:
        raise Refused(Hint.CONFLICT, f"Campaign {campaign_id} is {campaign.state.value} already.")
    return campaign


def find_scale_set(draft: Draft, name: str) -> ScaleSet:
    scale_set = draft.region.scale_sets.get(fold(name))
    if scale_set is None:
        raise nothing_named("scale set", name)
    return scale_set


def check_scope(draft: Draft, key: str) -> None:
    kind, _, name = key.partition("/")
    lone = draft.region.vms.get(name) if kind == ScopeKind.VM.value else None
    if key not in draft.region.scopes and (lone is None or lone.spec.kind is not ScopeKind.VM):
        raise no_scope(key)


def check_maintenance(cause: Cause) -> None:
    if cause not in HOST_MAINTENANCE:
        allowed = ", ".join(HOST_MAINTENANCE)
        raise Refused(Hint.INVALID, f"'{cause.value}' is not a kind of host maintenance; choose one of {allowed}.")
