"""One virtual machine: what is coming to it, what it sees, and who did what to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass

from forewarn.core.looking.lookup import vm_named
from forewarn.web.documents.document import document_bytes
from forewarn.web.operator.documents import find_version, instance_of, seen_by
from forewarn.web.operator.routes import activity, faults, fleet
from forewarn.web.operator.schema.answers import ActivityAnswer, FaultAnswer
from forewarn.web.operator.schema.fleet_answers import VmStory
from forewarn.web.operator.schema.requests import ActivityPage
from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.deeds.deed import PortalDeed
from forewarn.web.portal.page import PortalPage, Visit
from forewarn.wire.versions import API_VERSIONS, NEWEST, NEWEST_THREE

TABS = {"events": "Events", "sees": "What it sees", "instance": "Instance", "faults": "Faults", "activity": "Activity"}
_FIRST = ("restart", "redeploy")
_MORE = ("reimage", "stop", "deallocate", "start", "read")
_LINES = 50  # a screen and a half of a desk; the page of activity has all of them


@dataclass(frozen=True)
class SeenBytes:
    """Bytes as the metadata face would send them: as they are, and laid out for a reader."""

    version: str
    versions: tuple[str, ...]
    raw: str
    lines: tuple[str, ...]
    size: int
    incarnation: int | None = None


@dataclass(frozen=True)
class VmPageView:
    vm: VmStory
    tab: str
    tabs: dict[str, str]
    enabled: bool  # whether a VM of its scope reads
    first: tuple[PortalDeed, ...]
    more: tuple[PortalDeed, ...]
    metadata_url: str
    seen: SeenBytes | None = None
    faults: tuple[FaultAnswer, ...] = ()
    activity: tuple[ActivityAnswer, ...] = ()


async def view(visit: Visit) -> VmPageView:
    vm = await fleet.show(visit.path["name"], visit.look)
    tab = visit.first("tab", "events")
    tab = tab if tab in TABS else "events"
    seen = await _seen(visit, vm.name, tab) if tab in ("sees", "instance") else None
    return VmPageView(
        vm=vm,
        tab=tab,
        tabs=TABS,
        enabled=visit.look.region.scope_of(vm_named(visit.look.region, vm.name)).enabled_at is not None,
        first=tuple(DEEDS[key] for key in _FIRST),
        more=tuple(_offered(vm)),
        metadata_url=visit.desk.metadata_url,
        seen=seen,
        faults=await _faults(visit, vm.name) if tab == "faults" else (),
        activity=await asyncio.to_thread(_activity, visit, vm.name) if tab == "activity" else (),
    )


def _offered(vm: VmStory) -> Iterable[PortalDeed]:
    """Only Spot VMs are evicted; an instance of a scale set is deleted through its set."""
    yield from (DEEDS[key] for key in _MORE)
    if vm.spot:
        yield DEEDS["evict"]
    if vm.scale_set is None:
        yield DEEDS["delete"]


async def _seen(visit: Visit, name: str, tab: str) -> SeenBytes:
    """The bytes that the VM would be sent now. A look is no read: it notes no sign of life and enables nothing."""
    look, desk = visit.look, visit.desk
    if tab == "instance":
        version = visit.first("api-version", NEWEST_THREE[0])
        body = await asyncio.to_thread(instance_of, look.region, vm_named(look.region, name), version)
        return _shown(body, version, NEWEST_THREE)
    found = find_version(visit.first("api-version", NEWEST.date))
    region, scope, _ = seen_by(look, desk.visible, name, desk.plane.rules)
    body = document_bytes(region, scope, found, desk.not_before_format)
    return _shown(body, found.date, tuple(each.date for each in API_VERSIONS), scope.incarnation)


def _shown(body: bytes, version: str, versions: Iterable[str], incarnation: int | None = None) -> SeenBytes:
    raw = body.decode("utf-8", "replace")
    laid_out = json.dumps(json.loads(raw), indent=2, ensure_ascii=False)
    newest_first, lines = tuple(sorted(versions, reverse=True)), tuple(laid_out.split("\n"))
    return SeenBytes(version, newest_first, raw, lines, len(body), incarnation)


async def _faults(visit: Visit, name: str) -> tuple[FaultAnswer, ...]:
    rules = (await faults.list_faults(visit.desk)).faults
    return tuple(rule for rule in rules if not rule.vms or name.lower() in (each.lower() for each in rule.vms))


def _activity(visit: Visit, name: str) -> tuple[ActivityAnswer, ...]:
    page = ActivityPage.model_validate({"about": f"vm/{name}", "limit": _LINES})
    return tuple(reversed(activity.show(page, visit.desk, visit.look).activity))


PAGES = (
    PortalPage(
        "vm",
        "/vms/{name}",
        "Virtual machine",
        view,
        "pages/vm.html",
        parts={"part-vm-state": "parts/vm_state.html", "part-vm-tab": "parts/vm_tab.html"},
        api=("GET /v1/vms/{name}", "GET /v1/vms/{name}/document", "GET /v1/vms/{name}/instance"),
        under="vms",
    ),
)
