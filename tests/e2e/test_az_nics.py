"""A VM that the real ``az`` made is known by the address of its network interface, where the owner wants that."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.az_region import IMAGE, PASSWORD, AzRegion
from tests.e2e.program import EVENTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
ADDRESS = "127.0.0.77"  # the only addresses that a test may call from without a network of its own


def called_from(url: str, address: str) -> bytes:
    """The answer to a guest that calls from there and names nobody."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 80), 60, (address, 0)) as wire:
        wire.sendall(f"GET {EVENTS} HTTP/1.1\r\nHost: x\r\nMetadata: true\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: wire.recv(65536), b""))


def test_a_vm_that_az_made_is_known_by_its_interface(tmp_path: Path) -> None:
    with AzRegion.start(tmp_path, "--bind-nics", "on") as region:
        region.run("group create -n g -l westeurope")
        for name in ("web", "twin"):
            region.run(f"vm create -g g -n {name} --private-ip-address {ADDRESS}", *IMAGE, *PASSWORD)

        answer = called_from(region.server.metadata, ADDRESS)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b'"DocumentIncarnation":1' in answer
        assert b" 404 " in called_from(region.server.metadata, "127.0.0.78").splitlines()[0]
        assert "127.0.0.77 is also at the network interface of twin" in region.server.forewarn("vm", "show", "web")
        assert "VM 'web' is" in region.server.forewarn("vm", "show", "twin")
