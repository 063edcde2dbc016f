"""A machine without a virtual network asks by DHCP where its metadata service is: a real dnsmasq, real datagrams.

Everything happens in namespaces made for the test; no other network hears of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import ROOT, clean_environment
from tests.e2e.test_netns import Realm

CLASSIC = "168.63.129.16"  # what Azure tells such machines
_PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"

_ASK = """
import json
from forewarn.guest.system import DhcpFailed
from forewarn.guest.system.posix.dhcp import ask_dhcp
try:
    print(json.dumps({"told": ask_dhcp(7, timeout_seconds=%s)}))
except DhcpFailed as problem:
    print(json.dumps({"failed": str(problem), "lasting": problem.lasting}))
"""
_READ = """
import asyncio, json
from forewarn.guest import AsyncClient, Client

with Client(patience_seconds=30) as client:
    document, instance = client.document(), client.instance()
    found = {"endpoint": client.endpoint, "incarnation": document.incarnation, "name": instance.name}

async def again():
    async with AsyncClient(patience_seconds=30) as client:
        await client.document()
        return client.endpoint

print(json.dumps({**found, "again": asyncio.run(again())}))
"""


@pytest.fixture
def realm() -> Iterator[Realm]:
    with Realm.made() as made:
        yield made


def _wire(realm: Realm) -> None:
    """A guest at one end of a cable, with no address of its own, and the place for a DHCP server at the other."""
    realm.run("ip", "netns", "add", "classic")
    realm.run("ip", "link", "add", "rack", "type", "veth", "peer", "name", "eth0", "netns", "classic")
    realm.run("ip", "address", "add", "10.77.0.1/24", "dev", "rack")
    realm.run("ip", "link", "set", "rack", "up")
    for name in ("lo", "eth0"):
        realm.run("ip", "link", "set", name, "up", netns="classic")


@contextmanager
def _dnsmasq(realm: Realm, *options: str) -> Iterator[None]:
    """The DHCP server of that cable, until the block ends."""
    own = ("--conf-file=/dev/null", "--keep-in-foreground", "--log-facility=-", "--user=root", "--port=0")
    dhcp = (
        "--interface=rack",
        "--bind-interfaces",
        "--leasefile-ro",
        "--no-ping",
        "--dhcp-range=10.77.0.50,10.77.0.99,1h",
    )
    with subprocess.Popen(
        [*realm.wrapper, "dnsmasq", *own, *dhcp, *options],
        env=clean_environment(PATH=_PATH),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        told = ""
        while "sockets bound exclusively" not in told and (line := server.stderr.readline()):
            told += line
        assert server.poll() is None, told
        try:
            yield
        finally:
            server.terminate()
            server.communicate()


def _python(realm: Realm, program: str, *wrapper: str) -> dict[str, Any]:
    """What a program in the guest says."""
    told = realm.run(*wrapper, "env", f"PYTHONPATH={ROOT / 'src'}", sys.executable, "-c", program, netns="classic")
    found: dict[str, Any] = json.loads(told)
    return found


def test_the_network_tells_where_the_service_is(realm: Realm) -> None:
    _wire(realm)
    with _dnsmasq(realm, f"--dhcp-option=245,{CLASSIC}"):
        found = _python(realm, _ASK % 30)
    assert found == {"told": CLASSIC}


def test_a_network_that_knows_no_service_tells_none(realm: Realm) -> None:
    _wire(realm)
    with _dnsmasq(realm):
        found = _python(realm, _ASK % 0.5)
    assert found == {
        "failed": "no DHCP server on eth0 told the address of the metadata service (option 245)",
        "lasting": False,
    }


def test_a_network_without_any_server_tells_none(realm: Realm) -> None:
    _wire(realm)
    assert "no DHCP server on eth0" in _python(realm, _ASK % 0.2)["failed"]


def test_a_machine_without_a_network_says_so(realm: Realm) -> None:
    realm.run("ip", "netns", "add", "classic")
    assert "no Ethernet interface" in _python(realm, _ASK % 0.2)["failed"]


def test_a_user_without_the_privilege_for_dhcp_is_told_which_one_is_missing(realm: Realm) -> None:
    _wire(realm)
    found = _python(realm, _ASK % 5, "setpriv", "--inh-caps=-all", "--bounding-set=-all")
    assert found["lasting"]
    for word in ("UDP port 68", "root", "CAP_NET_BIND_SERVICE", "FOREWARN_ENDPOINT"):
        assert word in found["failed"]


def test_a_client_without_an_address_finds_its_service_by_dhcp(realm: Realm, tmp_path: Path) -> None:
    """169.254.169.254 leads nowhere from there, as it does from a classic machine."""
    _wire(realm)
    realm.run("ip", "address", "add", f"{CLASSIC}/32", "dev", "lo")
    realm.run("ip", "address", "add", "10.77.0.2/24", "dev", "eth0", netns="classic")
    realm.run("ip", "route", "add", f"{CLASSIC}/32", "via", "10.77.0.1", netns="classic")
    with (
        _dnsmasq(realm, f"--dhcp-option=245,{CLASSIC}"),
        realm.serve(tmp_path / "data", "--metadata", f"{CLASSIC}:80") as server,
    ):
        realm.forewarn(server, "vm", "create", "ruby", "--address", "10.77.0.2")
        found = _python(realm, _READ)
    there = f"http://{CLASSIC}"
    assert found == {"endpoint": there, "incarnation": 1, "name": "ruby", "again": there}
