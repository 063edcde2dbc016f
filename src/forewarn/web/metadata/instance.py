"""What a VM is told about itself at ``/metadata/instance``."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, ip_address

from forewarn.core.region import DEFAULT_RESOURCE_GROUP, Orchestration, Region, ScaleSet, Vm, fold
from forewarn.web.whereabouts import LOCATION, SUBSCRIPTION, placement_group_id
from forewarn.wire.instance import InstanceInfo, vm_resource_id

_MAC_PREFIX = "000D3A"  # the maker's half of the addresses that Azure gives its machines


def instance_info(region: Region, vm: Vm) -> InstanceInfo:
    """The VM as the region knows it now: a redeployed VM finds itself on another host."""
    ipv4, ipv6 = _addresses(vm)
    scale_set = region.scale_sets.get(fold(vm.scale_set))
    group = vm.spec.resource_group
    info = InstanceInfo(
        name=vm.resource_name,
        vm_id=vm.vm_id,
        location=LOCATION,
        os_type=vm.spec.os_type,
        size=vm.spec.size,
        update_domain=str(vm.update_domain),
        fault_domain=str(vm.fault_domain),
        resource_group=group,
        subscription_id=SUBSCRIPTION,
        resource_id=vm_resource_id(SUBSCRIPTION, group, vm.name),
        computer_name=vm.name,
        priority="Spot" if vm.spec.spot else "",
        eviction_policy=str(vm.spec.eviction_policy) if vm.spec.spot else "",
        host_id=_host_id(vm),
        tags=vm.spec.tags,
        private_ip=ipv4,
        private_ipv6=ipv6,
        mac=_MAC_PREFIX + vm.vm_id.upper()[-6:],
    )
    return info if scale_set is None else _of_scale_set(info, scale_set, vm)


def _of_scale_set(info: InstanceInfo, scale_set: ScaleSet, vm: Vm) -> InstanceInfo:
    """An instance of a uniform set has its id below the set, and a computer name made of its number."""
    set_id = (
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{scale_set.resource_group}"
        f"/providers/Microsoft.Compute/virtualMachineScaleSets/{scale_set.name}"
    )
    uniform = scale_set.orchestration is Orchestration.UNIFORM
    return replace(
        info,
        scale_set_name=scale_set.name,
        scale_set_id="" if uniform else set_id,
        placement_group_id=placement_group_id(scale_set, vm),
        resource_id=f"{set_id}/virtualMachines/{vm.number}" if uniform else info.resource_id,
        computer_name=scale_set.computer_name(vm.number) if uniform else vm.name,
    )


def _addresses(vm: Vm) -> tuple[str, str]:
    """The address that the VM calls from, where one is known, as (IPv4, IPv6)."""
    text = vm.binding.address
    if not text:
        return "", ""
    return (text, "") if isinstance(ip_address(text), IPv4Address) else ("", text)


def _host_id(vm: Vm) -> str:
    if vm.host is None:
        return ""
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{DEFAULT_RESOURCE_GROUP}"
    return f"{group}/providers/Microsoft.Compute/hostGroups/{DEFAULT_RESOURCE_GROUP}/hosts/host-{vm.host}"
