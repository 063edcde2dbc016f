"""Availability sets, cloud services, and any one scope: who reads, until when, and what needs no approval."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from forewarn.core.looking.lookup import scope_named
from forewarn.core.region import Region, Scope, Vm
from forewarn.core.specs import ScopeKind
from forewarn.web.operator.routes.scopes import list_scopes
from forewarn.web.operator.schema.fleet_answers import EventAnswer, ScopeAnswer, ScopesAnswer
from forewarn.web.operator.schema.listing import ScopePage
from forewarn.web.operator.telling.views import event_fields, scope_fields
from forewarn.web.portal.deeds.scale_set_form import POLICY, SWITCHES
from forewarn.web.portal.forms import FormField, Given, checked
from forewarn.web.portal.page import Elsewhere, PortalPage, View, Visit, reverse_of

_ROWS = 50  # a screen and a half of a desk, as all lists of the portal
_MOST_OF_DOMAIN = 30  # ours: VMs of one update domain that are shown; a link leads to all
_NO_AZ = "az has no command for classic cloud services."
_ADD = {
    "availability-set": "forewarn vm create web --count 3 --availability-set front",
    "cloud-service": "forewarn vm create fe --count 2 --cloud-service shop --role FrontEnd",
}


@dataclass(frozen=True)
class ScopeList:
    kind: str
    what: str
    reverse: bool
    scopes: list[ScopeAnswer]
    following: str | None
    command: str


PartOf: TypeAlias = Callable[[Visit, str, int], Awaitable[ScopesAnswer]]


def _part_of(kind: ScopeKind) -> PartOf:
    async def part_of(visit: Visit, after: str, limit: int) -> ScopesAnswer:
        """Those of this kind, from there on."""
        page = checked(ScopePage, {"kind": kind.value, **reverse_of(visit), "after": after, "limit": limit})
        return await asyncio.to_thread(list_scopes, page, await visit.listed())

    return part_of


AVAILABILITY_SETS = _part_of(ScopeKind.AVAILABILITY_SET)
CLOUD_SERVICES = _part_of(ScopeKind.CLOUD_SERVICE)


def _list_of(kind: ScopeKind, what: str, part_of: PartOf) -> View:
    async def view(visit: Visit) -> ScopeList:
        found = await part_of(visit, visit.first("after"), _ROWS)
        return ScopeList(kind.value, what, bool(reverse_of(visit)), found.scopes, found.next, _ADD[kind.value])

    return view


@dataclass(frozen=True)
class UpdateDomain:
    """A row of the grid."""

    number: int
    vms: tuple[Vm, ...]
    more: int
    hit: frozenset[str]  # keys of those that an event is about


@dataclass(frozen=True)
class OneScope:
    scope: ScopeAnswer
    lapses_at: datetime | None
    domains: tuple[UpdateDomain, ...]
    events: list[EventAnswer]
    given: Given
    policy: tuple[FormField, ...] = SWITCHES


def view_one(visit: Visit) -> OneScope:
    region = visit.look.region
    scope = scope_named(region, f"{visit.path['kind']}/{visit.path['name']}")
    answer = scope_fields(scope)
    policy = answer.policy.model_dump()
    return OneScope(
        scope=answer,
        lapses_at=scope.lapses_at if scope.enabled_at is not None else None,
        domains=tuple(_domains(region, scope)),
        events=[event_fields(visit.look, region.events[event_id]) for event_id in scope.events],
        given={key: ("On" if policy[key] else "Off",) for key in POLICY},
    )


def _domains(region: Region, scope: Scope) -> Iterable[UpdateDomain]:
    by_number: dict[int, list[Vm]] = {}
    for vm in region.members_of(scope):
        by_number.setdefault(vm.update_domain, []).append(vm)
    hit = frozenset(key for event_id in scope.events for key in region.events[event_id].vms)
    for number, vms in sorted(by_number.items()):
        vms.sort(key=lambda vm: vm.number)
        shown = tuple(vms[:_MOST_OF_DOMAIN])
        yield UpdateDomain(number, shown, len(vms) - len(shown), hit & {vm.key for vm in shown})


def _reading(kind: ScopeKind) -> Callable[[Visit], Elsewhere]:
    az = (("vm", "availability-set", "list", "-o", "table"),) if kind is ScopeKind.AVAILABILITY_SET else ()
    chosen = {"kind": kind.value}
    return lambda visit: Elsewhere((("scope", "list", "--kind", kind.value),), chosen, az, _NO_AZ)


def _reading_one(visit: Visit) -> Elsewhere:
    key = f"{visit.path['kind']}/{visit.path['name']}"
    return Elsewhere((("scope", "show", key), ("vm", "list", "--scope", key), ("event", "list", "--scope", key)))


PAGES = (
    PortalPage(
        "availability-sets",
        "/availability-sets",
        "Availability sets",
        _list_of(ScopeKind.AVAILABILITY_SET, "availability set", AVAILABILITY_SETS),
        "pages/scopes.html",
        parts={"part-scopes": "parts/scopes.html"},
        api=("GET /v1/scopes",),
        reading=_reading(ScopeKind.AVAILABILITY_SET),
        menu="Availability sets",
    ),
    PortalPage(
        "cloud-services",
        "/cloud-services",
        "Cloud services",
        _list_of(ScopeKind.CLOUD_SERVICE, "cloud service", CLOUD_SERVICES),
        "pages/scopes.html",
        parts={"part-scopes": "parts/scopes.html"},
        api=("GET /v1/scopes",),
        reading=_reading(ScopeKind.CLOUD_SERVICE),
        menu="Cloud services",
    ),
    PortalPage(
        "scope",
        "/scopes/{kind}/{name}",
        "Scope",
        view_one,
        "pages/scope.html",
        parts={"part-scope": "parts/scope.html", "part-scope-events": "parts/scope_events.html"},
        api=("GET /v1/scopes/{kind}/{name}",),
        reading=_reading_one,
        under="availability-sets",
    ),
)
