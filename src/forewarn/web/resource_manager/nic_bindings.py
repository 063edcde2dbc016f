"""With ``bind_nics``, the metadata face knows VMs by the addresses of their network interfaces.

Off unless ``--bind-nics on``: with it, a caller that may write interfaces decides which VM an address stands for. The
binding is a fact like any other, in the same transaction as the document that it follows from.
"""

from __future__ import annotations

from collections.abc import Mapping

from forewarn.core.commands import BindNic, Together
from forewarn.core.region import Resource, Vm, fold
from forewarn.plane.ports import Origin
from forewarn.web.documents.interfaces import nic_address
from forewarn.web.resource_manager.call import ArmDesk

_PORTION = 200  # ours: VMs bound by one command, so that other commands do not wait long
_OURS = Origin("resource-manager", "network interfaces")


def of_vm(desk: ArmDesk, name: str, interfaces: tuple[str, ...], current: Vm | None) -> list[BindNic]:
    """The commands that bind a VM by the addresses of its interfaces, when it is put with these."""
    if not desk.bind_nics:
        return []
    kept = desk.plane.region.resources
    former = "" if current is None else nic_address(kept, current.spec.about.interfaces)
    address = nic_address(kept, interfaces)
    return [BindNic(name, address, former)] if address or former else []


def of_interface(desk: ArmDesk, resource_id: str, document: Resource | None) -> list[BindNic]:
    """The same for the VMs that have an interface, when that is put, or (None) deleted."""
    key, region = fold(resource_id), desk.plane.region
    if not desk.bind_nics or "/networkinterfaces/" not in key:
        return []
    theirs = (vm for vm in region.vms.values() if key in map(fold, vm.spec.about.interfaces))
    return [_moved(vm, region.resources, key, document) for vm in theirs]


def _moved(vm: Vm, kept: Mapping[str, Resource], key: str, document: Resource | None) -> BindNic:
    interfaces = vm.spec.about.interfaces
    before = {each: kept[each] for each in map(fold, interfaces) if each in kept}
    after = {name: each for name, each in before.items() if name != key}
    if document is not None:
        after[key] = document
    return BindNic(vm.name, nic_address(after, interfaces), nic_address(before, interfaces))


async def bind_all(desk: ArmDesk) -> None:
    """At the start: VMs that were made while the setting was off, the oldest first."""
    if not desk.bind_nics:
        return
    async with desk.plane.editing:
        region = desk.plane.region
        waiting = [vm for vm in region.vms.values() if vm.spec.about.interfaces and not vm.binding.address]
        waiting.sort(key=lambda vm: (vm.created_at, vm.key))
        found = (BindNic(vm.name, nic_address(region.resources, vm.spec.about.interfaces)) for vm in waiting)
        free = [each for each in found if each.address and f"address {each.address}" not in region.addresses]
        for portion in (free[at : at + _PORTION] for at in range(0, len(free), _PORTION)):
            await desk.plane.submit(Together(tuple(portion)), _OURS)
