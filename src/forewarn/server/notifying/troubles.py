"""What should not stay so, as values: looked for in a region and among its nodes, without any state of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from forewarn.core.causes import CAUSES
from forewarn.core.region import Event, Region
from forewarn.plane.ports import Node
from forewarn.plane.tally.counts import missed_deadline
from forewarn.web.signals.survey import is_still, unread_scopes

LAG_RECORDS = 1000  # as the alert rule of examples/monitoring has it
SILENT_AFTER = timedelta(seconds=30)  # ours: nine announcements missed, so that no restart in haste is told of


class Concern(NamedTuple):
    """One thing that should not be: ``key`` tells it from others of its occasion, ``name`` is for people."""

    occasion: str
    key: str
    name: str


def of_region(
    region: Region, reads: Mapping[str, datetime], now: datetime, unread_after: timedelta
) -> Iterator[Concern]:
    """Campaigns that stand still and scopes that have fallen silent. For a million VMs: in a thread."""
    for campaign in region.campaigns.values():
        if is_still(region, campaign, now):
            yield Concern("campaign-still", campaign.id, f"{campaign.cause.value} {campaign.id}")
    for scope in unread_scopes(region, reads, now - unread_after):
        yield Concern("scope-silent", scope.key, scope.key)


def of_nodes(nodes: Sequence[Node], this: Node, now: datetime) -> Iterator[Concern]:
    """Other nodes that are far behind, or of which nothing is heard; one that ends in good order is not listed."""
    for node in nodes:
        if node.id == this.id:
            continue
        if now - node.seen_at > SILENT_AFTER:
            yield Concern("node-lags", node.id, f"{node.name} (silent)")
        elif this.seq - node.seq > LAG_RECORDS:
            yield Concern("node-lags", node.id, f"{node.name} (behind)")


def of_events(events: Iterable[Event]) -> Iterator[Concern]:
    """Those that have started by their deadline, because somebody had not approved."""
    for event in events:
        if missed_deadline(event):
            names = ", ".join(event.resources[:3]) + (", …" if event.resources[3:] else "")
            yield Concern("deadline-missed", event.id, f"{CAUSES[event.cause].type.value} {event.id} of {names}")
