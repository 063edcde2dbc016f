"""What a network provider adds to what it was told: ids of parts, addresses, states. Pure; there is no network."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Any

from forewarn.core.guids import derive_guid
from forewarn.web.arm_ids import part_id

NAMESPACE = "microsoft.network"
_ANY_SUBNET = "10.0.0.0/16"
_PUBLIC = "198.18.0.0/15"  # set aside for measurements (RFC 2544): no host on the internet has one
_RESERVED = 4  # the first addresses of a subnet belong to the platform, as Azure documents
_ADDRESS = re.compile(r'"(privateIPAddress|ipAddress)":\s*"([^"]+)"')


def addresses_in(body: str) -> Iterator[str]:
    """The addresses that a kept document has, found without reading it as JSON: there may be thousands of them."""
    return (match[2] for match in _ADDRESS.finditer(body))


def complete(
    resource: dict[str, Any], previous: dict[str, Any] | None, taken: Collection[str], prefixes: dict[str, str]
) -> None:
    """Fill in what the provider decides. ``previous`` keeps its addresses; ``prefixes`` is by folded subnet id."""
    properties: dict[str, Any] = resource["properties"]
    before: dict[str, Any] = (previous or {}).get("properties", {})
    resource["etag"] = f'W/"{derive_guid(resource["id"], "etag").lower()}"'
    properties["resourceGuid"] = derive_guid(resource["id"], "guid").lower()
    for key, parts in properties.items():
        if isinstance(parts, list):
            _complete_parts(resource, key, parts)
    kind = resource["type"].lower()
    if kind == f"{NAMESPACE}/networkinterfaces":
        _complete_interface(resource, properties, before, set(taken), prefixes)
    elif kind == f"{NAMESPACE}/publicipaddresses":
        properties.setdefault("publicIPAllocationMethod", "Dynamic")
        properties.setdefault("publicIPAddressVersion", "IPv4")
        properties.setdefault("ipAddress", before.get("ipAddress") or _free(_PUBLIC, taken))


def _complete_parts(resource: dict[str, Any], key: str, parts: list[Any]) -> None:
    """Subnets, rules, pools: whatever has a name gets an id and a state."""
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("name"), str):
            part["id"] = part_id(resource["id"], key, part["name"])
            part["type"] = f"{resource['type']}/{key}"
            part["etag"] = resource["etag"]
            part["properties"] = {**_inner(part), "provisioningState": "Succeeded"}


def _complete_interface(
    resource: dict[str, Any],
    properties: dict[str, Any],
    before: dict[str, Any],
    taken: set[str],
    prefixes: dict[str, str],
) -> None:
    seed = derive_guid(resource["id"], "mac").replace("-", "")
    properties["macAddress"] = f"00-0D-3A-{seed[:2]}-{seed[2:4]}-{seed[4:6]}"
    kept = {_name(part): _inner(part) for part in _dicts(before.get("ipConfigurations"))}
    for number, part in enumerate(_dicts(properties.get("ipConfigurations"))):
        part["properties"] = inner = _inner(part)
        subnet = inner.get("subnet")
        subnet_id = str(subnet.get("id", "")) if isinstance(subnet, dict) else ""
        inner.setdefault("privateIPAllocationMethod", "Dynamic")
        inner.setdefault("primary", number == 0)
        if not inner.get("privateIPAddress"):
            old = kept.get(_name(part), {}).get("privateIPAddress")
            inner["privateIPAddress"] = old or _free(prefixes.get(subnet_id.lower(), _ANY_SUBNET), taken)
        taken.add(str(inner["privateIPAddress"]))


def prefixes_of(network: dict[str, Any]) -> dict[str, str]:
    """The address range of each subnet of a virtual network, by folded id."""
    found = {}
    for subnet in _dicts(network.get("properties", {}).get("subnets")):
        inner = _inner(subnet)
        several = inner.get("addressPrefixes")
        prefix = inner.get("addressPrefix") or (several[0] if isinstance(several, list) and several else "")
        if isinstance(prefix, str) and prefix:
            found[str(subnet.get("id", "")).lower()] = prefix
    return found


def _name(part: dict[str, Any]) -> str:
    return str(part.get("name", ""))


def _inner(part: dict[str, Any]) -> dict[str, Any]:
    found = part.get("properties")
    return found if isinstance(found, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _free(prefix: str, taken: Collection[str]) -> str:
    """The first address of a range that no interface has; of any range where this one is not one, or is full."""
    for text in (prefix, _ANY_SUBNET):
        try:
            network = ip_network(text, strict=False)
        except ValueError:
            continue
        if isinstance(network, IPv4Network):
            first, last = int(network.network_address) + _RESERVED, int(network.broadcast_address)
            for number in range(first, last):
                if (address := str(IPv4Address(number))) not in taken:
                    return address
    return str(IPv4Address("10.255.255.254"))
