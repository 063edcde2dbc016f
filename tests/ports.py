"""Ports for those who must know one before there is a listener; whoever can, listens on port 0 and asks."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of the loopback address that nothing uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
