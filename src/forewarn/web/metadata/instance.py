"""What a VM is told about itself at ``/metadata/instance``."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address

from forewarn.core.region import Vm
from forewarn.wire.instance import InstanceInfo, vm_resource_id

SUBSCRIPTION_ID = "00000000-0000-0000-0000-000000000000"
RESOURCE_GROUP = "forewarn"
LOCATION = "local"
_MAC_PREFIX = "000D3A"  # the maker's half of the addresses that Azure gives its machines


def instance_info(vm: Vm) -> InstanceInfo:
    """The VM as the region knows it now: a redeployed VM finds itself on another host."""
    ipv4, ipv6 = _addresses(vm)
    return InstanceInfo(
        name=vm.resource_name,
        vm_id=vm.vm_id,
        location=LOCATION,
        os_type=vm.spec.os_type,
        size=vm.spec.size,
        update_domain=str(vm.update_domain),
        fault_domain=str(vm.fault_domain),
        resource_group=RESOURCE_GROUP,
        subscription_id=SUBSCRIPTION_ID,
        resource_id=vm_resource_id(SUBSCRIPTION_ID, RESOURCE_GROUP, vm.name),
        computer_name=vm.name,
        priority="Spot" if vm.spec.spot else "",
        eviction_policy=str(vm.spec.eviction_policy) if vm.spec.spot else "",
        host_id=_host_id(vm),
        tags=vm.spec.tags,
        private_ip=ipv4,
        private_ipv6=ipv6,
        mac=_MAC_PREFIX + vm.vm_id.upper()[-6:],
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
    group = f"/subscriptions/{SUBSCRIPTION_ID}/resourceGroups/{RESOURCE_GROUP}"
    return f"{group}/providers/Microsoft.Compute/hostGroups/{RESOURCE_GROUP}/hosts/host-{vm.host}"
