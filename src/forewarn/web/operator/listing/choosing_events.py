"""Which events a page shows: those that documents show now, or those of a time that has passed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from forewarn.core.causes import CAUSES
from forewarn.core.looking.lookup import campaign_named, host_named, scope_named, vm_named
from forewarn.core.region import Event, Region, fold
from forewarn.plane.read_models.register import At, by_not_before, by_schedule
from forewarn.web.operator.desk import Listed
from forewarn.web.operator.listing.paging import Chosen, choose, instant_key, instant_of
from forewarn.web.operator.schema.listing import EventPage


def events_of(listed: Listed, page: EventPage) -> Chosen[Event]:
    """Those that documents show now. A filter that names a VM, scope, host or campaign that is not there is refused."""
    region = listed.look.region
    _check_names(region, page)
    after = instant_of(page.after) if page.after else None
    return _chosen(_ordered(listed, page, after), page)


def past_events_of(events: Iterable[Event], page: EventPage) -> Chosen[Event]:
    """From ended events. A VM, scope or campaign that the filter names may be gone by now and is not looked up."""
    return _chosen(_sorted(events, page, instant_of(page.after) if page.after else None), page)


def _sorted(events: Iterable[Event], page: EventPage, after: At | None) -> Iterator[Event]:
    """The events beyond the last page, sorted."""
    key = _KEYS[page.order]
    rest = (each for each in events if after is None or (key(each) < after if page.reverse else key(each) > after))
    return iter(sorted(rest, key=key, reverse=page.reverse))


_KEYS: dict[str, Callable[[Event], At]] = {"scheduled": by_schedule, "not_before": by_not_before}


def _chosen(ordered: Iterator[Event], page: EventPage) -> Chosen[Event]:
    key = _KEYS[page.order]
    return choose(ordered, _filter(page), lambda event: instant_key(*key(event)), page.limit)


def _check_names(region: Region, page: EventPage) -> None:
    if page.campaign:
        campaign_named(region, page.campaign)
    if page.host:
        host_named(region, page.host)


def _ordered(listed: Listed, page: EventPage, after: At | None) -> Iterator[Event]:
    """A VM or a scope has few; all there are stand in the register."""
    region, register = listed.look.region, listed.register
    if page.vm or page.scope:
        vm = vm_named(region, page.vm) if page.vm else None
        scope = scope_named(region, page.scope) if page.scope else None
        ids = vm.events if vm is not None else scope.events if scope is not None else ()
        return _sorted((event for event_id in ids if (event := region.events[event_id]).announced), page, after)
    order = register.events_by_schedule if page.order == "scheduled" else register.events_by_not_before
    onwards = iter(order) if after is None else order.after(after)
    return (region.events[event_id] for _, event_id in (order.before(after) if page.reverse else onwards))


def _filter(page: EventPage) -> Callable[[Event], bool]:
    vm, scope, host, campaign = fold(page.vm), fold(page.scope), fold(page.host), page.campaign.upper()

    def wanted(event: Event) -> bool:
        row = CAUSES[event.cause]
        return (
            (page.type is None or row.type == page.type)
            and (page.phase is None or event.phase == page.phase)
            and (page.source is None or row.source == page.source)
            and (not vm or vm in event.vms)
            and scope in ("", event.scope)
            and campaign in ("", event.campaign)
            and (not host or f"host-{event.host}" == host)
        )

    return wanted
