"""What stands around every page: navigation with counts, the clock, notices that hold everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from forewarn import __version__
from forewarn.core.region import Region
from forewarn.core.specs import ScopeKind
from forewarn.web.operator.schema.answers import ClockAnswer
from forewarn.web.portal.page import PortalPage, Visit

_FEW_SCOPES = 1_000  # ours: to count so many takes a tenth of a millisecond


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


def _sets_of(region: Region) -> dict[str, int | None]:
    """How many sets and services there are. Every lone VM that reads is a scope too, so of very many none is counted:
    a page is not to take longer for a number beside its menu.
    """
    few = len(region.scopes) <= _FEW_SCOPES
    kinds = Counter(scope.kind for scope in region.scopes.values()) if few else Counter()
    return {
        page: kinds[kind] if few else None
        for page, kind in (
            ("availability-sets", ScopeKind.AVAILABILITY_SET),
            ("cloud-services", ScopeKind.CLOUD_SERVICE),
        )
    }


def frame_of(page: PortalPage, pages: Iterable[PortalPage], visit: Visit) -> Frame:
    region = visit.look.region
    counts: dict[str, int | None] = {
        "events": visit.events_shown,
        "vms": len(region.vms),
        "hosts": len(region.hosts),
        "scale-sets": len(region.scale_sets),
        "campaigns": len(region.campaigns),
        **_sets_of(region),
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
