"""Copies that must not run, or must not be there: at a host that was lost and is back."""

from __future__ import annotations

from forewarn.core.deciding.machines import errands
from forewarn.core.draft import Draft
from forewarn.core.looking.errands import current
from forewarn.core.machines import facts as mf
from forewarn.core.machines.values import PLACED, ErrandKind, Listing, MachinePower, OpenErrand, Sighting
from forewarn.core.region import RealHost, fold

_OFF = (MachinePower.OFF, MachinePower.GONE)


def put_down(draft: Draft, host: RealHost, listing: Listing) -> None:
    """Turn off what runs at a host that is back and by now has its place elsewhere; then the host may take part."""
    end_of_strays(draft, host, listing)
    for seen in listing.machines:
        kind = _stray(draft, host, seen)
        if kind is not None:
            _put_away(draft, host, seen, kind)
    if listing.complete and not strays_of(draft, host):
        draft.record(mf.HostBack(draft.now, host.number))


def _put_away(draft: Draft, host: RealHost, seen: Sighting, kind: ErrandKind) -> None:
    """Make an errand for a copy, unless it has one: it is listed several times while that is carried out."""
    if seen.ref not in {found.errand.ref for found in strays_of(draft, host)}:
        errands.make_of_host(draft, host, kind, draft.now.isoformat(), seen.ref, seen.boot_mark)


def _stray(draft: Draft, host: RealHost, seen: Sighting) -> ErrandKind | None:
    """What is to be done to a copy at a host that was lost: it goes where the region has the machine elsewhere; where
    it is only on its way elsewhere, it is turned off, and what is left is for that errand to take along."""
    key = draft.region.refs.get((host.engine, seen.ref))
    if key is None:
        return None
    due = current(draft.region, key)
    if draft.region.machines[key].host != host.name:
        return ErrandKind.OFF
    leaves = due is not None and due.errand.kind in PLACED and fold(due.errand.to) != fold(host.name)
    return ErrandKind.STOP if leaves and seen.power not in _OFF else None


def end_of_strays(draft: Draft, host: RealHost, listing: Listing) -> None:
    """End the errands of copies that are off, or gone, as this listing shows."""
    there = {seen.ref: seen for seen in listing.machines}
    for found in strays_of(draft, host):
        seen = there.get(found.errand.ref)
        off = seen is not None and seen.power in _OFF and found.errand.kind is ErrandKind.STOP
        if (seen is None and listing.complete) or off:
            errands.end(draft, found)


def strays_of(draft: Draft, host: RealHost) -> list[OpenErrand]:
    errands_there = (each for each in draft.region.errands.values() if fold(each.errand.host) == fold(host.name))
    strays = (each for each in errands_there if not each.errand.vm and each.errand.ref)
    return sorted(strays, key=lambda each: each.errand.id)
