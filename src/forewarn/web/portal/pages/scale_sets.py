"""Scale sets: the list, and one set with its instances, its configuration and what is coming to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from forewarn.core.looking.lookup import scale_set_named
from forewarn.core.region import Region
from forewarn.web.operator.routes import activity, scale_sets
from forewarn.web.operator.schema.answers import ActivityAnswer
from forewarn.web.operator.schema.fleet_answers import EventAnswer, VmAnswer
from forewarn.web.operator.schema.requests import ActivityPage, Page
from forewarn.web.operator.schema.scale_set_answers import ScaleSetAnswer, ScaleSetsAnswer, ScaleSetStory
from forewarn.web.portal.deeds.scale_set_form import (
    DELAY,
    NOTIFICATION,
    OS_IMAGE,
    SCALE_IN,
    SWITCHES,
    UPGRADE,
    form_of,
)
from forewarn.web.portal.forms import FormField, Given, checked
from forewarn.web.portal.page import Elsewhere, PortalPage, Visit
from forewarn.web.portal.written import duration

_ROWS = 50  # a screen and a half of a desk, as all lists of the portal
TABS = {
    "instances": "Instances",
    "scaling": "Scaling",
    "configuration": "Configuration",
    "events": "Events",
    "activity": "Activity",
}


@dataclass(frozen=True)
class ScaleSetList:
    scale_sets: list[ScaleSetAnswer]
    following: str | None


async def part_of(visit: Visit, after: str, limit: int) -> ScaleSetsAnswer:
    """Those from there on, by name."""
    page = checked(Page, {"after": after, "limit": limit})
    return await asyncio.to_thread(scale_sets.list_scale_sets, page, visit.look)


async def view_list(visit: Visit) -> ScaleSetList:
    found = await part_of(visit, visit.first("after"), _ROWS)
    return ScaleSetList(found.scale_sets, found.next)


@dataclass(frozen=True)
class InstanceRow:
    """An instance, what it has that the model no longer says, and how it goes if it is going."""

    vm: VmAnswer
    model: str
    event: EventAnswer | None
    waits_for: tuple[str, ...]  # VMs whose approval is awaited


@dataclass(frozen=True)
class ScaleSetPage:
    scale_set: ScaleSetStory
    tab: str
    rows: tuple[InstanceRow, ...]
    following: int | None  # where the next page of instances begins
    old: int  # instances without the latest model
    silent: tuple[str, ...]  # placement groups that are not enabled: no VM of them reads
    activity: list[ActivityAnswer]
    given: Given
    termination: tuple[FormField, ...] = (NOTIFICATION, DELAY)
    others: tuple[FormField, ...] = (OS_IMAGE, UPGRADE, SCALE_IN, *SWITCHES)

    @property
    def tabs(self) -> Mapping[str, str]:
        return TABS


def view_one(visit: Visit) -> ScaleSetPage:
    """Reads the journal where activity is asked for."""
    look = visit.look
    found = scale_sets.show(visit.path["name"], look)
    tab = visit.first("tab") if visit.first("tab") in TABS else "instances"
    first = int(visit.first("from")) if visit.first("from").isascii() and visit.first("from").isdigit() else 0
    shown = found.instances[first : first + _ROWS]
    more = len(found.instances) > first + _ROWS
    about = {"about": found.name, "limit": _ROWS}
    told = activity.show(ActivityPage.model_validate(about), visit.desk, look) if tab == "activity" else None
    return ScaleSetPage(
        scale_set=found,
        tab=tab,
        rows=tuple(_rows(found, shown)),
        following=first + _ROWS if more else None,
        old=found.instances_total - found.latest_model_total,
        silent=tuple(_silent(look.region, found.scopes)),
        activity=[] if told is None else told.activity[::-1],
        given=form_of(found),
    )


def _rows(scale_set: ScaleSetStory, shown: Iterable[VmAnswer]) -> Iterable[InstanceRow]:
    by_id = {event.id: event for event in scale_set.events}
    by_vm = {name: event for event in reversed(scale_set.events) for name in event.vms}
    for vm in shown:
        event = by_vm.get(vm.name)
        yield InstanceRow(vm, _difference(scale_set, vm), event, () if event is None else tuple(_awaited(event, by_id)))


def _awaited(event: EventAnswer, by_id: Mapping[str, EventAnswer]) -> Iterable[str]:
    """Whose approval it waits for: its own VMs', and those of the set's other deletions."""
    if event.phase == "scheduled":
        yield from event.vms
    for other in event.awaited:
        yield from by_id[other].vms if other in by_id else (other,)


def _difference(scale_set: ScaleSetStory, vm: VmAnswer) -> str:
    """What the instance has that the latest model says otherwise; empty where it has the latest."""
    if vm.latest_model:
        return ""
    has, says = vm.terminate_notice_seconds, scale_set.terminate_notice_seconds
    if has != says:
        return f"has {_notice(has)}, the model says {_notice(says)}"
    return f"has version {vm.model}, the model is at {scale_set.model}"


def _notice(seconds: float | None) -> str:
    return "no notice" if seconds is None else duration(seconds)


def _silent(region: Region, scopes: Iterable[str]) -> Iterable[str]:
    return (key for key in scopes if region.scopes[key].enabled_at is None)


def _reading(visit: Visit) -> Elsewhere:
    found = scale_set_named(visit.look.region, visit.path["name"])
    where = ("-g", found.resource_group, "-n", found.name)
    az = (("vmss", "show", *where), ("vmss", "list-instances", *where, "-o", "table"))
    return Elsewhere((("vmss", "show", found.name),), az=az)


PAGES = (
    PortalPage(
        "scale-sets",
        "/scale-sets",
        "Virtual machine scale sets",
        view_list,
        "pages/scale_sets.html",
        parts={"part-scale-sets": "parts/scale_sets.html"},
        api=("GET /v1/scale-sets",),
        reading=lambda visit: Elsewhere((("vmss", "list"),), az=(("vmss", "list", "-o", "table"),)),
        menu="Scale sets",
    ),
    PortalPage(
        "scale-set",
        "/scale-sets/{name}",
        "Scale set",
        view_one,
        "pages/scale_set.html",
        parts={"part-scale-set": "parts/scale_set.html", "part-old-model": "parts/scale_set_old.html"},
        api=("GET /v1/scale-sets/{name}",),
        reading=_reading,
        under="scale-sets",
    ),
)
