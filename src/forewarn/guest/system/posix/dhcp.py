"""Asking the network by DHCP where the metadata service is. Blocks for seconds, so call it in a thread."""

from __future__ import annotations

import errno
import fcntl
import selectors
import socket
import struct
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from forewarn.guest.system import DhcpFailed
from forewarn.guest.system.dhcp import CLIENT_PORT, SERVER_PORT, build_discover, endpoint_in

assert sys.platform == "linux"

# Ours: four questions; RFC 2131 goes on for a minute, but there are other ways to find the service
TIMEOUT_SECONDS = 10.0
RESEND_SECONDS = 3.0  # RFC 2131, 4.1 sends again after 3 to 5 s on Ethernet

_FLAGS, _HARDWARE = 0x8913, 0x8927  # SIOCGIFFLAGS, SIOCGIFHWADDR
_UP, _BROADCASTS, _LOOPBACK = 0x1, 0x2, 0x8  # IFF_UP, IFF_BROADCAST, IFF_LOOPBACK of linux/if.h
_ETHERNET = 1
_NEEDED = "DHCP answers come to UDP port 68"


@dataclass(frozen=True, slots=True)
class EthernetInterface:
    """An Ethernet interface that is up."""

    name: str
    mac: bytes


def ask_dhcp(transaction: int, timeout_seconds: float = TIMEOUT_SECONDS) -> str:
    """The address that the first answer with option 245 tells. ``transaction`` is any number of 32 bits."""
    asked = usable_interfaces()
    if not asked:
        raise DhcpFailed("there is no Ethernet interface that is up to ask by DHCP")
    with ExitStack() as opened, selectors.DefaultSelector() as selector:
        _open_all(asked, opened, selector)
        ends_at = time.monotonic() + timeout_seconds
        while (left := ends_at - time.monotonic()) > 0:
            _send_all(selector, transaction)
            found = _listen(selector, transaction, min(left, RESEND_SECONDS))
            if found is not None:
                return found
    names = ", ".join(interface.name for interface in asked)
    raise DhcpFailed(f"no DHCP server on {names} told the address of the metadata service (option 245)")


def _open_all(interfaces: tuple[EthernetInterface, ...], opened: ExitStack, selector: selectors.BaseSelector) -> None:
    """Those that can be; one that cannot is no reason not to ask on the others."""
    problems: list[DhcpFailed] = []
    for interface in interfaces:
        try:
            selector.register(opened.enter_context(_open(interface)), selectors.EVENT_READ, interface)
        except DhcpFailed as problem:
            problems.append(problem)
    if len(problems) == len(interfaces):
        raise problems[0]


def usable_interfaces() -> tuple[EthernetInterface, ...]:
    """Those that lead to the default route, which is where Azure is asked; where there is no such route, all."""
    found = tuple(filter(None, (_look_at(name) for _, name in socket.if_nameindex())))
    routed = _default_route_names()
    return tuple(interface for interface in found if interface.name in routed) or found


def _look_at(name: str) -> EthernetInterface | None:
    question = struct.pack("256s", name.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            flags = struct.unpack_from("H", fcntl.ioctl(any_socket, _FLAGS, question), 16)[0]
            family, mac = struct.unpack_from("H6s", fcntl.ioctl(any_socket, _HARDWARE, question), 16)
        except OSError:  # it has gone meanwhile
            return None
    usable = flags & _UP and flags & _BROADCASTS and not flags & _LOOPBACK and family == _ETHERNET
    return EthernetInterface(name, mac) if usable else None


def _default_route_names() -> frozenset[str]:
    try:
        lines = Path("/proc/net/route").read_text().splitlines()[1:]
    except OSError:
        return frozenset()
    rows = (line.split() for line in lines)
    return frozenset(row[0] for row in rows if len(row) > 7 and row[1] == row[7] == "00000000")


def _open(interface: EthernetInterface) -> socket.socket:
    """Bound to the interface first: two sockets on one port are two as long as their interfaces differ."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.name.encode())
        opened.bind(("", CLIENT_PORT))
    except OSError as problem:
        opened.close()
        raise _explained(problem, interface) from None
    return opened


def _explained(problem: OSError, interface: EthernetInterface) -> DhcpFailed:
    if problem.errno in (errno.EACCES, errno.EPERM):
        return DhcpFailed(
            f"{_NEEDED}, which only root or a process with CAP_NET_BIND_SERVICE may open "
            "(systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE); or set FOREWARN_ENDPOINT",
            lasting=True,
        )
    if problem.errno == errno.EADDRINUSE:
        return DhcpFailed(f"{_NEEDED}, which another program holds; ask it, or set FOREWARN_ENDPOINT")
    return DhcpFailed(f"DHCP on {interface.name}: {problem.strerror}")


def _send_all(selector: selectors.BaseSelector, transaction: int) -> None:
    """An interface that has just gone down is heard of no more, and that is all."""
    for key in selector.get_map().values():
        assert isinstance(key.fileobj, socket.socket)
        with suppress(OSError):
            key.fileobj.sendto(build_discover(key.data.mac, transaction), ("255.255.255.255", SERVER_PORT))


def _listen(selector: selectors.BaseSelector, transaction: int, seconds: float) -> str | None:
    ends_at = time.monotonic() + seconds
    while (left := ends_at - time.monotonic()) > 0:
        for key, _ in selector.select(left):
            assert isinstance(key.fileobj, socket.socket)
            with suppress(OSError):
                found = endpoint_in(key.fileobj.recv(65536), key.data.mac, transaction)
                if found is not None:
                    return found
    return None
