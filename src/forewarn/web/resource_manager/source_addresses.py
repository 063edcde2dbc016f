"""VMs that the metadata face knows by the addresses of their network interfaces, where the owner of a region wants it.

A binding that came from an interface follows it. One that somebody gave or took by hand is left alone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from forewarn.core import commands as c
from forewarn.core.region import Binding, Region, Resource, Vm, VmSpec, fold, replace
from forewarn.web.interfaces import primary_address
from forewarn.web.resource_manager.call import Desk


def for_vm(desk: Desk, name: str, spec: VmSpec, current: Vm | None) -> list[c.Single]:
    """What makes a VM known by the interface that it is given."""
    if not desk.binds_interfaces:
        return []
    region = desk.plane.region
    after = _binding(region, spec)
    if current is None:
        return [c.BindVm(name, after)] if after != Binding() else []
    return _moved(current, _binding(region, current.spec), after)


def for_interface(desk: Desk, interface: dict[str, Any]) -> list[c.Single]:
    """What makes the VMs that have an interface known by the address that it is about to have."""
    if not desk.binds_interfaces:
        return []
    before, key = desk.plane.region, fold(interface["id"])
    kept = Resource(interface["id"], msgspec.json.encode(interface).decode())
    after = replace(before, resources=before.resources.set(key, kept))
    having = [vm for vm in before.vms.values() if key in map(fold, vm.spec.about.interfaces)]
    return [each for vm in having for each in _moved(vm, _binding(before, vm.spec), _binding(after, vm.spec))]


def _moved(vm: Vm, before: Binding, after: Binding) -> list[c.Single]:
    return [c.BindVm(vm.name, after)] if before != after and vm.binding == before else []


def _binding(region: Region, spec: VmSpec) -> Binding:
    return Binding(address=primary_address(region, spec.about.interfaces))
