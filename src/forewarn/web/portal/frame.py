"""What stands around every page: navigation with counts, the clock, notices that hold everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from forewarn import __version__
from forewarn.web.operator.schema.answers import ClockAnswer
from forewarn.web.portal.page import PortalPage, Visit


@dataclass(frozen=True)
class NavEntry:
    name: str
    text: str
    current: bool
    count: int | None


@dataclass(frozen=True)
class Frame:
    """``base.html`` is made from it."""

    title: str
    region_name: str
    version: str
    clock: ClockAnswer
    seq: int
    entries: tuple[NavEntry, ...]
    faults: int  # rules in force on this node: they spoil answers, so every page says so


def frame_of(page: PortalPage, pages: Iterable[PortalPage], visit: Visit) -> Frame:
    region = visit.look.region
    counts: dict[str, int | None] = {
        "events": visit.events_shown,
        "vms": len(region.vms),
        "hosts": len(region.hosts),
        "scale-sets": len(region.scale_sets),
        "campaigns": len(region.campaigns),
    }
    current = page.under or page.name
    return Frame(
        title=page.title,
        region_name=visit.desk.region_name,
        version=__version__,
        clock=visit.clock,
        seq=min([visit.look.seq, *visit.behind]),
        entries=tuple(
            NavEntry(each.name, each.menu, each.name == current, counts.get(each.name)) for each in pages if each.menu
        ),
        faults=len(visit.desk.faults.list()),
    )
