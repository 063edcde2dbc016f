"""One virtual machine: what is coming to it, what it sees, and who did what to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from forewarn.core.looking.lookup import vm_named
from forewarn.web.operator.routes import activity, faults, fleet
from forewarn.web.operator.schema.answers import ActivityAnswer, FaultAnswer
from forewarn.web.operator.schema.fleet_answers import VmStory, WatchedReadAnswer
from forewarn.web.operator.schema.requests import ActivityPage
from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.deeds.deed import PortalDeed
from forewarn.web.portal.deeds.faults import EFFECTS
from forewarn.web.portal.lens import Lens, look_through
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit
from forewarn.web.portal.pages.activity import hosts_named

TABS = {"events": "Events", "sees": "What it sees", "instance": "Instance", "faults": "Faults", "activity": "Activity"}
_FIRST = ("restart", "redeploy")
_MORE = ("reimage", "stop", "deallocate", "start", "read")
_LINES = 50  # a screen and a half of a desk; the page of activity has all of them


@dataclass(frozen=True)
class VmPageView:
    vm: VmStory
    tab: str
    tabs: dict[str, str]
    enabled: bool  # whether a VM of its scope reads
    first: tuple[PortalDeed, ...]
    more: tuple[PortalDeed, ...]
    metadata_url: str
    lens: Lens | None = None
    faults: tuple[FaultAnswer, ...] = ()
    effects: Mapping[str, str] = field(default_factory=lambda: EFFECTS)
    activity: tuple[ActivityAnswer, ...] = ()
    hosts: Mapping[str, str] = field(default_factory=dict)  # that the activity is about
    reads: tuple[WatchedReadAnswer, ...] = ()


async def view(visit: Visit) -> VmPageView:
    vm = await fleet.show(visit.path["name"], visit.look)
    tab = visit.first("tab", "events")
    tab = tab if tab in TABS else "events"
    lines = await asyncio.to_thread(_activity, visit, vm.name) if tab == "activity" else ()
    return VmPageView(
        vm=vm,
        tab=tab,
        tabs=TABS,
        enabled=visit.look.region.scope_of(vm_named(visit.look.region, vm.name)).enabled_at is not None,
        first=tuple(DEEDS[key] for key in _FIRST),
        more=tuple(_offered(vm)),
        metadata_url=visit.desk.metadata_url,
        lens=await look_through(visit, vm.name, tab) if tab in ("sees", "instance") else None,
        faults=await _faults(visit, vm.name) if tab == "faults" else (),
        activity=lines,
        hosts=hosts_named(visit.look.region, lines),
        reads=await _reads(visit, vm.name) if tab == "sees" else (),
    )


def _offered(vm: VmStory) -> Iterable[PortalDeed]:
    """Only Spot VMs are evicted; an instance of a scale set is deleted through its set."""
    yield from (DEEDS[key] for key in _MORE)
    if vm.spot:
        yield DEEDS["evict"]
    if vm.scale_set is None:
        yield DEEDS["delete"]


async def _faults(visit: Visit, name: str) -> tuple[FaultAnswer, ...]:
    rules = (await faults.list_faults(visit.desk)).faults
    return tuple(rule for rule in rules if not rule.vms or name.lower() in (each.lower() for each in rule.vms))


async def _reads(visit: Visit, name: str) -> tuple[WatchedReadAnswer, ...]:
    """Asking lets the metadata face note them for a minute: those who look at this tab ask every few seconds."""
    return tuple((await fleet.reads(name, visit.look, visit.desk)).reads) if visit.desk.metadata_url else ()


def _activity(visit: Visit, name: str) -> tuple[ActivityAnswer, ...]:
    page = ActivityPage.model_validate({"about": f"vm/{name}", "limit": _LINES})
    return tuple(reversed(activity.show(page, visit.desk, visit.look).activity))


def _reading(visit: Visit) -> Elsewhere:
    vm = vm_named(visit.look.region, visit.path["name"])
    words = (("vm", "show", vm.name), ("vm", "document", vm.name), ("vm", "instance", vm.name))
    if vm.scale_set:
        return Elsewhere(words, no_az="Instances are listed with their set: see its page.")
    return Elsewhere(words, az=(("vm", "show", "-g", vm.spec.resource_group, "-n", vm.name, "-d"),))


PAGES = (
    PortalPage(
        "vm",
        "/vms/{name}",
        "Virtual machine",
        view,
        "pages/vm.html",
        parts={
            "part-vm-state": "parts/vm_state.html",
            "part-vm-tab": "parts/vm_tab.html",
            "part-vm-reads": "parts/vm_reads.html",
        },
        api=(
            "GET /v1/vms/{name}",
            "GET /v1/vms/{name}/document",
            "GET /v1/vms/{name}/instance",
            "GET /v1/vms/{name}/reads",
        ),
        reading=_reading,
        under="vms",
    ),
)
