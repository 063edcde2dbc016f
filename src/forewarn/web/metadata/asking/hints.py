"""What to try instead, for who got a 404 at a desk. Beyond loopback nobody is told which VMs there are."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice

from forewarn.core.region import Region
from forewarn.web.metadata.asking.callers import Caller
from forewarn.web.metadata.asking.questions import Target

FIELD = "X-Forewarn-Hint"
_PATH = "/metadata/scheduledevents?api-version=2020-07-01"
_MOST_COMPARED = 1000
_MOST_NAMED = 3


def hint_for(region: Region, caller: Caller, target: Target) -> str:
    """One line of ASCII; nothing that the caller sent is in it."""
    bound = next((region.addresses[claim] for claim in caller.claims if claim in region.addresses), None)
    if bound is not None:
        return f"this address is {region.vms[bound].name}; ask without /vm/NAME: {_PATH}"
    if not region.vms:
        return "there is no VM; make one with: forewarn vm create web-0"
    names = _names(region, target.named or "")
    more = ", ..." if len(region.vms) > len(names) else ""
    return f"try /vm/{names[0]}{_PATH} (VMs: {', '.join(names)}{more})"


def _names(region: Region, wanted: str) -> list[str]:
    """Those that look most like what was asked for, where there are not too many to compare; else the first."""
    found: list[str] = []
    if wanted and len(region.vms) <= _MOST_COMPARED:
        found = [region.vms[key].name for key in get_close_matches(wanted.lower(), region.vms, _MOST_NAMED)]
    return found or [vm.name for vm in islice(region.vms.values(), _MOST_NAMED)]
