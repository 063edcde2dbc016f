"""Listening inside another network namespace, to no other than the VM that lives there.

The address of the service answers on every interface of a namespace, so a neighbour who sends packets for it over a
shared link would reach the socket. The socket is therefore bound to one interface: loopback, over which everything
goes that begins inside, or the one that leads to the guest. What arrives elsewhere finds no listener, whatever it
calls itself.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from pathlib import Path

from forewarn.core.deciding.bindings import is_netns

NAMESPACES = Path("/run/netns")  # where ``ip netns`` keeps them
_NOT_HERE = "this system has no network namespaces: only Linux has"
_CLONE_NEWNET = 0x40000000  # linux/sched.h
_IP_FREEBIND = 15  # not named by Python's socket module
_LOOPBACK = "lo"  # each namespace has it, under this name
_INTERFACE_BYTES = 16  # IFNAMSIZ


def namespace_path(name: str) -> Path:
    """Where a namespace is found. A name that would lead elsewhere, as old journals may hold one, is refused."""
    if sys.platform != "linux":
        raise OSError(_NOT_HERE)
    if not is_netns(name):
        raise OSError(f"'{name[:40]}' cannot name a network namespace: use letters, digits, '.', '_' and '-'")
    return NAMESPACES / name


def listen_in(namespace: Path, interface: str, address: str, port: int) -> socket.socket:
    """A listening socket inside the namespace, for what begins there or, with an interface, for what arrives on that.

    Must run in a thread that ends afterwards: it is the thread that moves, and a socket stays where it was made. The
    address need not be there yet, so that namespace and server may come up in any order. What fails when the server
    begins to listen on the socket (its caller does) fails here already.
    """
    if sys.platform != "linux":
        raise OSError(_NOT_HERE)
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(descriptor)
    finally:
        os.close(descriptor)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, (interface or _LOOPBACK).encode() + b"\0")
        listening.bind((address, port))
        listening.listen()
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def is_bound_to(listening: socket.socket, interface: str) -> bool:
    """Whether the interface is still the one that was bound to. One made anew under the same name is another."""
    if sys.platform != "linux":
        return False
    try:
        found = listening.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _INTERFACE_BYTES)
    except OSError:
        return False
    return found.rstrip(b"\0").decode() == (interface or _LOOPBACK)


def enter(descriptor: int) -> None:
    """setns(2), which Python itself knows from 3.12 on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"cannot enter the namespace: {os.strerror(code)}")
