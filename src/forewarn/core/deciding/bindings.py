"""What a binding may say, and who may have it: the one place where addresses, namespaces, interfaces are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from forewarn.core import facts as f
from forewarn.core.draft import Draft
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Vm, replace
from forewarn.core.specs import NO_BINDING, NO_PATTERN, Binding, BindingPattern

NETNS_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}"
INTERFACE_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,14}"  # 15 is the kernel's IFNAMSIZ without the end
_NETNS = re.compile(NETNS_PATTERN)
_INTERFACE = re.compile(INTERFACE_PATTERN)
_BRACED = re.compile(r"\{[^{}]*\}|[{}]")
_FILLERS = ("{name}", "{id}")


def is_netns(name: str) -> bool:
    """Whether this can name a network namespace: one file below ``/run/netns``, and no way out of there."""
    return _NETNS.fullmatch(name) is not None


def checked(binding: Binding) -> Binding:
    """The binding in the one spelling of its addresses, so that two VMs cannot claim the same; or a refusal."""
    _check_names(binding)
    found = replace(
        binding,
        address=_plain_address("address", binding.address),
        local_address=_plain_address("local address", binding.local_address),
    )
    if found.local_address and not ip_address(found.local_address).is_loopback:
        raise Refused(Hint.INVALID, f"The local address {found.local_address} is not a loopback address.")
    return found


def bind_key(draft: Draft, key: str, binding: Binding) -> None:
    """Give a VM this binding in place of the one it has, unless another VM has a part of it."""
    binding = checked(binding)
    for claim in binding.claims():
        holder = draft.region.addresses.get(claim, key)
        if holder != key:
            raise Refused(Hint.CONFLICT, f"VM '{draft.region.vms[holder].name}' has {claim} already.")
    if draft.region.vms[key].binding != binding:
        draft.record(f.VmBound(draft.now, key, binding))


def bind_by_nic(draft: Draft, vm: Vm, address: str, former: str) -> None:
    """Give a VM the address of its network interface, unless it has one of its own or another VM has this one."""
    address, former = (_plain_address("address", text) for text in (address, former))
    if vm.binding.address in ("", former):
        free = draft.region.addresses.get(f"address {address}", vm.key) == vm.key
        bind_key(draft, vm.key, replace(vm.binding, address=address if free else ""))


def _check_names(binding: Binding) -> None:
    if binding.netns and not is_netns(binding.netns):
        raise Refused(
            Hint.INVALID,
            f"'{binding.netns[:80]}' cannot name a network namespace: use 1 to 100 letters, digits, '.', '_' and '-', "
            "beginning with a letter, a digit or '_'.",
        )
    if binding.interface and not _INTERFACE.fullmatch(binding.interface):
        raise Refused(
            Hint.INVALID,
            f"'{binding.interface[:80]}' cannot name a network interface: use 1 to 15 letters, digits, '.', '_' and "
            "'-', beginning with a letter, a digit or '_'.",
        )
    if binding.unix and not is_netns(binding.unix):
        raise Refused(
            Hint.INVALID,
            f"'{binding.unix[:80]}' cannot name a socket: use 1 to 100 letters, digits, '.', '_' and '-', beginning "
            "with a letter, a digit or '_'. Its directory is the server's to choose.",
        )
    if binding.interface and not binding.netns:
        raise Refused(Hint.INVALID, "An interface is one of a network namespace: name the namespace too.")


def _plain_address(what: str, text: str) -> str:
    if not text:
        return ""
    try:
        found = ip_address(text)
    except ValueError:
        raise Refused(Hint.INVALID, f"The {what} '{text[:80]}' is not an IP address.") from None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


# Patterns of scale sets


def check_pattern(pattern: BindingPattern) -> None:
    """Refuse what could not bind any instance, or would give all of them the same."""
    for text in (pattern.netns, pattern.interface):
        for found in _BRACED.findall(text):
            if found not in _FILLERS:
                told = f"'{text[:80]}' holds '{found[:20]}': only {{name}} and {{id}} are filled in."
                raise Refused(Hint.INVALID, told)
    if pattern.netns and not _tells_apart(pattern):
        raise Refused(
            Hint.INVALID,
            f"All instances would get the network namespace '{pattern.netns[:80]}': write {{name}} or {{id}} where "
            "they differ.",
        )
    for what, text in (("address", pattern.address), ("local address", pattern.local_address)):
        network = _network(what, text)
        if network is not None and what == "local address" and not network.is_loopback:
            raise Refused(Hint.INVALID, f"The local addresses {network} are not loopback addresses.")
    _check_names(Binding(netns=_fill(pattern.netns, "a", 0), interface=_fill(pattern.interface, "a", 0)))


def bind_instance(draft: Draft, pattern: BindingPattern, vm: Vm) -> None:
    """Give an instance what its set's pattern means for it."""
    if pattern == NO_PATTERN:
        return
    binding = Binding(
        address=_free(draft, "address", pattern.address, vm),
        local_address=_free(draft, "local", pattern.local_address, vm),
        netns=_fill(pattern.netns, vm.name, vm.number),
        interface=_fill(pattern.interface, vm.name, vm.number),
    )
    bind_key(draft, vm.key, binding)


def bind_instances(draft: Draft, pattern: BindingPattern, vms: list[Vm]) -> None:
    """Bind all instances anew. Each lets go first, so that they may trade places."""
    for vm in vms:
        bind_key(draft, vm.key, NO_BINDING)
    for vm in vms:
        bind_instance(draft, pattern, vm)


def _tells_apart(pattern: BindingPattern) -> bool:
    return any(filler in text for filler in _FILLERS for text in (pattern.netns, pattern.interface))


def _fill(text: str, name: str, number: int) -> str:
    return text.replace("{name}", name).replace("{id}", str(number))


def _network(what: str, text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text) if text else None
    except ValueError:
        raise Refused(
            Hint.INVALID, f"The {what} '{text[:80]}' is no range of IP addresses: write one like 10.0.0.0/24."
        ) from None


def _free(draft: Draft, kind: str, text: str, vm: Vm) -> str:
    """The address that has the instance's number in the range; where another VM has that one, the next free one."""
    network = _network(kind, text)
    if network is None:
        return ""
    addresses = draft.region.addresses
    found = next((each for each in _from(network, vm.number) if addresses.get(f"{kind} {each}", vm.key) == vm.key), "")
    if not found:
        raise Refused(Hint.CONFLICT, f"No address of {network} is left for VM '{vm.name}': all are bound to other VMs.")
    return found


def _from(network: IPv4Network | IPv6Network, start: int) -> Iterator[str]:
    """The addresses that a host may have, beginning with the one of that number, once round."""
    size, skipped = network.num_addresses, 0
    if size > 2:
        size, skipped = size - 2, 1  # the first is the network and the last, in IPv4, broadcast
    return (str(network[skipped + (start + step) % size]) for step in range(size))
