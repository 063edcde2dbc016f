"""Who is calling: the socket, the source address, the address called, the name in the path, strongest first.

The weaker two say nothing about who really calls, so they count on loopback listeners only. Where a stronger way
knows the caller, a name in the path is no part of the service: it could only be an attempt to pass for another VM.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from itertools import islice

from forewarn.core.region import Region, Vm, fold
from forewarn.core.specs import Binding
from forewarn.web.metadata.asking.questions import Target
from forewarn.web.metadata.asking.request import Request

HINT_FIELD = "X-Forewarn-Hint"
_PATH = "/metadata/scheduledevents?api-version=2020-07-01"
_MOST_COMPARED = 1000  # ours: comparing takes some ten microseconds each, and all others wait
_MOST_NAMED = 3  # ours: a hint is one sentence


@dataclass(frozen=True, slots=True)
class Entrance:
    """A listening socket of the metadata face, and what it tells about the caller that connects to it."""

    loopback: bool = False  # reached from this machine only
    desk: bool = False  # whoever reaches it may name a VM
    netns: str = ""  # stands inside this network namespace, and hears one VM only
    interface: str = ""  # which it hears over this interface of the namespace; empty for one that lives inside
    unix: str = ""  # is the Unix socket of that name, and hears one VM only


@dataclass(frozen=True, slots=True)
class Caller:
    """What a connection tells about its other end: what the VM behind it must have been bound to."""

    claims: tuple[str, ...]
    may_name: bool  # whether a name in the path may say which VM this is

    @staticmethod
    def at(entrance: Entrance, peer: str, local: str) -> Caller:
        """The caller at an entrance, by the two addresses of its connection."""
        if entrance.netns:
            return Caller(Binding(netns=entrance.netns, interface=entrance.interface).claims(), may_name=False)
        if entrance.unix:
            return Caller(Binding(unix=entrance.unix).claims(), may_name=False)
        if not entrance.loopback:
            return Caller((f"address {plain_address(peer)}",), may_name=entrance.desk)
        return Caller((f"address {plain_address(peer)}", f"local {plain_address(local)}"), may_name=True)


def identify(region: Region, caller: Caller, named: str | None) -> Vm | None:
    """The VM that calls, or None. ``named`` is the name in the path, where there was one."""
    for claim in caller.claims:
        key = region.addresses.get(claim)
        if key is not None:
            return region.vms.get(key) if named is None else None
    if not caller.may_name:
        return None
    if named is not None:
        return region.vms.get(fold(named))
    return next(iter(region.vms.values())) if len(region.vms) == 1 else None


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


def is_of_a_page(request: Request) -> bool:
    """Whether a browser has sent this for a web page, which must not speak for a VM (CSRF, DNS rebinding).

    Pages that a developer's browser has open reach what listens on loopback. A page of another origin cannot send
    the ``Metadata`` header, but the oldest api-version takes approvals without it; and a page whose name was rebound
    to this machine may send any header. So what a browser adds is looked for: an ``Origin``, or the name of a site in
    ``Host``. Where VMs are known by their network, no browser can come.
    """
    return any(name == b"origin" or (name == b"host" and _is_a_site(value)) for name, value in request.fields)


@lru_cache(maxsize=256)  # the few names under which one machine reaches itself; a field is bounded by the head's limit
def _is_a_site(host: bytes) -> bool:
    """Whether it may be a domain on the Internet (DNS rebinding): a name with a dot in it that is no IP address."""
    name = host.decode("latin-1").lower()
    name = name.partition("]")[0].removeprefix("[") if name.startswith("[") else name.partition(":")[0]
    name = name.removesuffix(".")
    if "." not in name or name.endswith(".localhost"):
        return False
    try:
        ip_address(name)
    except ValueError:
        return True
    return False


def hint_for(region: Region, caller: Caller, target: Target) -> str:
    """What to try instead, for a caller over loopback who got a 404: one line of ASCII, nothing sent echoed.

    Beyond loopback the answer does not tell which VMs there are.
    """
    bound = next((region.addresses[claim] for claim in caller.claims if claim in region.addresses), None)
    if bound is not None:
        return f"this address is {region.vms[bound].name}; ask without /vm/NAME: {_PATH}"
    if not region.vms:
        return "there is no VM; make one with: forewarn vm create web-0"
    names = _names(region, target.named or "")
    more = ", ..." if len(region.vms) > len(names) else ""
    return f"try /vm/{names[0]}{_PATH} (VMs: {', '.join(names)}{more})"


def _names(region: Region, wanted: str) -> list[str]:
    """The VMs whose names are most like the one asked for, where there are not too many to compare; else the first."""
    found: list[str] = []
    if wanted and len(region.vms) <= _MOST_COMPARED:
        found = [region.vms[key].name for key in get_close_matches(wanted.lower(), region.vms, _MOST_NAMED)]
    return found or [vm.name for vm in islice(region.vms.values(), _MOST_NAMED)]
