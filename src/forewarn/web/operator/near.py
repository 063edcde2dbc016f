"""Did you mean: what there is of a like name, where something was named that is not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import islice

from forewarn.core.refusal import Missing
from forewarn.core.region import Region, fold

_MOST_COMPARED = 2_000  # comparing takes some ten microseconds each, and all other requests wait
_LIKE = {"event": 0.9, "campaign": 0.9}  # ids are as like each other as chance makes them
_LIKE_NAMES = 0.7  # ours: difflib's default of 0.6 offers names that share little


def did_you_mean(region: Region, missing: Missing) -> str:
    """A question to go on with, or nothing."""
    known = {fold(name): name for name in islice(_names(region, missing.kind), _MOST_COMPARED + 1)}
    if len(known) > _MOST_COMPARED:
        return ""
    close = get_close_matches(fold(missing.name), known, n=1, cutoff=_LIKE.get(missing.kind, _LIKE_NAMES))
    return f" Did you mean '{known[close[0]]}'?" if close else ""


def _names(region: Region, kind: str) -> Iterator[str]:
    match kind:
        case "VM":
            return (vm.name for vm in region.vms.values())
        case "host":
            return (host.name for host in region.hosts.values())
        case "scale set":
            return (scale_set.name for scale_set in region.scale_sets.values())
        case "event":
            return (event.id for event in region.events.values() if event.announced)
        case "scope":
            return iter(_scopes(region))
        case "campaign":
            return iter(region.campaigns)
    return iter(())


def _scopes(region: Region) -> Iterable[str]:
    yield from region.scopes
    yield from (vm.scope for vm in region.vms.values())
