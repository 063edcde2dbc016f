"""Listening inside another network namespace."""

from __future__ import annotations

import ctypes
import os
import re
import socket
from pathlib import Path

NAMESPACES = Path("/run/netns")  # where ``ip netns`` keeps them
_CLONE_NEWNET = 0x40000000
_IP_FREEBIND = 15  # not named by Python's socket module
_BACKLOG = 1024
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


def namespace_path(name: str) -> Path:
    """Where a namespace is found. A name that would lead elsewhere is refused."""
    if not _NAME.fullmatch(name):
        raise OSError(f"'{name[:40]}' cannot name a network namespace: use letters, digits, '.', '_' and '-'")
    return NAMESPACES / name


def listen_in(namespace: Path, address: str, port: int) -> socket.socket:
    """A listening socket inside the namespace.

    Must run in a thread that ends afterwards: it is the thread that moves, and a socket stays where it was made. The
    address need not be there yet, so that namespace and server may come up in any order.
    """
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
        listening.bind((address, port))
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def enter(descriptor: int) -> None:
    """setns(2), which Python itself knows from 3.12 on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"cannot enter the namespace: {os.strerror(code)}")
