"""Where a region is, as far as Azure's clients want to know: every face must give the same answer."""

from __future__ import annotations

from forewarn.core.region import ScaleSet, Vm
from forewarn.terms import derive_guid

SUBSCRIPTION = "00000000-0000-0000-0000-00000000f0e0"
TENANT = "00000000-0000-0000-0000-00000000f0e1"
LOCATION = "local"


def placement_group_id(scale_set: ScaleSet, vm: Vm) -> str:
    """The GUID of the placement group that an instance is in."""
    return derive_guid(scale_set.seed, vm.spec.set_name).lower()
