"""The network interfaces of a VM: every face must give the same addresses.

What the Resource Manager keeps of an interface is the only source for a VM that has one. A VM without (one that
``forewarn vm create`` made, an instance of a scale set) has the address it is bound to, or one that is derived from its
id: the programs of Azure's images take an empty address for a fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network
from typing import Any

import msgspec

from forewarn.core.region import Region, Resource, Vm, fold
from forewarn.wire.instance import Interface

_MAC_PREFIX = "000D3A"  # the maker's half of the addresses that Azure gives its machines


def interfaces_of(region: Region, vm: Vm) -> tuple[Interface, ...]:
    """The primary one first, and never none."""
    kept = (region.resources.get(fold(each)) for each in vm.spec.about.interfaces)
    found = tuple(_described(region, _properties(each.body)) for each in kept if each is not None)
    return found or (_own(vm),)


def resources_told(region: Region, vm: Vm) -> tuple[Resource, ...]:
    """All that ``interfaces_of`` looks at: the interfaces, and the networks and public addresses that they name."""
    found: dict[str, Resource] = {}
    for kept in (region.resources.get(fold(each)) for each in vm.spec.about.interfaces):
        if kept is None:
            continue
        found[kept.id] = kept
        for inner in _configurations(_properties(kept.body)):
            network = fold(_reference(inner, "subnet")).rpartition("/subnets/")[0]
            for key in (network, fold(_reference(inner, "publicIPAddress"))):
                if (other := region.resources.get(key)) is not None:
                    found[other.id] = other
    return tuple(found.values())


def nic_address(resources: Mapping[str, Resource], interfaces: Iterable[str]) -> str:
    """The first address of the first of these interfaces that is kept; empty where it has none."""
    kept = (resources.get(fold(each)) for each in interfaces)
    first = next((_properties(each.body) for each in kept if each is not None), {})
    found = (str(inner.get("privateIPAddress", "")) for inner in _configurations(first))
    return next((each for each in found if _is_address(each)), "")


def shared_address(region: Region, vm: Vm) -> str:
    """A sentence, where two VMs have interfaces with the same address, of which only one can be known by it."""
    address = nic_address(region.resources, vm.spec.about.interfaces)
    holder = region.addresses.get(f"address {address}", vm.key)
    if holder != vm.key:
        return f"not bound to {address}, which its network interface has: VM '{region.vms[holder].name}' is"
    bound = vm.binding.address
    if not bound or not _is_told_elsewhere(region, vm, bound):
        return ""
    others = sorted(each.name for each in region.vms.values() if each is not vm and _has(region, each, bound))
    return f"{bound} is also at the network interface of {', '.join(others)}, not bound to it" if others else ""


def _is_told_elsewhere(region: Region, vm: Vm, address: str) -> bool:
    """Whether anything that is kept has this address, but for the VM's own: else no VM has to be looked at."""
    own = {fold(each) for each in vm.spec.about.interfaces}
    return any(address in each.body for key, each in region.resources.items() if key not in own)


def _has(region: Region, vm: Vm, address: str) -> bool:
    kept = (region.resources.get(fold(each)) for each in vm.spec.about.interfaces)
    named = any(each is not None and address in each.body for each in kept)  # without reading each as JSON
    return named and nic_address(region.resources, vm.spec.about.interfaces) == address


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _own(vm: Vm) -> Interface:
    mac = _MAC_PREFIX + vm.vm_id.upper()[-6:]
    bound = vm.binding.address
    if bound and isinstance(ip_address(bound), IPv4Address):
        return Interface(mac=mac, ipv4=((bound, ""),))
    return Interface(mac=mac, ipv4=((_derived(vm), ""),), ipv6=(bound,) if bound else ())


def _derived(vm: Vm) -> str:
    """An address of 10.128.0.0/9, always the same for a VM; no default subnet is there. Two VMs may have the same."""
    number, last = divmod(int(vm.vm_id[:8], 16), 254)
    return f"10.{128 + number % 128}.{number // 128 % 256}.{last + 1}"


def _described(region: Region, properties: dict[str, Any]) -> Interface:
    ipv4, ipv6, subnet = [], [], ""
    for inner in _configurations(properties):
        address = str(inner.get("privateIPAddress", ""))
        if ":" in address:
            ipv6.append(address)
        elif address:
            ipv4.append((address, _public(region, inner)))
            subnet = subnet or _reference(inner, "subnet")
    network = _network(region, subnet)
    return Interface(
        mac=str(properties.get("macAddress", "")).replace("-", "").upper(),
        ipv4=tuple(ipv4),
        ipv6=tuple(ipv6),
        subnet_address="" if network is None else str(network.network_address),
        subnet_prefix="" if network is None else str(network.prefixlen),
    )


def _configurations(properties: dict[str, Any]) -> list[dict[str, Any]]:
    parts = properties.get("ipConfigurations")
    inner = [each.get("properties") for each in parts if isinstance(each, dict)] if isinstance(parts, list) else []
    found = [each for each in inner if isinstance(each, dict)]
    return sorted(found, key=lambda each: not each.get("primary"))


def _public(region: Region, inner: dict[str, Any]) -> str:
    kept = region.resources.get(fold(_reference(inner, "publicIPAddress")))
    return "" if kept is None else str(_properties(kept.body).get("ipAddress", ""))


def _network(region: Region, subnet: str) -> IPv4Network | None:
    """The address range of a subnet, as far as its network is known."""
    parent, _, name = fold(subnet).rpartition("/subnets/")
    kept = region.resources.get(parent)
    parts = _properties(kept.body).get("subnets") if kept is not None else None
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and fold(str(part.get("name", ""))) == name:
            return _range(part.get("properties"))
    return None


def _range(properties: Any) -> IPv4Network | None:
    given = properties if isinstance(properties, dict) else {}
    several = given.get("addressPrefixes")
    prefix = given.get("addressPrefix") or (several[0] if isinstance(several, list) and several else "")
    try:
        found = ip_network(str(prefix), strict=False)
    except ValueError:
        return None
    return found if isinstance(found, IPv4Network) else None


def _reference(inner: dict[str, Any], name: str) -> str:
    found = inner.get(name)
    return str(found.get("id", "")) if isinstance(found, dict) else ""


@lru_cache(maxsize=256)
def _properties(body: str) -> dict[str, Any]:
    """The properties of a kept document.

    Cached, because VMs ask often and a network may be large: do not change the result.
    """
    found = msgspec.json.decode(body).get("properties")
    return found if isinstance(found, dict) else {}
