"""Where a region is, as far as Azure's clients want to know: every face must give the same answer."""

from __future__ import annotations

from forewarn.core.guids import derive_guid
from forewarn.core.region import Region, ScaleSet, Vm, fold
from forewarn.core.specs import VmSpec

SUBSCRIPTION = "00000000-0000-0000-0000-00000000f0e0"
TENANT = "00000000-0000-0000-0000-00000000f0e1"
LOCATION = "local"
IMAGE_VERSION = "1.0.0"  # which the latest version of any image is


def placement_group_id(scale_set: ScaleSet, vm: Vm) -> str:
    """The GUID of the placement group that an instance is in."""
    return derive_guid(scale_set.seed, vm.spec.set_name).lower()


WINDOWS_NAME_MOST = 15  # letters of a NetBIOS name; Azure refuses longer ones for Windows
WINDOWS_PREFIX_MOST = 9  # of a scale set: an instance's number has the other six


def location_of(spec: VmSpec) -> str:
    """The location that the VM was created with, spelled as it was given; else the usual one."""
    return spec.about.location or LOCATION


def computer_name_of(region: Region, vm: Vm) -> str:
    """The name that a VM has inside. One of Windows that nobody chose is cut off where that ends."""
    scale_set = region.scale_sets.get(fold(vm.scale_set)) if vm.scale_set else None
    if scale_set is not None:
        return scale_set.computer_name(vm.number)
    usual = vm.name[:WINDOWS_NAME_MOST] if vm.spec.os_type == "Windows" else vm.name
    return vm.spec.about.computer_name or usual
