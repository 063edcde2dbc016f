"""Who is calling: the socket, the source address, the address called, the name in the path, strongest first.

The weaker two say nothing about who really calls, so they count on loopback listeners only. Where a stronger way
knows the caller, a name in the path is no part of the service: it could only be an attempt to be somebody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from forewarn.core.region import Binding, Region, Vm, fold

_STRANGERS = "?"  # no VM can be called that


@dataclass(frozen=True, slots=True)
class Door:
    """A listening socket."""

    loopback: bool = False  # reached from this machine only
    netns: str = ""  # stands inside this network namespace, and hears one VM only
    interface: str = ""  # which it hears over this interface of the namespace; empty for one that lives inside


@dataclass(frozen=True, slots=True)
class Caller:
    """What a connection tells about its other end: what the VM behind it must have been bound to."""

    claims: tuple[str, ...]
    may_name: bool  # whether a name in the path may say which VM this is

    @staticmethod
    def at(door: Door, peer: str, local: str) -> Caller:
        """The caller at a door, by the two addresses of its connection."""
        if door.netns:
            return Caller(Binding(netns=door.netns, interface=door.interface).claims(), may_name=False)
        if not door.loopback:
            return Caller((f"address {plain_address(peer)}",), may_name=False)
        return Caller((f"address {plain_address(peer)}", f"local {plain_address(local)}"), may_name=True)


def identify(region: Region, caller: Caller, named: str | None) -> Vm | None:
    """The VM that calls, or nobody. ``named`` is the name in the path, where there was one."""
    for claim in caller.claims:
        key = region.addresses.get(claim)
        if key is not None:
            return region.vms.get(key) if named is None else None
    if not caller.may_name:
        return None
    if named is not None:
        return region.vms.get(fold(named))
    return next(iter(region.vms.values())) if len(region.vms) == 1 else None


def share_of(region: Region, caller: Caller) -> str:
    """Whose share of connections and of turns a caller takes: its VM's, whichever of its ways it comes.

    Callers that are no VM have one share together, or somebody with many addresses would have many. Empty at a desk,
    where all callers are one machine's and nothing tells them apart.
    """
    if caller.may_name:
        return ""
    vm = identify(region, caller, None)
    return _STRANGERS if vm is None else vm.key


@lru_cache(maxsize=4096)
def plain_address(text: str) -> str:
    """One spelling for each address; an IPv4 caller of an IPv6 socket is an IPv4 caller."""
    try:
        address = ip_address(text)
    except ValueError:
        return text
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a socket that listens there. A name says nothing; ask its address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
